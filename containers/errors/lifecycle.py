"""What is wrong with a graph, its start, its stop or its use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from containers.errors.serving_error import ServingError


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
