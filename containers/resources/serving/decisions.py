"""The serving objects that read probabilities instead of texts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.generative_scoring import ServingGenerativeScoring
    from containers.serving.structured_decisions import ServingStructuredDecisions
else:
    # Their classes import vLLM; a double is known by what it can do.
    ServingGenerativeScoring = ServingStructuredDecisions = Any

LoadedServingGenerativeScoring = Annotated[
    ServingGenerativeScoring | None,
    Expected("a ServingGenerativeScoring", has=("create_generative_scoring",)),
]
LoadedServingStructuredDecisions = Annotated[
    ServingStructuredDecisions | None,
    Expected("a ServingStructuredDecisions", has=("create_decision",)),
]

Tasks = Sequence[str]

logger = logging.getLogger(__name__)


def serving_generative_scoring(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingGenerativeScoring:
    """Build the serving object of generative scoring."""
    from containers.serving.generative_scoring import ServingGenerativeScoring

    if "generate" not in supported_tasks:
        return None
    return ServingGenerativeScoring(**injected)


def serving_structured_decisions(**injected: Any) -> LoadedServingStructuredDecisions:
    """Build the serving object of structured decisions, for the models that can.

    Source:
        vllm/entrypoints/generate/structured_decisions/api_router.py (0.32.0).
    """
    from jinja2 import TemplateError

    from containers import vllm_api

    if not vllm_api.offers("ServingStructuredDecisions"):
        return None
    from containers import vllm_api

    if not vllm_api.offers("ServingStructuredDecisions"):
        return None
    from containers.serving.structured_decisions import ServingStructuredDecisions

    try:
        return ServingStructuredDecisions(**injected)
    except (ValueError, TypeError, TemplateError) as error:
        # It tries the chat template out, which may refuse; chats still work then.
        logger.debug("structured decisions are not served: %s", error)
        return None
