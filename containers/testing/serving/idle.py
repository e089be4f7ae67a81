"""What a container of fakes has where nobody asks for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers.errors import InjectionError
from containers.testing.control_members import ControlMembers
from containers.testing.idle_members import IdleMembers
from containers.testing.serving.answers import ModelCard, ModelCards


class Absent:
    """Nothing, which says so when it is used.

    Args:
        name: Name of the provider.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        raise _missing(self._name, attribute)

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Say so: some serving objects are called themselves."""
        raise _missing(self._name, "a call")


class IdleEngine(ControlMembers, IdleMembers):
    """A healthy engine that generates nothing: enough for health checks."""

    def __getattr__(self, name: str) -> Any:
        raise _missing("engine", name)


class FakeModels:
    """The served names.

    Args:
        names: Names clients may ask for, the primary one first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def model_name(self, lora_request: Any = None) -> str:
        """The primary name."""
        del lora_request
        return self.names[0]

    async def show_available_models(self) -> ModelCards:
        """A card for each name."""
        return ModelCards(data=[ModelCard(id=name) for name in self.names])


class _AbsentError(InjectionError, AttributeError):
    """What nobody passed was asked for something; ``hasattr`` takes it for a no."""


def _missing(name: str, attribute: str) -> _AbsentError:
    return _AbsentError(
        owner="fake_container",
        argument=name,
        expected="a double of yours where that is used",
        found=f"none, and was asked for {attribute}",
        hint="Pass one, or test with FakeEngine, over vLLM.",
    )
