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


class ServerSettings(Section):
    """How the HTTP server listens, starts and stops.

    Attributes:
        host: Address to listen on; ``0.0.0.0`` is every network of the machine.
        port: TCP port, 0 to 65535; 0 takes a free one.
        root_path: Path prefix a proxy in front cuts off, such as ``/llm``.
        uvicorn_log_level: How much uvicorn logs, by uvicorn's own names.
        start_timeout_s: Seconds a model may take to start, above 0.
        stop_timeout_s: Seconds stopping may take before it is forced, above 0.
    """

    host: NonEmpty = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    root_path: Annotated[str, AfterValidator(_root_path)] = ""
    uvicorn_log_level: Literal[
        "critical", "error", "warning", "info", "debug", "trace"
    ] = "info"
    start_timeout_s: Seconds = 600.0
    stop_timeout_s: Seconds = 30.0
