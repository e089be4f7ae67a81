"""What cannot work under Ray Serve, told before anything starts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from app.lora_switch import VARIABLE, is_enabled
from app.ray.container import imported
from containers.errors import SettingsError
from containers.settings import ModelSettings, ServerSettings, Settings
from containers.vllm_api import release_line

INGRESS = "ingress"
"""Name of the ingress' deployment."""

STORE = "VLLM_ENABLE_RESPONSES_API_STORE"
_PROXY = "Ray's own proxy listens: leave it out, or put a proxy before it."
_SERVER = {
    "uds": ("is a Unix socket, on which Ray does not listen", _PROXY),
    "ssl_certfile": ("is HTTPS, which Ray's proxy does not speak", _PROXY),
    "root_path": (
        "is cut off by a proxy, which Ray does not know of",
        "Let the proxy pass on the whole path, and set ray.route_prefix.",
    ),
    "h11_max_incomplete_event_size": (
        "is uvicorn's, and Ray's proxy reads the requests",
        "Leave it out.",
    ),
    "memory_budget_gib": (
        "is of one server's models, and here each replica has its own place",
        "Leave it out, and let models[].ray.autoscaling begin with min_replicas: 0.",
    ),
}
_MODEL = {
    "load": "eager",
    "idle_timeout_s": None,
}
_FIXED = (
    ("server", "host"),
    ("server", "port"),
    ("server", "timeout_keep_alive_s"),
    ("ray", "address"),
    ("ray", "application"),
)
"""What Ray's proxy and the application are made with once."""

_ON_DEMAND = "Write ray: {autoscaling: {min_replicas: 0, max_replicas: 1}} instead."


def refuse_what_cannot_work(settings: Settings) -> None:
    """Return when these settings can be served with Ray.

    Raises:
        SettingsError: They cannot; every reason is in it.
        VllmMismatchError: vLLM is not here, or not supported.
    """
    release_line()
    problems = [*_of_server(settings.server), *_of_names(settings)]
    for index, model in enumerate(settings.models):
        problems += _of_model(model, f"models.{index}")
    if problems:
        first, *others = problems
        first.others = tuple(others)
        raise first
    if settings.ray.container is not None:
        imported(settings.ray.container)


def refuse_what_stays(old: Settings, new: Settings) -> None:
    """Return when nothing differs that is fixed while ``vllm-di serve --ray`` runs.

    Raises:
        SettingsError: Something does; it names the key.
    """
    for section, name in _FIXED:
        if getattr(getattr(old, section), name) != getattr(getattr(new, section), name):
            raise SettingsError(
                key=f"{section}.{name}",
                reason="has changed, and stays as it was while Ray serves",
                hint="Start the command again, or take the change back.",
            )


def deployment_name(model: ModelSettings) -> str:
    """Name of a model's deployment, which also becomes a part of file names."""
    return re.sub(r"[^\w.-]", "_", model.name)


def _of_server(server: ServerSettings) -> Iterator[SettingsError]:
    for name, (reason, hint) in _SERVER.items():
        if getattr(server, name):
            yield SettingsError(
                key=f"server.{name}", reason=f"{reason} (Ray Serve)", hint=hint
            )
    if server.frontends > 1:
        yield SettingsError(
            key="server.frontends",
            reason="is of one server, and Ray Serve has replicas (Ray Serve)",
            hint="Leave it out; set ray.ingress.replicas and models[].ray.replicas.",
        )
    if is_enabled(server):
        yield SettingsError(
            key="server.enable_runtime_lora",
            reason="would load an adapter into the replicas of this moment alone",
            hint=f"Write adapters as models[].lora.modules; unset {VARIABLE}.",
        )


def _of_names(settings: Settings) -> Iterator[SettingsError]:
    taken = {INGRESS: "the ingress"}
    for index, model in enumerate(settings.models):
        name = deployment_name(model)
        if name in taken:
            yield SettingsError(
                key=f"models.{index}.name",
                reason=f"is {name} as a deployment, as {taken[name]} is",
                hint="Put another name first.",
            )
        taken[name] = f"models.{index}"


def _of_model(model: ModelSettings, place: str) -> Iterator[SettingsError]:
    for name, usual in _MODEL.items():
        if getattr(model, name) != usual:
            reason = "cannot be: Ray starts and ends replicas"
            yield SettingsError(key=f"{place}.{name}", reason=reason, hint=_ON_DEMAND)
    if model.engine.get("data_parallel_backend") == "ray":
        yield SettingsError(
            key=f"{place}.engine.data_parallel_backend",
            reason="would start engines of which Ray Serve does not know",
            hint="Write mp, or more of ray.replicas.",
        )
    if int(model.engine.get("nnodes") or 1) > 1:
        yield SettingsError(
            key=f"{place}.engine.nnodes",
            reason="needs a command started in each node",
            hint="Write distributed_executor_backend: ray instead.",
        )
    if os.environ.get(STORE) == "1" and model.ray.most_replicas > 1:
        yield SettingsError(
            key=f"{place}.ray",
            reason=f"asks for several replicas, and {STORE} stores responses in one",
            hint="Unset the variable, or have one replica.",
        )
