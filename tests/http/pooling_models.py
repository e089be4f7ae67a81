"""Apps that serve a tiny model as vLLM's pooling models are served, over the double."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dependency_injector import providers
from starlette.testclient import TestClient

from app import create_app
from containers import ApplicationContainer, ModelContainer, ModelSettings, Settings
from containers.testing import FakeEngine

KINDS: dict[str, dict[str, Any]] = {
    "chat": {},
    "vectors": {"runner": "pooling"},
    "nested": {"runner": "pooling", "hf_overrides": {"is_matryoshka": True}},
    "classes": {"runner": "pooling", "convert": "classify"},
    "pairs": {
        "runner": "pooling",
        "convert": "classify",
        "hf_overrides": {"num_labels": 1},
    },
    "rows": {"runner": "pooling", "pooler_config": {"task": "token_embed"}},
}
"""Engine arguments of each kind of model: what it pools a prompt to."""


def settings_of(kind: str, folder: Path) -> ModelSettings:
    """Settings of a model of that kind, by that name."""
    engine = {"max_model_len": 64, "enforce_eager": True, **KINDS[kind]}
    return ModelSettings(name=kind, source=str(folder), engine=engine)


@contextmanager
def serving(
    folder: Path, *kinds: str, **doubles: Mapping[str, Any]
) -> Iterator[TestClient]:
    """Serve models of these kinds in one app.

    Args:
        folder: A tiny model.
        kinds: Which kinds, the default model first.
        doubles: Arguments of a kind's ``FakeEngine``.
    """
    entries = [settings_of(kind, folder) for kind in kinds]
    models = {each.name: ModelContainer(settings=each) for each in entries}
    for kind, container in models.items():
        labels = 1 if kind == "pairs" else 2
        given = {"num_labels": labels, **doubles.get(kind, {})}
        container.engine.override(FakeEngine(**given))
    application = ApplicationContainer(
        settings=Settings(models=entries), models=providers.Object(models)
    )
    with TestClient(create_app(application)) as client:
        yield client
