"""One picture of a server: its models, their resources, what went wrong."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from app.service import Service
from app.status.graph import resources
from app.status.offers import generates, model_offers, offers
from containers.lifecycle import lifecycle_of
from containers.masks import masked
from containers.registry import ServedModel
from containers.settings.secrets import hidden
from containers.version import __version__
from containers.vllm_api import installed_version
from containers.vllm_api.figures import engine_figures

Stamp = tuple[Any, ...]


_written: WeakKeyDictionary[ServedModel, tuple[Stamp, str]] = WeakKeyDictionary()


def picture(service: Service, **more: Any) -> str:
    """How the server stands now, as JSON; times are seconds since the epoch.

    With hundreds of models it is a megabyte, which all who look would write anew.

    Args:
        service: The running side of an app.
        more: What else is to be in it.
    """
    content = written({**_server(service), **more})
    models = ",".join(_model_text(service, model) for model in service.models)
    return f'{content[:-1]},"models":[{models}]}}'


def written(content: dict[str, Any]) -> str:
    """JSON without spaces."""
    return json.dumps(content, separators=(",", ":"))


def _model_text(service: Service, model: ServedModel) -> str:
    about = service.n_changes, len(model.history), str(model.error)
    stamped = (*about, *_stamp(service, model))
    before, text = _written.get(model, (None, ""))
    if before != stamped:
        text = written(_model(service, model))
        _written[model] = stamped, text
    return text


def _server(service: Service) -> dict[str, Any]:
    return {
        "at": time.time(),
        "run": service.run,
        "versions": versions(),
        "phase": service.state,
        "trouble": service.trouble,
        "n_changes": service.n_changes,
        "began_at": time.time() - service.elapsed_s,
        "error": None if service.error is None else masked(service.error),
        "offers": offers(service),
        "troubles": _troubles(service),
    }


@cache
def versions() -> dict[str, str | None]:
    """What is installed: of vLLM it is read from a file, once."""
    return {"vllm-di": __version__, "vllm": installed_version()}


def figures(service: Service) -> dict[str, Any]:
    """What changes all the time: requests, queue, KV cache and tokens by model.

    A model whose engine measures nothing, as while it is not loaded, is not there.
    """
    measured = engine_figures()
    return {
        "at": time.time(),
        "in_flight": service.flights.n,
        "models": {
            model.name: asdict(measured[model.name])
            for model in service.models
            if model.name in measured
        },
    }


def stamp(service: Service) -> Stamp:
    """Differs when a new :func:`picture` would show anything else; cheap to make."""
    return (
        service.state,
        service.n_changes,
        service.troubles.recent,
        tuple(_stamp(service, model) for model in service.models),
    )


def _stamp(service: Service, model: ServedModel) -> Stamp:
    return (
        model.name,
        model.state,
        service.trouble_of(model),
        model.generation.number,
        tuple(model.adapters),
        tuple(lifecycle_of(model.container).records.values()),
    )


def _model(service: Service, model: ServedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "names": model.settings.names,
        "source": str(hidden("source", model.settings.source)),
        "state": model.state,
        "trouble": service.trouble_of(model),
        "error": None if model.error is None else masked(model.error),
        "generation": model.generation.number,
        "history": [asdict(record) for record in model.history],
        "adapters": list(model.adapters),
        "generates": generates(model),
        "offers": model_offers(model),
        "resources": resources(model.generation),
    }


def _troubles(service: Service) -> list[dict[str, Any]]:
    names = [model.name for model in service.models]
    return [
        {
            "at": trouble.at,
            "level": trouble.level,
            "model": next((name for name in names if name in trouble.words), ""),
            "provider": trouble.provider,
            "text": trouble.text,
        }
        for trouble in service.troubles.recent
    ]
