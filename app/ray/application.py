"""The Ray Serve application of a config file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.ray.checks import INGRESS, deployment_name, refuse_what_cannot_work
from app.ray.installed import require_ray
from app.ray.options import ingress_options, model_options
from app.ray.versions import ingress_version, model_version
from containers.errors import SettingsError
from containers.settings import Settings
from containers.settings.env_file import read_env_files
from containers.settings.travel import packed

_KNOWN = ("config", "set", "env_file")


def build(args: Mapping[str, Any]) -> Any:
    """The application that ``serve run app.ray:build config=config.yaml`` runs.

    Args:
        args: ``config``, path of the settings, or several with a comma between them;
            ``set``, a list of ``KEY=VALUE`` on top; ``env_file``, a file of variables.

    Returns:
        Ray Serve's ``Application``.

    Raises:
        SettingsError: Ray is not here, or the settings cannot be served with it;
            nothing was started.
    """
    unknown = sorted({*args} - {*_KNOWN})
    if unknown:
        raise SettingsError(
            key=unknown[0],
            reason="is no argument of this application",
            hint=f"It takes {', '.join(_KNOWN)}.",
        )
    for name, value in read_env_files(map(Path, _listed(args.get("env_file")))).items():
        os.environ.setdefault(name, value)
    paths = _listed(args.get("config")) or ["config.yaml"]
    return application_of(Settings.load(*paths, overrides=_listed(args.get("set"))))


def application_of(settings: Settings) -> Any:
    """The application of settings: a deployment for each model, and the ingress.

    Raises:
        SettingsError: As for :func:`build`.
    """
    require_ray()
    refuse_what_cannot_work(settings)
    from ray import serve

    from app.ray.ingress import Ingress
    from app.ray.replica import ModelDeployment

    text = packed(settings)
    config = {"settings": text}
    models = {
        model.name: _versioned(
            serve.deployment(
                name=deployment_name(model),
                user_config=config,
                **model_options(settings, model),
            )(ModelDeployment),
            model_version(settings, model),
        ).bind(text, model.name)
        for model in settings.models
    }
    ingress = serve.deployment(
        name=INGRESS, user_config=config, **ingress_options(settings)
    )(serve.ingress()(Ingress))
    version = ingress_version(settings)
    return _versioned(ingress, version).bind(text, models)


def _versioned(deployment: Any, version: str) -> Any:
    """A deployment whose replicas go on as long as the version is the same.

    Without one Ray would replace every replica whenever the application is run again.
    """
    return deployment.options(version=version, _internal=True)


def _listed(value: Any) -> Sequence[str]:
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [each.strip() for each in value.split(",")]
    return [str(each) for each in value]
