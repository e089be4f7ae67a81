"""The provider of an object that is loaded at the start and closed at the stop."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from enum import Enum, auto
from typing import Any, NoReturn, Self, TypeVar, overload

from dependency_injector import providers

from containers.errors import NotReadyError
from containers.lifecycle.record import State

T = TypeVar("T")

_START_FIRST = (
    "Start its container first, with `async with running(container):` or "
    "`await container.init_resources()`; asking for an object starts nothing."
)
_HINTS = {
    State.STARTING: "Wait until its container is ready.",
    State.FAILED: "Mend what its container failed with, and start it again.",
}


class BuilderKind(Enum):
    """How a builder is run."""

    FUNCTION = auto()
    GENERATOR = auto()
    COROUTINE = auto()
    ASYNC_GENERATOR = auto()

    @classmethod
    def of(cls, builder: Callable[..., Any]) -> BuilderKind:
        """Kind of a builder, told without calling it."""
        # A callable object is what its class's __call__ is.
        for function in (builder, type(builder).__call__):
            if inspect.isasyncgenfunction(function):
                return cls.ASYNC_GENERATOR
            if inspect.iscoroutinefunction(function):
                return cls.COROUTINE
            if inspect.isgeneratorfunction(function):
                return cls.GENERATOR
        return cls.FUNCTION


class Resource(providers.Resource[T]):
    """Declares an object that a container loads at its start and closes at its stop.

    After the start, calling the provider gives the plain object, at once, from any
    thread; before the start and after the stop it raises. It never starts anything.

    A provider overridden before the start gives what the override gave at the start,
    one object until the stop. An override made after the start counts for calls from
    then on, not for what was already built.

    Args:
        builder: What makes the object. A ``def`` is blocking work and runs in a thread
            of its own, an ``async def`` on the event loop. A generator of either kind
            yields the object once and closes it after the ``yield``, in a ``finally``;
            both halves run in the same thread, or task, and context.
        args: Positional arguments for it; providers among them are called first.
        kwargs: The same by name. Every edge of the graph is one of these.

    Attributes:
        is_part: Whether it is loaded only where another provider needs it.
    """

    is_part = False
    _name = ""
    _state = State.NOT_STARTED
    _loaded: tuple[T, ...] = ()
    _start_override: providers.Provider[Any] | None = None
    _builder: Callable[..., Any] | None

    @overload
    def __init__(
        self, builder: Callable[..., AsyncIterator[T]], /, *args: Any, **kwargs: Any
    ) -> None: ...
    @overload
    def __init__(
        self, builder: Callable[..., Iterator[T]], /, *args: Any, **kwargs: Any
    ) -> None: ...
    @overload
    def __init__(
        self,
        builder: Callable[..., Coroutine[Any, Any, T]],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> None: ...
    @overload
    def __init__(
        self, builder: Callable[..., T] | None = None, /, *args: Any, **kwargs: Any
    ) -> None: ...
    def __init__(self, builder: Any = None, /, *args: Any, **kwargs: Any) -> None:
        super().__init__(builder, *args, **kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __deepcopy__(self, memo: dict[Any, Any] | None) -> Self:
        """Copy the declaration, for another container; the loaded object stays."""
        copied: Self = super().__deepcopy__(memo)  # type: ignore[assignment]  # of our class
        copied._name = self._name
        return copied

    def __call__(self, *_args: Any, **_kwargs: Any) -> T:  # type: ignore[override]  # never awaitable
        """The loaded object.

        Raises:
            NotReadyError: It is not loaded.
        """
        loaded, override = self._loaded, self.last_overriding
        if not loaded:
            self._raise_not_ready()
        if override is None or override is self._start_override:
            return loaded[0]
        if isinstance(override, providers.BaseResource) and not override.initialized:
            self._raise_not_ready("Override it before the start, not after.")
        late: T = override()
        return late

    @property
    def name(self) -> str:
        """Attribute name in its container, or its builder's name."""
        return self._name or getattr(self.provides, "__name__", "resource")

    @property
    def state(self) -> State:
        """Where its object stands."""
        return self._state

    @property
    def provides(self) -> Callable[..., Any] | None:
        """The builder, as it was given."""
        return self._builder

    def set_provides(self, provides: Any) -> Self:
        """Replace the builder.

        Raises:
            TypeError: It is not callable.
        """
        if provides is not None and not callable(provides):
            raise TypeError(f"Resource takes a builder to call, not {provides!r}")
        self._builder = provides
        return self

    @property
    def initialized(self) -> bool:
        """Whether the object is loaded."""
        return bool(self._loaded)

    def init(self) -> T:  # type: ignore[override]  # never awaitable
        """The loaded object, as calling the provider.

        Raises:
            NotReadyError: It is not loaded; only its container loads it.
        """
        return self()

    def shutdown(self) -> None:
        """Do nothing unless it is loaded: only its container closes it.

        Raises:
            RuntimeError: It is loaded, and so may be what uses it.
        """
        if self._loaded:
            raise RuntimeError(
                f"{self.name} is closed by its container, after what uses it: "
                "await container.shutdown_resources() or lifecycle.stop()"
            )

    def show(self, state: State, *loaded: T) -> None:
        """Set what calls give from now on; for the lifecycle only."""
        self._start_override = self.last_overriding
        self._state = state
        self._loaded = loaded

    def _raise_not_ready(self, hint: str = "") -> NoReturn:
        raise NotReadyError(
            provider=self.name,
            state=self._state,
            hint=hint or _HINTS.get(self._state, _START_FIRST),
        )


class Part(Resource[T]):
    """A resource of which others are made, of no use without them.

    A container whose declaration puts something else in their place loads it not.
    """

    is_part = True
