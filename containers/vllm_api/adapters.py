"""The adapters an engine holds, over the lists of served models that come and go.

vLLM numbers adapters for each list anew, while the engine knows them by these numbers:
a second list over one engine would call one adapter by another's number.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

logger = logging.getLogger(__name__)


class EngineAdapters:
    """What lists of served models have loaded into one engine."""

    def __init__(self) -> None:
        self._counter: Any = None
        self._lists: list[dict[str, Any]] = []

    @asynccontextmanager
    async def shared(self, served: Any) -> AsyncIterator[None]:
        """Let a new list go on where the one before it stands, until it ends.

        Args:
            served: vLLM's ``OpenAIServingModels``, whose adapters are not loaded yet.
        """
        self._counter = self._counter or served.lora_id_counter
        served.lora_id_counter = self._counter
        if self._lists:
            _take_over(served, self._lists[-1])
        self._lists.append(served.lora_requests)
        try:
            yield
        finally:
            await self._end(served)

    async def _end(self, served: Any) -> None:
        own = served.lora_requests
        self._lists = [each for each in self._lists if each is not own]
        # With the last list the engine ends as well, and may not answer any more.
        if self._lists:
            wanted = {r.lora_int_id for each in self._lists for r in each.values()}
            ids = {request.lora_int_id for request in own.values()}
            for left in ids - wanted:
                await remove(served.engine_client, left)


async def add_again(served: Any, request: Any) -> None:
    """Load an adapter that another engine had, under a number of this one.

    Args:
        served: vLLM's ``OpenAIServingModels`` of this engine.
        request: vLLM's ``LoRARequest`` for the other engine.
    """
    again = copy(request)
    again.lora_int_id = served.lora_id_counter.inc(1)
    try:
        await served.engine_client.add_lora(again)
    except Exception as error:  # noqa: BLE001  # the model serves without it
        logger.error("the adapter %s is lost: %s", request.lora_name, error)  # noqa: TRY400  # a sentence
    else:
        served.lora_requests[request.lora_name] = again


async def remove(engine: Any, lora_id: int) -> None:
    """Remove an adapter from an engine, unless the engine cannot."""
    try:
        await engine.remove_lora(lora_id)
    except Exception as error:  # noqa: BLE001  # it only takes room
        logger.warning("an adapter is left in its engine: %s", error)


def of_engine(engine: Any) -> EngineAdapters:
    """What is known of an engine's adapters; it is forgotten with the engine."""
    known = _known.get(engine)
    if known is None:
        known = _known[engine] = EngineAdapters()
    return known


_known: WeakKeyDictionary[Any, EngineAdapters] = WeakKeyDictionary()


def _take_over(served: Any, before: dict[str, Any]) -> None:
    left = []
    for module in served.static_lora_modules or ():
        request = before.get(module.name)
        if request is not None and request.lora_path == module.path:
            served.lora_requests[module.name] = request
        else:
            left.append(module)
    served.static_lora_modules = left
