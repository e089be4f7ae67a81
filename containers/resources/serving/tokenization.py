"""The serving object of texts and token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.tokenization import ServingTokenization
else:
    # Its class imports vLLM; a double is known by what it can do.
    ServingTokenization = Any

LoadedServingTokenization = Annotated[
    ServingTokenization,
    Expected("a ServingTokenization", has=("create_tokenize", "create_detokenize")),
]


def serving_tokenization(**injected: Any) -> LoadedServingTokenization:
    """Build the tokenization serving object; see its class for the arguments."""
    from containers.serving.tokenization import ServingTokenization

    return ServingTokenization(**injected)
