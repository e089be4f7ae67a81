"""What a command says beside its result, on the error stream."""

from __future__ import annotations

import sys


def tell(*lines: str) -> None:
    """Print lines in the command's name."""
    for line in lines:
        print(f"vllm-di: {line}", file=sys.stderr)


def tell_of_the_import() -> None:
    """Say why nothing happens for a while: vLLM's options need its import."""
    tell("reading the options of the installed vLLM, about 10 seconds")
