"""Chat without vLLM."""

from __future__ import annotations

from typing import Any

from containers.testing.serving.answers import Choice, Message
from containers.testing.serving.generating import FakeGenerating


class FakeServingChat(FakeGenerating):
    """Stands where a ``ServingChat`` would, and plays a script without any vLLM.

    Nothing of vLLM happens: no template, no tokenizer, no parser, no limit, no check
    of the request. It answers in the shape of vLLM's responses, and streams events.

    Args:
        script: What it answers, as :class:`~containers.testing.FakeEngine` takes it; a
            callable gets the request as it was passed to ``create_chat_completion``.
        delay_s: Seconds before each token.
        fails: Raised for every request.
        model: Name it answers with when a request names none.

    Attributes:
        requests: Every request so far, oldest first, as it was passed.

    Raises:
        InjectionError: The script is none.
    """

    request_id_prefix = "chatcmpl"
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    async def create_chat_completion(
        self,
        request: Any,
        raw_request: Any = None,  # noqa: ARG002  # vLLM's
    ) -> Any:
        """Answer a conversation, or give a generator of server-sent events."""
        return await self.answer(request)

    def prompt(self, request: Any) -> Any:
        """What is said in the conversation."""
        return " ".join(
            str(message["content"])
            for message in request.messages
            if isinstance(message, dict) and message.get("content")
        )

    def choice(self, index: int, text: str) -> Choice:
        """A message."""
        message = Message(content=text)
        return Choice(index=index, message=message, finish_reason="stop")

    def chunk(self, index: int, text: str, *, is_first: bool) -> Choice:
        """A delta; the first one tells the role."""
        role = "assistant" if is_first else None
        return Choice(index=index, delta=Message(role=role, content=text))
