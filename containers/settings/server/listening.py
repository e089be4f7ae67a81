"""Where the server listens, and what uvicorn is told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from containers.settings.problems import refuse
from containers.settings.section import NonEmpty, Section, as_tuple


def _root_path(value: str) -> str:
    if value and (not value.startswith("/") or value.endswith("/")):
        raise refuse(
            "is {value}, but a root path begins with / and does not end with one",
            "Write it as the proxy cuts it off, such as /llm.",
            value=value,
        )
    return value


class ListeningSettings(Section):
    """How the server listens and logs.

    Attributes:
        host: Address to listen on; ``0.0.0.0`` is every network of the machine.
        port: TCP port, 0 to 65535; 0 takes a free one.
        uds: Path of a Unix socket to listen on instead; host and port are not used
            then.
        root_path: Path prefix a proxy in front cuts off, such as ``/llm``.
        uvicorn_log_level: How much uvicorn logs, by uvicorn's own names; its own line
            of a request, where ``logs.requests`` is off, from ``info`` on.
        disable_uvicorn_access_log: Whether requests are not logged, by uvicorn or by
            ``logs.requests``.
        disable_access_log_for_endpoints: Paths whose requests are not logged, such as
            ``/health``.
        h11_max_incomplete_event_size: Bytes a request's headers may have, above 0, read
            by the h11 parser; ``None`` for uvicorn's fastest parser and its own limit.
        timeout_keep_alive_s: Seconds an idle connection is kept open, 1 or more.
    """

    host: NonEmpty = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    uds: NonEmpty | None = None
    root_path: Annotated[str, AfterValidator(_root_path)] = ""
    uvicorn_log_level: Literal[
        "critical", "error", "warning", "info", "debug", "trace"
    ] = "warning"
    disable_uvicorn_access_log: bool = False
    disable_access_log_for_endpoints: Annotated[
        tuple[NonEmpty, ...], BeforeValidator(as_tuple)
    ] = ()
    h11_max_incomplete_event_size: Annotated[int, Field(gt=0)] | None = None
    timeout_keep_alive_s: Annotated[int, Field(ge=1)] = 5
