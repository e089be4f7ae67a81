"""vLLM's asynchronous engine around an injected renderer, started so it can be stopped.

``AsyncLLM.__init__`` blocks for seconds to minutes while its engine-core process
imports vLLM and loads the weights. It runs in a thread; to give up on it means to kill
that process, upon which the constructor raises and vLLM cleans up after itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import threading
from multiprocessing.process import BaseProcess
from types import FunctionType
from typing import Any

from containers import vllm_api
from containers.vllm_api.cpu_share import WHOLE, CpuShare
from containers.vllm_api.engine_processes import EngineProcesses
from containers.vllm_api.engine_sockets import EngineSockets
from containers.vllm_api.metrics import keep_metrics, take_metrics
from containers.vllm_api.parent_watch import attach_watch
from containers.vllm_api.sharing import ALONE, EngineSharing
from containers.vllm_api.statistics import note_when_heard
from containers.vllm_api.tokenizer_ahead import attach_tokenizer_ahead

SHUTDOWN_TIMEOUT_S = 15.0
"""Seconds an engine's processes have to end by themselves: with vLLM's default of 5 a
busy machine kills many a healthy one, which leaks its shared memory.
"""

TURN_S = 0.1
"""Seconds between two looks at whether a start that waits for its turn is given up."""

_construction = threading.Lock()


def _with_renderer(async_llm: type[Any], renderer: Any) -> type[Any]:
    """Subclass of ``AsyncLLM`` whose constructor takes this renderer, makes none.

    The constructor's code is vLLM's own; only the name ``renderer_from_config`` means
    something else to it. Nothing global changes: a plain ``AsyncLLM`` beside it is
    what it was.

    Source:
        vllm/v1/engine/async_llm.py ``AsyncLLM.__init__`` (0.32.0).
    """

    def renderer_from_config(*_: Any, **__: Any) -> Any:
        return renderer

    own = async_llm.__init__
    names = {**own.__globals__, renderer_from_config.__name__: renderer_from_config}
    init = FunctionType(
        own.__code__, names, own.__name__, own.__defaults__, own.__closure__
    )
    init.__kwdefaults__ = own.__kwdefaults__
    return type(
        async_llm.__name__, (async_llm,), {"__init__": init, "__module__": __name__}
    )


class EngineStart:
    """One attempt to start an engine, which can be given up at any time.

    Engines start one at a time in a process: the CPU build reads settings from the
    environment while it starts, and the processes of this attempt must be told from
    those of others.

    Args:
        vllm_config: A fresh configuration, for this engine alone.
        renderer: The renderer the engine shall use; ``shutdown()`` of the engine shuts
            it down too.
        log_requests: Whether vLLM logs each request's id.
        log_stats: Whether vLLM keeps and logs statistics.
        aggregate_logging: Whether it logs one line for all ranks of data parallelism.
        processes: Where its processes come from; vLLM starts them if nothing is given.
        cpu_share: Its part of the cores, if it computes on the CPU.
        sharing: Who else uses it. Where it is another process', it is not started: this
            becomes a client of it.
    """

    def __init__(  # noqa: PLR0913  # what vLLM takes, and where it runs
        self,
        *,
        vllm_config: Any,
        renderer: Any,
        log_requests: bool = False,
        log_stats: bool = True,
        aggregate_logging: bool = False,
        processes: EngineProcesses | None = None,
        cpu_share: CpuShare = WHOLE,
        sharing: EngineSharing = ALONE,
    ) -> None:
        self._vllm_config = vllm_config
        self._renderer = renderer
        self._processes = processes or EngineProcesses(fast_start=False)
        self._cpu_share = cpu_share
        self._sharing = sharing
        self._options = {
            "usage_context": vllm_api.UsageContext.OPENAI_API_SERVER,
            "enable_log_requests": log_requests,
            "disable_log_stats": not log_stats,
            "aggregate_engine_logging": aggregate_logging,
        }
        self._given_up = threading.Event()
        self._before: set[BaseProcess] | None = None

    def run(self) -> Any:
        """Construct the engine; blocks until it is ready to generate.

        Raises:
            RuntimeError: The engine-core process failed (its log has the cause), or
                the attempt was given up.
        """
        while not _construction.acquire(timeout=TURN_S):
            self._raise_if_given_up()
        try:
            self._raise_if_given_up()
            if self._sharing.place is not None:
                return self._attach()
            with self._processes.for_engine(
                self._vllm_config, heed=self._raise_if_given_up
            ):
                return self._construct()
        finally:
            _construction.release()

    def _raise_if_given_up(self) -> None:
        if self._given_up.is_set():
            raise RuntimeError("the start of the engine was given up")

    def _construct(self) -> Any:
        self._before = before = set(multiprocessing.active_children())
        attach_watch(self._vllm_config)
        attach_tokenizer_ahead(self._vllm_config)
        try:
            with (
                EngineSockets(self._vllm_config) as sockets,
                self._cpu_share.taken(self._vllm_config),
                self._sharing.offered() as places,
            ):
                engine = self._client()
        finally:
            self._before = None
        engine.vllm_di_processes = _engine_processes(but_not=before)
        engine.vllm_di_sockets = sockets
        engine.vllm_di_places = places
        return engine

    def _attach(self) -> Any:
        """Become a client of an engine that another process has started, and ends."""
        engine = self._client()
        engine.vllm_di_processes = []
        engine.vllm_di_sockets = EngineSockets(self._vllm_config)
        return engine

    def _client(self) -> Any:
        keep_metrics()
        async_llm = _with_renderer(vllm_api.AsyncLLM, self._renderer)
        engine = async_llm.from_vllm_config(
            self._vllm_config, **self._options, **self._sharing.as_client
        )
        if self._sharing.n_clients > 1:
            note_when_heard(engine)
        model_name = self._vllm_config.model_config.served_model_name
        engine.vllm_di_metrics = take_metrics(model_name)
        return engine

    def give_up(self) -> None:
        """Kill the processes of this attempt; ``run`` then raises soon."""
        self._given_up.set()
        before = self._before
        if before is None:
            return
        for process in _engine_processes(but_not=before):
            process.kill()


def _engine_processes(*, but_not: set[BaseProcess]) -> list[BaseProcess]:
    return [
        process
        for process in multiprocessing.active_children()
        if process not in but_not and process.name.startswith("EngineCore")
    ]


async def start_engine(start: EngineStart) -> Any:
    """Run an engine's start in a thread and return the engine.

    Cancelled, it gives the start up and waits until its thread has ended, so no
    process and no half-made engine is left behind.
    """
    construction = asyncio.ensure_future(asyncio.to_thread(start.run))
    try:
        engine = await asyncio.shield(construction)
    except asyncio.CancelledError:
        await _abandon(start, construction)
        raise
    # Without it an engine that dies before its first request still says is_running.
    engine._run_output_handler()  # noqa: SLF001  # vLLM starts it so inside a loop
    return engine


async def _abandon(start: EngineStart, construction: asyncio.Future[Any]) -> None:
    while not construction.done():
        start.give_up()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([construction], timeout=0.1)
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
    # vLLM kills what is still there after the timeout, and does not wait for it.
    for process in engine.vllm_di_processes:
        process.join(SHUTDOWN_TIMEOUT_S)
    engine.vllm_di_sockets.remove()
