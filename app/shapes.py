"""How each API writes what a serving object returns."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request

Error = dict[str, Any]
"""The ``error`` of OpenAI's error body: message, type, param and code."""

SHAPE = "vllm_di.shape"
"""Where a request's scope says how its API writes, for middleware that ends it."""


class Shape:
    """OpenAI's way, of which the others differ in a thing or two.

    An instance belongs to one answer.

    Source:
        vllm/entrypoints/openai/chat_completion/api_router.py (0.32.0).
    """

    def content(self, result: Any) -> Any:
        """Body of a response model, or of several."""
        if isinstance(result, list | tuple):
            return [self.content(each) for each in result]
        return result.model_dump()

    def error(self, error: Error) -> Any:
        """Body of an error."""
        return {"error": error}

    def events(self, results: AsyncGenerator[Any, None]) -> AsyncGenerator[str, None]:
        """Server-sent events of a stream."""
        return results

    def sent(self, event: bytes) -> None:
        """Take note of what was sent: a server waits before it writes, not after."""

    def last_words(self, error: Error) -> str:
        """Events that end a stream which cannot go on."""
        return f"data: {json.dumps(self.error(error))}\n\ndata: [DONE]\n\n"


class ResponsesShape(Shape):
    """That of OpenAI's Responses API: events with names and sequence numbers.

    Source:
        vllm/entrypoints/openai/responses/api_router.py (0.32.0).
    """

    def __init__(self) -> None:
        self._last = -1
        self._unsent: deque[int] = deque()
        self._next_number = 0

    def content(self, result: Any) -> Any:
        """Body of a response, whose fields have names of the API's own."""
        return result.model_dump(mode="json", by_alias=True)

    async def events(
        self, results: AsyncGenerator[Any, None]
    ) -> AsyncGenerator[str, None]:
        """Each result as an event of its type's name."""
        try:
            async for event in results:
                if isinstance(event, str):  # a comment, while the model loads
                    yield event
                    continue
                self._last = getattr(event, "sequence_number", self._last + 1)
                self._unsent.append(self._last)
                text = event.model_dump_json(indent=None, by_alias=True)
                yield f"event: {getattr(event, 'type', 'unknown')}\ndata: {text}\n\n"
        finally:
            await results.aclose()

    def sent(self, event: bytes) -> None:
        """Count an event; one made but never sent leaves no gap."""
        if event.startswith(b"event:"):
            self._next_number = self._unsent.popleft() + 1

    def last_words(self, error: Error) -> str:
        """OpenAI's ``error`` event, numbered as the next one."""
        event = {
            "type": "error",
            "sequence_number": self._next_number,
            "code": str(error["code"]),
            "message": error["message"],
            "param": error["param"],
        }
        return f"event: error\ndata: {json.dumps(event)}\n\n"


class MessagesShape(Shape):
    """That of Anthropic's Messages API, which leaves out what is not set.

    Source:
        vllm/entrypoints/anthropic/api_router.py (0.32.0).
    """

    def content(self, result: Any) -> Any:
        """Body of a message."""
        return result.model_dump(exclude_none=True)

    def error(self, error: Error) -> Any:
        """Anthropic's error: a type and a message."""
        told = {"type": error["type"], "message": error["message"]}
        return {"type": "error", "error": told}

    def last_words(self, error: Error) -> str:
        """Anthropic's ``error`` event."""
        return f"event: error\ndata: {json.dumps(self.error(error))}\n\n"


class ChatV2Shape(Shape):
    """That of Cohere's Chat API, which leaves out what is not set.

    Args:
        request: The request, whose id an error tells.

    Source:
        vllm/entrypoints/cohere/api_router.py (0.32.0).
    """

    def __init__(self, request: Request) -> None:
        self._request = request

    def content(self, result: Any) -> Any:
        """Body of a chat response."""
        return result.model_dump(exclude_none=True)

    def error(self, error: Error) -> Any:
        """Cohere's error: a message, and the request's id if it has one."""
        told = {"message": error["message"]}
        metadata = getattr(self._request.state, "request_metadata", None)
        request_id = getattr(metadata, "request_id", None)
        request_id = request_id or self._request.headers.get("X-Request-Id")
        return told | ({"id": request_id} if request_id else {})

    def last_words(self, error: Error) -> str:
        """The event that ends a message early, and the end of the stream."""
        delta = {"finish_reason": "ERROR", "error": error["message"]}
        event = json.dumps({"type": "message-end", "delta": delta})
        return f"data: {event}\n\ndata: [DONE]\n\n"


class ChatV2RenderShape(ChatV2Shape):
    """That of Cohere's Chat API rendered: a body of vLLM's own, errors of Cohere's."""

    def content(self, result: Any) -> Any:
        """Body of what the engine would be asked for, with all its fields."""
        return result.model_dump()


OPENAI = Shape()
