"""Which running model answers to which name."""

from __future__ import annotations

from collections.abc import Sequence

from containers.lifecycle import Running


class ModelRegistry:
    """The models an app serves, by the names clients ask for.

    Args:
        models: Running models, the default one first; at least one.

    Attributes:
        models: The same.
    """

    def __init__(self, models: Sequence[Running]) -> None:
        self.models = tuple(models)
        self._by_name = {
            name: model for model in reversed(models) for name in model.settings.names
        }

    @property
    def default(self) -> Running:
        """The model of requests that name none."""
        return self.models[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Every served name, primary names and aliases."""
        return tuple(self._by_name)

    def get(self, name: str | None) -> Running:
        """Running model of a served name.

        A name nobody serves gives the default model, whose serving objects know their
        adapters' names and refuse the rest in vLLM's words.
        """
        return self._by_name.get(name or "", self.default)
