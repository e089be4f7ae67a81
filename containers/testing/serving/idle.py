"""The plainest engine and list of models there can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers.testing.control_members import ControlMembers
from containers.testing.idle_members import IdleMembers
from containers.testing.serving.answers import ModelCard, ModelCards


class IdleEngine(ControlMembers, IdleMembers):
    """A healthy engine that generates nothing: enough for health checks."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the engine of a fake container has no {name}. Pass one of your own, "
            "fake_container(engine=...), or test with FakeEngine, over vLLM.",
            name=name,
            obj=self,
        )


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
