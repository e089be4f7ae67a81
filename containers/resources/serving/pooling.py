"""The serving objects of models that pool: embeddings, classes and scores.

Source:
    vllm/entrypoints/pooling/factories.py ``init_pooling_state`` (0.32.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.classification import ServingClassification
    from containers.serving.embedding import ServingEmbedding
    from containers.serving.pooling import ServingPooling
    from containers.serving.scores import ServingScores
else:
    # Their classes import vLLM; a double is known by what it can do.
    ServingEmbedding = ServingClassification = ServingPooling = ServingScores = Any

LoadedServingEmbedding = Annotated[
    ServingEmbedding | None, Expected("a ServingEmbedding", has=("__call__",))
]
LoadedServingPooling = Annotated[
    ServingPooling | None, Expected("a ServingPooling", has=("__call__",))
]
LoadedServingClassification = Annotated[
    ServingClassification | None,
    Expected("a ServingClassification", has=("__call__",)),
]
LoadedServingScores = Annotated[
    ServingScores | None, Expected("a ServingScores", has=("__call__",))
]

Tasks = Sequence[str]


def serving_embedding(
    *, supported_tasks: Tasks, vllm_config: Any, **injected: Any
) -> LoadedServingEmbedding:
    """Build the serving object of embeddings; see its class for the arguments."""
    from containers.serving.embedding import ServingEmbedding
    from containers.vllm_api.tasks import pooling_task

    if pooling_task(vllm_config, supported_tasks) != "embed":
        return None
    return ServingEmbedding(vllm_config=vllm_config, **injected)


def serving_pooling(
    *, supported_tasks: Tasks, vllm_config: Any, **injected: Any
) -> LoadedServingPooling:
    """Build the serving object that gives what the model's own task pools."""
    from containers.serving.pooling import ServingPooling
    from containers.vllm_api.tasks import pooling_task

    if pooling_task(vllm_config, supported_tasks) is None:
        return None
    return ServingPooling(
        supported_tasks=supported_tasks, vllm_config=vllm_config, **injected
    )


def serving_classification(
    *, supported_tasks: Tasks, vllm_config: Any, **injected: Any
) -> LoadedServingClassification:
    """Build the serving object that tells which class a text is of."""
    from containers.serving.classification import ServingClassification
    from containers.vllm_api.tasks import pooling_task

    if pooling_task(vllm_config, supported_tasks) != "classify":
        return None
    return ServingClassification(vllm_config=vllm_config, **injected)


def serving_scores(
    *, supported_tasks: Tasks, vllm_config: Any, **injected: Any
) -> LoadedServingScores:
    """Build the serving object that compares texts: scores and reranking."""
    from containers.serving.scores import ServingScores
    from containers.vllm_api.tasks import can_score

    if not can_score(vllm_config, supported_tasks):
        return None
    return ServingScores(
        supported_tasks=supported_tasks, vllm_config=vllm_config, **injected
    )
