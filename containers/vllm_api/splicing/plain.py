"""Which streams consist of chunks that differ in nothing but their text."""

from __future__ import annotations

from typing import Any

OWN_TO_EACH_CHUNK = (
    "logprobs",
    "prompt_logprobs",
    "echo",
    "return_token_ids",
    "return_weight_versions",
    "use_beam_search",
)
"""Fields of a request that give each chunk something of its own.

Not every release and not every request has all of them.
"""


def is_plain_chat(serving_chat: Any, request: Any) -> bool:
    """Whether vLLM would make nothing but text of this conversation's chunks.

    Args:
        serving_chat: vLLM's ``OpenAIServingChat``.
        request: vLLM's ``ChatCompletionRequest``.

    Source:
        vllm/entrypoints/openai/chat_completion/serving.py
        ``chat_completion_stream_generator`` (0.32.0).
    """
    return serving_chat.parser_cls is None and _is_plain(serving_chat, request)


def is_plain_completion(serving_completion: Any, request: Any, n_prompts: int) -> bool:
    """Whether vLLM would make nothing but text of this completion's chunks.

    Args:
        serving_completion: vLLM's ``OpenAIServingCompletion``.
        request: vLLM's ``CompletionRequest``.
        n_prompts: How many prompts the request has.

    Source:
        vllm/entrypoints/openai/completion/serving.py ``completion_stream_generator``
        (0.32.0).
    """
    return (
        n_prompts == 1
        and request.logprobs is None
        and _is_plain(serving_completion, request)
    )


def _is_plain(serving: Any, request: Any) -> bool:
    options = request.stream_options
    return not (
        (request.n or 1) > 1
        or any(getattr(request, field, None) for field in OWN_TO_EACH_CHUNK)
        or serving.enable_force_include_usage
        or (options is not None and options.continuous_usage_stats)
        or getattr(serving, "enable_log_outputs", False)
    )
