"""What a container of fakes has where nobody asks for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
        raise _missing(self._name, "__call__")


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


def _missing(name: str, attribute: str) -> AttributeError:
    return AttributeError(
        f"the {name} of a fake container has no {attribute}. Pass one of your own, "
        f"fake_container({name}=...), or test with FakeEngine, over vLLM.",
        name=attribute,
    )
