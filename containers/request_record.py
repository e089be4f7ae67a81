"""What is known of the request that is being answered, wherever it is learnt."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from time import perf_counter
from typing import Any


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One HTTP request, from its arrival to the end of its answer or of its session.

    Who learns something of it notes it here: the registry its model, the view of the
    engine its tokens, the outermost middleware the rest. Nothing a client has written
    is in it but the path and the request's id.

    Attributes:
        method: HTTP method.
        path: Path that was asked for, without its query.
        request_id: What answers and log lines call it.
        began_s: When it came, on the clock of ``time.perf_counter``.
        route: Path of its route, such as ``/v1/chat/completions``; empty where none
            was reached.
        model: Name of the served model that answers it, or empty.
        status: HTTP status; 0 before the answer begins.
        is_stream: Whether the answer is a stream of events.
        is_whole: Whether the answer was handed over to its end.
        n_prompt_tokens: Tokens of all its prompts; ``None`` if no engine was asked.
        n_completion_tokens: Tokens generated so far; ``None`` if none were asked for.
        first_token_s: When the engine gave the first result, on the same clock.
        finish: Why the engine stopped, in its words, such as ``stop``.
        close_code: Why its WebSocket was closed, by that protocol's numbers; ``None``
            for a request, and while it is open.
        span: Its span, if it is traced.
    """

    method: str
    path: str
    request_id: str
    began_s: float = field(default_factory=perf_counter)
    route: str = ""
    model: str = ""
    status: int = 0
    is_stream: bool = False
    is_whole: bool = False
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    first_token_s: float | None = None
    finish: str | None = None
    close_code: int | None = None
    span: Any = None

    @property
    def is_session(self) -> bool:
        """Whether it has become a session over a WebSocket."""
        return self.status == HTTPStatus.SWITCHING_PROTOCOLS


current_request: ContextVar[RequestRecord | None] = ContextVar(
    "current_request", default=None
)
"""The request this very task answers; ``None`` outside of one."""


def note_model(name: str) -> None:
    """Note which model answers the request of this task, if there is one."""
    record = current_request.get()
    if record is not None:
        record.model = name
