"""What cannot be with several front ends over one engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from containers.settings.location import Location
from containers.settings.model import ModelSettings
from containers.settings.problems import Problems, refuse
from containers.settings.server import ServerSettings

_ONE_FRONT_END = "Leave it out, or server.frontends."
_SERVER = {
    "uds": "is one socket, and each front end listens at one of its own",
    "heal_attempts": "would replace the engine that front ends are at",
    "enable_runtime_lora": "would load an adapter for one front end alone",
    "enable_scale_out": "has requests aborted by id, which one front end alone knows",
}
"""Keys of ``server`` that have to be as they are by default."""

_ENGINE: dict[str, tuple[Any, ...]] = {
    "data_parallel_size": (1,),
    "data_parallel_backend": ("mp",),
    "data_parallel_rank": (),
    "data_parallel_external_lb": (False,),
    "data_parallel_hybrid_lb": (False,),
    "nnodes": (1,),
    "enable_elastic_ep": (False,),
    "enable_fault_tolerance": (False,),
    "mm_tensor_ipc": ("direct_rpc",),
    "max_num_queued_reqs": (),
    "max_num_queued_tokens": (),
}
"""Engine arguments, with what each may be beside ``None``."""


def not_with_front_ends(
    server: ServerSettings, models: Sequence[ModelSettings]
) -> Problems:
    """What is wrong with several front ends; nothing where there is one.

    Args:
        server: Server settings.
        models: The models.
    """
    if server.frontends == 1:
        return {}
    words = {**dict(_of_server(server, models)), **dict(_of_models(models))}
    return {
        location: refuse(f"{reason} (server.frontends)", _ONE_FRONT_END)
        for location, reason in words.items()
    }


def _of_server(
    server: ServerSettings, models: Sequence[ModelSettings]
) -> Iterator[tuple[Location, str]]:
    if len(models) > 1:
        yield (
            ("server", "frontends"),
            f"are for one model, and there are {len(models)}",
        )
    for name, reason in _SERVER.items():
        if getattr(server, name):
            yield ("server", name), reason


def _of_models(
    models: Sequence[ModelSettings],
) -> Iterator[tuple[Location, str]]:
    for index, model in enumerate(models):
        place: Location = ("models", index)
        if model.load != "eager":
            yield (*place, "load"), "is lazy, and front ends need the engine at once"
        if model.idle_timeout_s is not None:
            yield (
                (*place, "idle_timeout_s"),
                "would end the engine that front ends are at",
            )
        if model.canary is not None and model.canary.max_failures is not None:
            yield (
                (*place, "canary", "max_failures"),
                "would replace the engine that front ends are at",
            )
        if model.engine.get("distributed_executor_backend") == "ray":
            yield (
                (*place, "engine", "distributed_executor_backend"),
                "is ray, whose engines may be on another machine",
            )
        for name, allowed in _ENGINE.items():
            value = model.engine.get(name)
            if value is not None and value not in allowed:
                yield (
                    (*place, "engine", name),
                    "is not meant for several processes at one engine",
                )
