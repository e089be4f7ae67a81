"""Every error this project raises, in one tree.

::

    ServingError
    ├── SettingsError              a key in config.yaml (or Settings) is wrong
    ├── SourceError                a model's weights or tokenizer cannot be had
    ├── VllmMismatchError          the installed vLLM is not one we know
    ├── ChatTemplateError          a chat template is wrong
    ├── InjectionError             a constructor argument is missing its loaded object
    ├── GraphError                 the declared graph cannot be started
    ├── StartError                 a resource did not start
    ├── StopError                  resources did not stop cleanly (an ExceptionGroup)
    ├── NotReadyError              an object was asked for before it was loaded
    ├── UnknownModelError          a request names a model that nobody serves
    ├── UnsupportedTaskError       a request asks a model for what it cannot do
    ├── AdapterError               a LoRA adapter cannot be loaded while serving
    └── CassetteError              a cassette has no answer, or cannot be used

Attributes carry the data, ``str()`` the sentence: what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self


class ServingError(Exception):
    """Root of the tree: ``except ServingError`` catches whatever we raise.

    Every one survives pickling, so it can cross processes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the attributes, whatever the constructor takes."""
        return _rebuilt, (type(self), self.args, vars(self).copy())


def _rebuilt(
    kind: type[ServingError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> ServingError:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error


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


class InjectionError(ServingError, TypeError):
    """A constructor was handed something that is not a loaded object.

    Attributes:
        owner: The class or builder being constructed.
        argument: Name of the argument.
        expected: What it takes.
        found: What it got.
        hint: What to do.
    """

    def __init__(
        self, *, owner: str, argument: str, expected: str, found: str, hint: str
    ) -> None:
        self.owner = owner
        self.argument = argument
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(owner, argument, expected, found)

    def __str__(self) -> str:
        return (
            f"{self.owner}({self.argument}=...) takes {self.expected}, "
            f"got {self.found}. {self.hint}"
        )


class GraphError(ServingError):
    """The declared graph cannot be started as it stands.

    Attributes:
        providers: Names of the providers concerned, in the order of the problem (for
            a cycle: along its edges, first name again at the end).
        reason: What is wrong, without a full stop.
        hint: What to do.
    """

    def __init__(self, *, providers: Sequence[str], reason: str, hint: str) -> None:
        self.providers = tuple(providers)
        self.reason = reason
        self.hint = hint
        super().__init__(self.providers, reason)

    def __str__(self) -> str:
        return f"{self.reason}: {' -> '.join(self.providers)}. {self.hint}"


class StartError(ServingError):
    """A resource did not start; whatever had started is stopped again.

    The resource's own error is the ``__cause__``.

    Attributes:
        resource: Name of the provider whose builder failed.
        path: Provider names from the wanted root down to ``resource``.
        reason: The builder's error, or that its time was up.
        hint: What to do.
    """

    def __init__(
        self, *, resource: str, path: Sequence[str], reason: str, hint: str
    ) -> None:
        self.resource = resource
        self.path = tuple(path)
        self.reason = reason
        self.hint = hint
        super().__init__(resource, self.path, reason)

    def __str__(self) -> str:
        way = " -> ".join(self.path)
        return f"{self.resource} did not start ({way}): {self.reason}. {self.hint}"


class StopError(ServingError, ExceptionGroup[Exception]):
    """One or more resources failed to stop; every stop was attempted.

    ``exceptions`` holds each resource's own error, with a note naming the resource.
    """

    def __new__(cls, exceptions: Sequence[Exception]) -> Self:
        """Make the group; its message is always the same."""
        return super().__new__(cls, "resources did not stop cleanly", exceptions)

    def __init__(self, exceptions: Sequence[Exception]) -> None:
        super().__init__("resources did not stop cleanly", exceptions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the errors of the group."""
        return type(self), (self.exceptions,)

    def derive(  # type: ignore[override]  # narrower: a part of it is one too
        self, exceptions: Sequence[Exception]
    ) -> StopError:
        """Make the group that ``split`` and ``subgroup`` give."""
        return StopError(exceptions)


class NotReadyError(ServingError):
    """A loaded object was asked for while the container is not running.

    Attributes:
        provider: Name of the provider asked.
        state: State of its container, such as ``not started`` or ``stopped``.
        hint: What to do.
    """

    def __init__(self, *, provider: str, state: str, hint: str) -> None:
        self.provider = provider
        self.state = state
        self.hint = hint
        super().__init__(provider, state)

    def __str__(self) -> str:
        return f"{self.provider} is not loaded ({self.state}). {self.hint}"


class UnknownModelError(ServingError):
    """A request names a model that nobody serves.

    Attributes:
        model: The name.
        names: Served names, without those of adapters.

    Source:
        vllm/entrypoints/serve/engine/serving.py ``_check_model`` (0.32.0), for the
        words.
    """

    def __init__(self, *, model: str, names: Sequence[str]) -> None:
        self.model = model
        self.names = tuple(names)
        super().__init__(model)

    def __str__(self) -> str:
        return (
            f"The model `{self.model}` does not exist. "
            f"Valid aliases: {', '.join(self.names)}."
        )


class UnsupportedTaskError(ServingError):
    """A request asks a model for what it cannot do.

    Attributes:
        model: The model's name, as the request has it.
        provider: Name of the provider that is absent, such as ``serving_embedding``.
        able: Names of the models that can.
    """

    def __init__(self, *, model: str, provider: str, able: Sequence[str]) -> None:
        self.model = model
        self.provider = provider
        self.able = tuple(able)
        super().__init__(model, provider)

    def __str__(self) -> str:
        noun = self.provider.removeprefix("serving_").replace("_", " ")
        others = f"Ask {' or '.join(self.able)}" if self.able else "No model here does"
        return f"The model `{self.model}` does not support {noun} requests. {others}."


class AdapterError(ServingError):
    """A LoRA adapter cannot be loaded into a model that serves; the model goes on.

    Attributes:
        adapter: The adapter's name, as the request has it.
        reason: What is wrong, without a full stop.
        hint: What to do; may be empty.
        is_absent: Whether it is just not there.
    """

    def __init__(
        self, *, adapter: str, reason: str, hint: str = "", is_absent: bool = False
    ) -> None:
        self.adapter = adapter
        self.reason = reason
        self.hint = hint
        self.is_absent = is_absent
        super().__init__(adapter, reason)

    def __str__(self) -> str:
        return f"The adapter `{self.adapter}`: {self.reason}. {self.hint}".strip()


class CassetteError(ServingError):
    """A cassette holds no answer to a request, or cannot be read or written.

    Attributes:
        path: The cassette's file.
        reason: What is wrong, without a full stop.
        hint: What to do.
        line: Line of the file it is about, from 1, or ``None`` for all of it.
    """

    def __init__(
        self, *, path: str, reason: str, hint: str, line: int | None = None
    ) -> None:
        self.path = path
        self.reason = reason
        self.hint = hint
        self.line = line
        super().__init__(path, reason)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        gap = "\n" if "\n" in self.reason else " "
        return f"cassette {place}: {self.reason}.{gap}{self.hint}"
