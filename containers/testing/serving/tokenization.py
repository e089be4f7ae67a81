"""Tokens without vLLM: the bytes of a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from containers.testing.serving.answers import DetokenizeAnswer, TokenizeAnswer
from containers.testing.serving.stand_ins import provide_requests


class ByteTokenizer:
    """A tokenizer whose tokens are the 256 bytes of UTF-8."""

    def encode(self, text: str, **_: Any) -> list[int]:
        """Bytes of a text."""
        return list(text.encode())

    def decode(self, ids: Iterable[int], **_: Any) -> str:
        """Text of bytes."""
        return bytes(ids).decode(errors="replace")

    def convert_ids_to_tokens(self, ids: Iterable[int], **_: Any) -> list[str]:
        """Each byte as a character."""
        return [chr(each) for each in ids]

    def get_vocab(self) -> dict[str, int]:
        """The 256 bytes."""
        return {chr(each): each for each in range(256)}


class FakeServingTokenization:
    """Stands where a ``ServingTokenization`` would; a token is a byte.

    Args:
        max_model_len: Length it answers with, in tokens.

    Attributes:
        requests: Every request so far, oldest first, as it was passed.
    """

    def __init__(self, *, max_model_len: int = 2048) -> None:
        provide_requests()
        self.requests: list[Any] = []
        self._tokenizer = ByteTokenizer()
        self._max_model_len = max_model_len

    async def create_tokenize(
        self,
        request: Any,
        raw_request: Any = None,  # noqa: ARG002  # vLLM's
    ) -> TokenizeAnswer:
        """Bytes of a prompt, or of what is said in a conversation."""
        self.requests.append(request)
        text = getattr(request, "prompt", None)
        if text is None:
            text = "".join(str(message["content"]) for message in request.messages)
        tokens = self._tokenizer.encode(text)
        strings = None
        if getattr(request, "return_token_strs", False):
            strings = self._tokenizer.convert_ids_to_tokens(tokens)
        return TokenizeAnswer(
            count=len(tokens),
            max_model_len=self._max_model_len,
            tokens=tokens,
            token_strs=strings,
        )

    async def create_detokenize(
        self,
        request: Any,
        raw_request: Any = None,  # noqa: ARG002  # vLLM's
    ) -> DetokenizeAnswer:
        """Text of bytes."""
        self.requests.append(request)
        return DetokenizeAnswer(prompt=self._tokenizer.decode(request.tokens))
