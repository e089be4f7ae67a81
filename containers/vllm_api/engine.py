"""vLLM's asynchronous engine around an injected renderer and processes that run."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from types import FunctionType
from typing import Any

from containers import vllm_api
from containers.vllm_api.engine_core import SHUTDOWN_TIMEOUT_S, EngineCore
from containers.vllm_api.metrics import keep_metrics, take_metrics
from containers.vllm_api.sharing import ALONE, EngineSharing
from containers.vllm_api.statistics import note_when_heard

_registration = threading.Lock()
"""Held while an engine registers its metrics, which are those of the whole process."""


class _ReadyClient:
    """What ``EngineCoreClient`` means to the constructor: its client is there already.

    Args:
        client: vLLM's client of processes that run, made without a renderer.
        renderer: The renderer it is handed, as if it had been made with it.

    Source:
        vllm/v1/engine/core_client.py ``MPClient.__init__`` (0.31.0 to 0.33.0).
    """

    def __init__(self, client: Any, renderer: Any) -> None:
        self._client = client
        self._renderer = renderer

    def make_async_mp_client(self, **_: Any) -> Any:
        """Give the client, which warms up what the renderer has for images."""
        self._client._renderer = self._renderer  # noqa: SLF001  # as vLLM does itself
        self._client._start_mm_warmup()  # noqa: SLF001  # the same
        return self._client


def _with(async_llm: type[Any], renderer: Any, client: Any) -> type[Any]:
    """Subclass of ``AsyncLLM`` whose constructor takes renderer and client, makes none.

    The constructor's code is vLLM's own; only three names mean something else to it,
    the third so that a tracer that is there is not made again. Nothing global changes:
    a plain ``AsyncLLM`` beside it is what it was.

    Args:
        async_llm: vLLM's class.
        renderer: The renderer.
        client: The client of the engine's processes.

    Source:
        vllm/v1/engine/async_llm.py ``AsyncLLM.__init__`` (0.32.0).
    """

    def renderer_from_config(*_: Any, **__: Any) -> Any:
        return renderer

    def init_tracer(*_: Any, **__: Any) -> None:
        return

    own = async_llm.__init__
    names = {
        **own.__globals__,
        "renderer_from_config": renderer_from_config,
        "EngineCoreClient": _ReadyClient(client, renderer),
        "init_tracer": init_tracer,
    }
    init = FunctionType(
        own.__code__, names, own.__name__, own.__defaults__, own.__closure__
    )
    init.__kwdefaults__ = own.__kwdefaults__
    return type(
        async_llm.__name__, (async_llm,), {"__init__": init, "__module__": __name__}
    )


class EngineStart:
    """How an engine is made around its processes, which takes a moment.

    Args:
        core: The processes, ready to generate; ``shutdown()`` of the engine ends them.
        vllm_config: Their configuration.
        renderer: The renderer the engine shall use; ``shutdown()`` of the engine shuts
            it down too.
        log_requests: Whether vLLM logs each request's id.
        log_stats: Whether vLLM keeps and logs statistics.
        aggregate_logging: Whether it logs one line for all ranks of data parallelism.
        sharing: Who else uses it.
    """

    def __init__(  # noqa: PLR0913  # what vLLM takes
        self,
        *,
        core: EngineCore,
        vllm_config: Any,
        renderer: Any,
        log_requests: bool = False,
        log_stats: bool = True,
        aggregate_logging: bool = False,
        sharing: EngineSharing = ALONE,
    ) -> None:
        self._core = core
        self._vllm_config = vllm_config
        self._renderer = renderer
        self._sharing = sharing
        self._options = {
            "usage_context": vllm_api.UsageContext.OPENAI_API_SERVER,
            "enable_log_requests": log_requests,
            "disable_log_stats": not log_stats,
            "aggregate_engine_logging": aggregate_logging,
        }

    def run(self) -> Any:
        """Construct the engine."""
        async_llm = _with(vllm_api.AsyncLLM, self._renderer, self._core.client)
        model_name = self._vllm_config.model_config.served_model_name
        with _registration:
            keep_metrics()
            engine = async_llm.from_vllm_config(
                self._vllm_config, **self._options, **self._sharing.as_client
            )
            if self._sharing.n_clients > 1:
                note_when_heard(engine)
            engine.vllm_di_metrics = take_metrics(model_name)
        engine.vllm_di_core = self._core
        engine.vllm_di_places = self._core.places
        return engine


async def start_engine(start: EngineStart) -> Any:
    """Run an engine's start in a thread and return the engine.

    Cancelled, it waits until the thread has ended, so no half-made engine is left.
    """
    construction = asyncio.ensure_future(asyncio.to_thread(start.run))
    try:
        engine = await asyncio.shield(construction)
    except asyncio.CancelledError:
        await _abandon(construction)
        raise
    # Without it an engine that dies before its first request still says is_running.
    engine._run_output_handler()  # noqa: SLF001  # vLLM starts it so inside a loop
    return engine


async def _abandon(construction: asyncio.Future[Any]) -> None:
    while not construction.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([construction])
    if construction.cancelled() or construction.exception() is not None:
        return
    await stop_engine(construction.result())


async def stop_engine(engine: Any) -> None:
    """Shut an engine down with its renderer; when it returns, its processes are gone.

    Its reader goes first: it would take the end of the engine's process for a crash
    and log it. Requests still in flight then end with vLLM's ``EngineDeadError``.
    """
    reader = engine.output_handler
    if reader is not None:
        reader.cancel()
        await asyncio.wait([reader])
        engine.output_handler = None
        engine.output_processor.propagate_error(vllm_api.EngineDeadError())
    await asyncio.to_thread(_shut_down, engine)


def _shut_down(engine: Any) -> None:
    engine.vllm_di_metrics.discard()
    engine.shutdown(timeout=SHUTDOWN_TIMEOUT_S)
    engine.vllm_di_core.end()
