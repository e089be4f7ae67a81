"""What lies around the text in the chunks of one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


class Frame:
    """Learns from two chunks what surrounds their text, then makes more of the kind.

    Args:
        opening: What stands before the text's JSON, such as ``"text":``.
        closing: What follows it.

    Attributes:
        is_known: Whether two chunks agreed and the text is not over, so that
            :meth:`around` may be used.
    """

    def __init__(self, opening: str, closing: str) -> None:
        self._opening = opening
        self._closing = closing
        self._before = ""
        self._after = ""
        self._is_over = False
        self.is_known = False

    def around(self, escaped: str) -> str:
        """The chunk of an escaped text."""
        return self._before + escaped + self._after

    def learn(self, chunks: Sequence[str], output: Any) -> None:
        """Learn from what vLLM has made of one result.

        Two chunks that disagree in more than their text end it for good.

        Args:
            chunks: What it made; the text is in the last one.
            output: The result's plain output, or ``None`` if it has none.
        """
        escaped = escape(output.text) if output else None
        if escaped is None or not chunks or self._is_over:
            return
        if self._before:
            self.is_known = self.around(escaped) == chunks[-1]
            self._is_over = not self.is_known
            return
        text = self._opening + escaped + self._closing
        before, found, after = chunks[-1].partition(text)
        if found:
            self._before = before + self._opening
            self._after = self._closing + after

    def end(self) -> None:
        """Use it no more."""
        self._is_over, self.is_known = True, False


def escape(text: str) -> str | None:
    """A text as JSON, as pydantic writes it; ``None`` if UTF-8 has no bytes for it."""
    try:
        return to_json(text).decode()
    except PydanticSerializationError:
        return None
