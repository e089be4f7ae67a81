"""The tokenizer."""

from __future__ import annotations

from typing import Annotated, Any

from containers.graph import Expected
from containers.vllm_api.tokenizer import TOKENIZER_METHODS

LoadedTokenizer = Annotated[
    Any,
    Expected(
        "a loaded tokenizer",
        has=TOKENIZER_METHODS,
        hint="Load it first and override with the object.",
    ),
]


def tokenizer(*, vllm_config: Any) -> LoadedTokenizer:
    """Load the model's tokenizer from disk, once in this process.

    Args:
        vllm_config: Configuration of the engine, which names tokenizer and mode.

    Returns:
        A loaded tokenizer (vLLM's ``TokenizerLike``). It outlives any engine. Not safe
        for concurrent use as it is: the renderer makes a copy for each of its threads.

    Raises:
        SourceError: There is no tokenizer, or ``skip_tokenizer_init`` is set.
    """
    from containers.errors import SourceError
    from containers.vllm_api.tokenizer import load_tokenizer

    source = vllm_config.model_config.tokenizer
    try:
        loaded = load_tokenizer(vllm_config)
    except (OSError, ValueError) as error:
        raise SourceError(
            source=source,
            reason=f"its tokenizer cannot be loaded: {error}",
            hint="Set models[].engine.tokenizer to a folder or id that has one.",
        ) from error
    if loaded is None:
        raise SourceError(
            source=source,
            reason="skip_tokenizer_init is set, but serving objects need a tokenizer",
            hint="Remove skip_tokenizer_init from models[].engine.",
        )
    return loaded
