"""What the fakes of both generating serving objects share."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, ClassVar

from containers.testing.script import (
    Answer as ScriptedAnswer,
)
from containers.testing.script import (
    Items,
    Token,
    open_script,
    require_item,
    require_script,
    resolve,
)
from containers.testing.serving.answers import Answer, Choice, Usage
from containers.testing.serving.stand_ins import provide_requests

Script = ScriptedAnswer | Callable[[Any], ScriptedAnswer | Awaitable[ScriptedAnswer]]
_END = object()


class FakeGenerating:
    """Plays a script for every request; constructing it loads nothing of vLLM.

    Attributes:
        requests: Every request so far, oldest first, as it was passed.
    """

    request_id_prefix: ClassVar[str]
    kind: ClassVar[str]
    chunk_kind: ClassVar[str]

    def __init__(
        self,
        script: Script = "Paris.",
        *,
        delay_s: float = 0.0,
        fails: Exception | None = None,
        model: str = "fake",
    ) -> None:
        require_script(script)
        provide_requests()
        self.requests: list[Any] = []
        self._script: Any = script
        self._delay_s = delay_s
        self._fails = fails
        self._model = model
        self._ids = itertools.count(1)

    async def answer(self, request: Any) -> Any:
        """The whole answer, or a generator of events when the request streams."""
        self.requests.append(request)
        if self._fails is not None:
            raise self._fails.with_traceback(None)
        head: dict[str, Any] = {
            "id": f"{self.request_id_prefix}-{next(self._ids)}",
            "created": int(time.time()),
            "model": getattr(request, "model", None) or self._model,
        }
        if getattr(request, "stream", False):
            return self._events(request, head)
        choices, n_tokens = [], 0
        for index in range(getattr(request, "n", 1) or 1):
            texts = [token.text async for token in self._tokens(request)]
            n_tokens += len(texts)
            choices.append(self.choice(index, "".join(texts)))
        usage = Usage.of(n_words(self.prompt(request)), n_tokens)
        return Answer(**head, object=self.kind, choices=choices, usage=usage)

    async def _events(
        self, request: Any, head: dict[str, Any]
    ) -> AsyncGenerator[str, None]:
        n_tokens = 0
        for index in range(getattr(request, "n", 1) or 1):
            is_first = True
            async for token in self._tokens(request):
                n_tokens += 1
                chunk = self.chunk(index, token.text, is_first=is_first)
                yield self._event(head, [chunk])
                is_first = False
            end = self.chunk(index, "", is_first=False)
            yield self._event(head, [end.model_copy(update={"finish_reason": "stop"})])
        options = getattr(request, "stream_options", None)
        if options and dict(options).get("include_usage"):
            usage = Usage.of(n_words(self.prompt(request)), n_tokens)
            yield self._event(head, [], usage)
        yield "data: [DONE]\n\n"

    def _event(
        self, head: dict[str, Any], choices: list[Choice], usage: Usage | None = None
    ) -> str:
        kind = self.chunk_kind
        return Answer(**head, object=kind, choices=choices, usage=usage).event()

    async def _tokens(self, request: Any) -> AsyncGenerator[Token, None]:
        items: Items = await open_script(self._script, request, None)
        while (item := await _next(items)) is not _END:
            require_item(item)
            if isinstance(item, Exception):
                raise item
            token = resolve(item, None)
            await asyncio.sleep(
                self._delay_s if token.delay_s is None else token.delay_s
            )
            yield token

    def prompt(self, request: Any) -> Any:
        """What the request asks, for counting."""
        raise NotImplementedError

    def choice(self, index: int, text: str) -> Choice:
        """A whole answer."""
        raise NotImplementedError

    def chunk(self, index: int, text: str, *, is_first: bool) -> Choice:
        """A part of an answer."""
        raise NotImplementedError


async def _next(items: Any) -> Any:
    if hasattr(items, "__anext__"):
        return await anext(items, _END)
    return next(items, _END)


def n_words(prompt: Any) -> int:
    """Words of whatever a request asks, which stand for its tokens."""
    return len(str(prompt).split())
