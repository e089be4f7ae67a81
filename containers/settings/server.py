"""The ``server`` section: where and how HTTP is served."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from containers.settings.problems import refuse
from containers.settings.section import NonEmpty, Section

Seconds = Annotated[float, Field(gt=0)]


def _root_path(value: str) -> str:
    if value and (not value.startswith("/") or value.endswith("/")):
        raise refuse(
            f"is {value!r}, but a root path begins with / and does not end with one",
            "Write it as the proxy cuts it off, such as /llm.",
        )
    return value


def _one_worker(value: int) -> int:
    if value != 1:
        raise refuse(
            f"is {value}, but each worker would load the model for itself",
            "Leave it out: the engine batches the requests of any number of clients.",
        )
    return value


class ServerSettings(Section):
    """How the HTTP server listens, starts and stops.

    Attributes:
        host: Address to listen on; ``0.0.0.0`` is every network of the machine.
        port: TCP port, 0 to 65535; 0 takes a free one.
        root_path: Path prefix a proxy in front cuts off, such as ``/llm``.
        uvicorn_log_level: How much uvicorn logs, by uvicorn's own names.
        start_timeout_s: Seconds a model may take to start, above 0.
        resource_start_timeout_s: Seconds each of its resources may take, above 0;
            ``None`` for no limit but the model's.
        drain_timeout_s: Seconds requests in flight may go on when the server is told
            to end, 0 or more.
        stop_timeout_s: Seconds stopping may take before it is forced, above 0.
        workers: Server processes; always 1, since each would load the model.
    """

    host: NonEmpty = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    root_path: Annotated[str, AfterValidator(_root_path)] = ""
    uvicorn_log_level: Literal[
        "critical", "error", "warning", "info", "debug", "trace"
    ] = "warning"
    start_timeout_s: Seconds = 600.0
    resource_start_timeout_s: Seconds | None = None
    drain_timeout_s: Annotated[float, Field(ge=0)] = 30.0
    stop_timeout_s: Seconds = 30.0
    workers: Annotated[int, AfterValidator(_one_worker)] = 1
