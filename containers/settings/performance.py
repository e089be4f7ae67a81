"""The ``performance`` section: ways to be faster, each of which can be turned off."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from containers.settings.section import Section


class PerformanceSettings(Section):
    """Ways to be faster that vLLM's own server does not take.

    Attributes:
        fast_start: Whether engine processes are forked from one that has imported vLLM
            already, instead of each importing it anew; `auto` does so for engines on
            the CPU. Where it would not be safe, vLLM's own method is used anyway.
        fast_streams: Whether the plain chunks of streamed chats and completions are
            spliced into what vLLM made of the first ones, byte by byte the same.
        short_prompt_max_chars: Characters of a prompt that is templated and tokenized
            on the event loop instead of in a thread, 0 or more. Each thousand holds up
            others for 0.3 ms, 1.6 ms at the worst; a tokenizer that encodes in a way of
            its own keeps to threads. 0 for none.
        shared_writes: Whether events of a stream that come while the event loop has no
            rest share a write to its connection. They wait for it for 8 turns of the
            loop or 25 ms, twice at the most; what comes in its own time goes out at
            once.
    """

    fast_start: Literal["auto"] | bool = "auto"
    fast_streams: bool = True
    short_prompt_max_chars: Annotated[int, Field(ge=0)] = 2000
    shared_writes: bool = True
