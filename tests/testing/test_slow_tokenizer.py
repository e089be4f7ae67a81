"""A tokenizer that takes its time gives the same tokens and holds up nobody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from dependency_injector.containers import Container
from transformers import AutoTokenizer

from containers import running
from containers.testing import FakeEngine, slow_tokenizer
from tests.serving.test_event_loops import question

DELAY_S = 0.3


def test_it_gives_the_same_tokens_later(tiny_folder: Path) -> None:
    fast = AutoTokenizer.from_pretrained(tiny_folder)
    slow = slow_tokenizer(fast, delay_s=DELAY_S)
    began = time.monotonic()
    assert slow.encode("hello there") == fast.encode("hello there")
    assert time.monotonic() - began >= DELAY_S
    assert type(fast).__name__ != type(slow).__name__


async def test_the_loop_goes_on_while_a_prompt_is_tokenized(
    new_container: Callable[[], Container], tiny_folder: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    container = new_container()
    container.tokenizer.override(slow_tokenizer(tokenizer, delay_s=DELAY_S))
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as model:
        chat = asyncio.ensure_future(
            model.serving_chat.create_chat_completion(question())
        )
        n_turns = 0
        began = time.monotonic()
        while not chat.done():
            await asyncio.sleep(0.01)
            n_turns += 1
        assert time.monotonic() - began >= DELAY_S
        assert n_turns > 10
        assert chat.result().choices[0].message.content == "Paris."
