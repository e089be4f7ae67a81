"""Whether models fit into the memory they may take together."""

from __future__ import annotations

from collections.abc import Sequence

from containers.settings.model import ModelSettings
from containers.settings.problems import Problems, refuse


def over_budget(budget_gib: float | None, models: Sequence[ModelSettings]) -> Problems:
    """What is wrong with the models' ``memory_gib``, for a budget of all of them.

    Args:
        budget_gib: GiB they may take together; ``None`` for any number.
        models: The models.
    """
    if budget_gib is None:
        return {}
    problems: Problems = {
        ("models", index, "memory_gib"): refuse(
            "is missing, and server.memory_budget_gib needs it of every model",
            "Write the GiB it takes; vllm-di check tells weights and KV cache.",
        )
        for index, model in enumerate(models)
        if model.memory_gib is None
    }
    return problems or {
        **_at_once(budget_gib, models),
        **_alone(budget_gib, models),
    }


def _alone(budget_gib: float, models: Sequence[ModelSettings]) -> Problems:
    return {
        ("models", index, "memory_gib"): refuse(
            f"is more than server.memory_budget_gib, {budget_gib:g}",
            "Raise the budget, or leave the model out.",
        )
        for index, model in enumerate(models)
        if (model.memory_gib or 0) > budget_gib
    }


def _at_once(budget_gib: float, models: Sequence[ModelSettings]) -> Problems:
    """Models that are there whatever is asked for: pinned ones, and at the start."""
    together = {
        "loaded with the server": [m for m in models if m.load == "eager"],
        "pinned": [m for m in models if m.pinned],
    }
    for what, group in together.items():
        total = sum(model.memory_gib or 0 for model in group)
        if total > budget_gib:
            problem = refuse(
                f"is less than the {total:g} GiB of the models that are {what}",
                "Set load: lazy for some of them, and leave pinned out.",
            )
            return {("server", "memory_budget_gib"): problem}
    return {}
