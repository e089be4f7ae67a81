"""The serving objects of servers that share one request's work: render and derender.

Source:
    vllm/entrypoints/scale_out/factories.py (0.32.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.derender import ServingDerender
    from containers.serving.render import ServingRender
    from containers.serving.tokens import ServingTokens
else:
    # Their classes import vLLM; a double is known by what it can do.
    ServingRender = ServingDerender = ServingTokens = Any

LoadedServingRender = Annotated[
    ServingRender | None,
    Expected("a ServingRender", has=("render_chat_request",)),
]
LoadedServingDerender = Annotated[
    ServingDerender | None,
    Expected("a ServingDerender", has=("derender_chat", "derender_completion")),
]
LoadedServingTokens = Annotated[
    ServingTokens | None, Expected("a ServingTokens", has=("serve_tokens",))
]

Tasks = Sequence[str]


def serving_render(*, supported_tasks: Tasks, **injected: Any) -> LoadedServingRender:
    """Build the serving object that renders requests to token ids."""
    from containers.serving.render import ServingRender

    return ServingRender(**injected) if "generate" in supported_tasks else None


def serving_derender(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingDerender:
    """Build the serving object that makes answers of token ids."""
    from containers.serving.derender import ServingDerender

    return ServingDerender(**injected) if "generate" in supported_tasks else None


def serving_tokens(*, supported_tasks: Tasks, **injected: Any) -> LoadedServingTokens:
    """Build the serving object that takes and gives token ids."""
    from containers.serving.tokens import ServingTokens

    return ServingTokens(**injected) if "generate" in supported_tasks else None
