"""A model's chat template as one loaded, checked object."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from containers.file_version import FileVersion

ContentFormat = Literal["auto", "string", "openai"]


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """The chat template that serving objects receive in their constructor.

    What an operator configured and what results are two things: vLLM is given the
    first (``explicit``), people are shown the second (``text``).

    Attributes:
        explicit: Jinja source, or the name of one of the tokenizer's templates, as
            configured; ``None`` when the model's own template applies.
        text: Jinja source that renders a plain conversation; ``None`` when the model
            has none, or renders chats without Jinja.
        origin: Where it came from, such as ``tokenizer``, ``file chat.jinja``,
            ``literal``, ``named tool_use`` or ``none``.
        content_format: How message content is handed to the template: ``string``,
            ``openai`` (a list of parts), or ``auto``, detected from the template.
        detected_format: What ``auto`` means for this template.
        file_version: Which version of its file was read.
    """

    explicit: str | None
    text: str | None
    origin: str
    content_format: ContentFormat = "auto"
    detected_format: Literal["string", "openai"] = "string"
    file_version: FileVersion = field(default=None, compare=False)

    @property
    def file(self) -> Path | None:
        """The file it was read from; ``None`` if it was none."""
        kind, _, path = self.origin.partition(" ")
        return Path(path) if kind == "file" else None

    @classmethod
    def literal(cls, text: str, *, content_format: ContentFormat = "auto") -> Self:
        """Make a template of Jinja source, for overriding the provider in tests.

        Args:
            text: Jinja source; it is used as it is.
            content_format: As on the class.
        """
        return cls(
            explicit=text, text=text, origin="literal", content_format=content_format
        )
