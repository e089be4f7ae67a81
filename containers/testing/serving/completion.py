"""Completions without vLLM."""

from __future__ import annotations

from typing import Any

from containers.testing.serving.answers import Choice
from containers.testing.serving.generating import FakeGenerating


class FakeServingCompletion(FakeGenerating):
    """Stands where a ``ServingCompletion`` would, and plays a script.

    Args, attributes and errors are those of
    :class:`~containers.testing.FakeServingChat`; it answers the first prompt only.
    """

    request_id_prefix = "cmpl"
    kind = chunk_kind = "text_completion"

    async def create_completion(
        self,
        request: Any,
        raw_request: Any = None,  # noqa: ARG002  # vLLM's
    ) -> Any:
        """Continue a prompt, or give a generator of server-sent events."""
        return await self.answer(request)

    def prompt(self, request: Any) -> Any:
        """The prompt."""
        return request.prompt

    def choice(self, index: int, text: str) -> Choice:
        """A text."""
        return Choice(index=index, text=text, finish_reason="stop")

    def chunk(self, index: int, text: str, *, is_first: bool) -> Choice:
        """A part of a text."""
        del is_first
        return Choice(index=index, text=text)
