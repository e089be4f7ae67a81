"""A program that chats inside one event loop after another, and looks around itself.

``python -m tests.engine.loop_program FILE`` writes what it saw to FILE.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import psutil
import uvloop
import yaml

from containers import ModelContainer, ModelSettings, running
from tests.engine.corpus.sample import FRANCE
from tests.engine.servers import CONFIG

LEAVE_TIMEOUT_S = 2.0
RUNS: dict[str, Callable[[Coroutine[Any, Any, str]], str]] = {
    "asyncio": asyncio.run,
    "uvloop": uvloop.run,
}


async def chat() -> str:
    """Build everything, use it at once, stop it, and return the answer."""
    model_settings = yaml.safe_load(CONFIG.read_text())["models"][0]
    settings = ModelSettings.model_validate(model_settings)
    async with running(ModelContainer(settings=settings)) as model:
        from containers.vllm_api import ChatCompletionRequest

        request = ChatCompletionRequest(messages=FRANCE, temperature=0)
        completion = await model.serving_chat.create_chat_completion(request)
        return str(completion.choices[0].message.content)


def surroundings() -> dict[str, Any]:
    """Signal handlers, threads and child processes, as they are now."""
    return {
        "handlers": {
            signal.Signals(number).name: repr(signal.getsignal(number))
            for number in [*signal.Signals]
        },
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "children": child_processes(),
    }


def child_processes() -> list[str]:
    """Child processes, after a moment for one that was killed to be gone."""
    deadline = time.monotonic() + LEAVE_TIMEOUT_S
    while (names := _children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return names


def _children() -> list[str]:
    multiprocessing.active_children()  # takes note of those that have ended
    children = psutil.Process().children(recursive=True)
    # Python's own resource tracker lives as long as the program.
    own = getattr(resource_tracker._resource_tracker, "_pid", None)
    return [child.name() for child in children if child.pid != own]


def count_tokenizer_loads() -> list[str]:
    """What tokenizers are loaded from, from now on, however they are asked for."""
    from transformers import PreTrainedTokenizerBase

    loads: list[str] = []
    from_pretrained = PreTrainedTokenizerBase.from_pretrained.__func__

    def counted(cls: type, source: str, *args: Any, **kwargs: Any) -> Any:
        loads.append(str(source))
        return from_pretrained(cls, source, *args, **kwargs)

    PreTrainedTokenizerBase.from_pretrained = classmethod(counted)
    return loads


def main(file: str) -> None:
    """Run the chat on each kind of loop and write down what was seen."""
    loads = count_tokenizer_loads()
    before = surroundings()
    runs = {
        loop: {"answer": run(chat()), "after": surroundings()}
        for loop, run in RUNS.items()
    }
    seen = {"before": before, "runs": runs, "loads": loads}
    Path(file).write_text(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
