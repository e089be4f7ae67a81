"""How much one request, and all of them together, may ask of the server."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from containers.settings.section import Section

Seconds = Annotated[float, Field(gt=0)]

MIB = 1024 * 1024


class LimitSettings(Section):
    """Bounds of a request. A prompt's length and the engine's queue are the engine's.

    Attributes:
        max_body_bytes: Bytes a request's body may have, 1 or more, counted as they
            come; ``None`` for any number.
        body_timeout_s: Seconds a request's body may take to come in whole, above 0;
            ``None`` for no limit.
        request_timeout_s: Seconds a request may take from its arrival to the end of its
            answer, above 0; ``None`` for no limit. Sessions over a WebSocket are not
            meant.
        max_concurrent_requests: Requests that may be answered at the same time, 1 or
            more; more are told to come again later. ``None`` for any number.
    """

    max_body_bytes: Annotated[int, Field(ge=1)] | None = 64 * MIB
    body_timeout_s: Seconds | None = 120.0
    request_timeout_s: Seconds | None = None
    max_concurrent_requests: Annotated[int, Field(ge=1)] | None = None
