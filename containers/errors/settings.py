"""What is wrong before anything starts."""

from __future__ import annotations

from collections.abc import Sequence

from containers.errors.serving_error import ServingError


class SettingsError(ServingError):
    """A setting is unknown, missing or wrong.

    Attributes:
        key: Path of the key, such as ``models.0.engine.max_model_len``; empty when
            the file as a whole is wrong.
        reason: What is wrong with it, without a full stop.
        hint: What to do, such as the nearest valid name; may be empty.
        file: The file the key came from, or ``None`` for settings made in Python.
        line: Line in that file, from 1, or ``None`` when it is not known.
        others: Further problems found at the same time, each an error like this one.
    """

    def __init__(
        self,
        *,
        reason: str,
        key: str = "",
        hint: str = "",
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        self.key = key
        self.reason = reason
        self.hint = hint
        self.file = file
        self.line = line
        self.others: tuple[SettingsError, ...] = ()
        super().__init__(key, reason)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part)
        where = ": ".join(part for part in (place, self.key) if part)
        sentence = f"{where}: {self.reason}." if where else f"{self.reason}."
        sentences = [f"{sentence} {self.hint}".strip(), *map(str, self.others)]
        return "\n".join(sentences)


class SourceError(ServingError):
    """A model's folder cannot be found or made.

    Attributes:
        source: The ``models[].source`` as configured.
        reason: What is wrong, without a full stop.
        hint: What to do.
    """

    def __init__(self, *, source: str, reason: str, hint: str) -> None:
        self.source = source
        self.reason = reason
        self.hint = hint
        super().__init__(source, reason)

    def __str__(self) -> str:
        return f"model source {self.source!r}: {self.reason}. {self.hint}"


class VllmMismatchError(ServingError):
    """The installed vLLM is absent, unsupported, or lacks a name we need.

    Attributes:
        found: The version found, or ``None`` when vLLM is not installed.
        supported: The versions we know.
        reason: What does not fit, without a full stop.
        hint: The command that mends it.
    """

    def __init__(
        self, *, found: str | None, supported: Sequence[str], reason: str, hint: str
    ) -> None:
        self.found = found
        self.supported = tuple(supported)
        self.reason = reason
        self.hint = hint
        super().__init__(found, reason)

    def __str__(self) -> str:
        return (
            f"{self.reason} (found vLLM: {self.found or 'none'}; "
            f"supported: {', '.join(self.supported)}). {self.hint}"
        )


class ChatTemplateError(ServingError):
    """A chat template is missing, does not parse, or cannot render a user turn.

    Attributes:
        origin: Where the template came from, such as ``file templates/chat.jinja``.
        reason: What is wrong, without a full stop.
        hint: What to do.
    """

    def __init__(self, *, origin: str, reason: str, hint: str) -> None:
        self.origin = origin
        self.reason = reason
        self.hint = hint
        super().__init__(origin, reason)

    def __str__(self) -> str:
        return f"chat template from {self.origin}: {self.reason}. {self.hint}"
