"""Streams whose plain chunks are spliced into what vLLM made of the first ones.

vLLM's own generator makes the first chunks of a stream, the last ones, and every chunk
that is anything but a piece of text. Of the others it makes two, and where these differ
in nothing but their text, further ones are made of the same frame around escaped text,
at a hundredth of the cost and byte by byte the same.
"""

from containers.vllm_api.splicing.plain import is_plain_chat, is_plain_completion
from containers.vllm_api.splicing.stream import (
    Generate,
    spliced_chat_stream,
    spliced_completion_stream,
)

__all__ = [
    "Generate",
    "is_plain_chat",
    "is_plain_completion",
    "spliced_chat_stream",
    "spliced_completion_stream",
]
