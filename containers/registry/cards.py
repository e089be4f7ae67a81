"""What ``/v1/models`` says of models, loaded or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from containers import vllm_api
from containers.registry.served_model import ServedModel


async def model_list(models: Iterable[ServedModel]) -> Any:
    """vLLM's ``ModelList`` of models, and of their adapters.

    One that has not been loaded yet is told by its settings.
    """
    shown = None
    for model in models:
        if model.is_ready:
            cards = await model.loaded.models.show_available_models()
        else:
            cards = vllm_api.ModelList(data=list(model.cards or _cards_of(model)))
        if shown is None:
            shown = cards
        else:
            shown.data.extend(cards.data)
    return shown


def import_front_end() -> None:
    """Import what routes need of vLLM, which takes seconds; for a thread."""
    _ = vllm_api.ModelList, vllm_api.ChatCompletionRequest


def _cards_of(model: ServedModel) -> list[Any]:
    settings = model.settings
    return [
        vllm_api.ModelCard(
            id=name,
            root=settings.source,
            max_model_len=settings.engine.get("max_model_len"),
            permission=[vllm_api.ModelPermission()],
        )
        for name in settings.names
    ]
