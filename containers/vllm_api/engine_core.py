"""The processes of an engine, and this process' client of them: started and ended.

vLLM starts them in the constructor of ``AsyncLLM``, after tokenizer and renderer. Its
client needs neither, and blocks for seconds to minutes while the engine-core process
imports vLLM and loads the weights. So it is made beside them, in a thread; to give up
on it means to kill that process, upon which vLLM raises and cleans up after itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import threading
from functools import cached_property
from multiprocessing.process import BaseProcess
from typing import Any

from containers import vllm_api
from containers.vllm_api.cpu_share import WHOLE, CpuShare
from containers.vllm_api.engine_processes import EngineProcesses
from containers.vllm_api.engine_sockets import EngineSockets
from containers.vllm_api.left_memory import give_back, shared_memory_of
from containers.vllm_api.parent_watch import attach_watch
from containers.vllm_api.sharing import ALONE, EngineSharing, Places
from containers.vllm_api.tokenizer_ahead import attach_tokenizer_ahead

logger = logging.getLogger(__name__)

SHUTDOWN_TIMEOUT_S = 15.0
"""Seconds an engine's processes have to end by themselves: with vLLM's default of 5 a
busy machine kills many a healthy one, which leaks its shared memory.
"""

TURN_S = 0.1
"""Seconds between two looks at whether a start that waits for its turn is given up."""

N_TRIES = 5
"""How often processes are begun with a configuration that changes meanwhile."""

CHANGED = "during iteration"
"""How Python's words end for what was changed in another thread while it was read."""

_construction = threading.Lock()


class EngineCore:
    """An engine's processes, from their start, which can be given up, to their end.

    They start one engine at a time in a process: the CPU build reads settings from the
    environment while it starts, and the processes of this attempt must be told from
    those of others.

    Args:
        vllm_config: A fresh configuration, for this engine alone.
        log_stats: Whether vLLM keeps and logs statistics.
        processes: Where its processes come from; vLLM starts them if nothing is given.
        cpu_share: Its part of the cores, if it computes on the CPU.
        sharing: Who else uses it. Where it is another process', it is not started: the
            client is one of that engine.

    Attributes:
        client: vLLM's client, or ``None`` as long as there is none.
        processes: The processes of the engine that this process has started.
        places: The places at which others may be clients of it.
    """

    def __init__(
        self,
        *,
        vllm_config: Any,
        log_stats: bool = True,
        processes: EngineProcesses | None = None,
        cpu_share: CpuShare = WHOLE,
        sharing: EngineSharing = ALONE,
    ) -> None:
        self.client: Any = None
        self.processes: list[BaseProcess] = []
        self.places = Places()
        self._vllm_config = vllm_config
        self._log_stats = log_stats
        self._source = processes or EngineProcesses(fast_start=False)
        self._cpu_share = cpu_share
        self._sharing = sharing
        self._sockets: EngineSockets | None = None
        self._given_up = threading.Event()
        self._memory: set[str] = set()
        self._before: set[BaseProcess] | None = None

    @property
    def follows_renderer(self) -> bool:
        """Whether it must not be started before there is a renderer.

        An engine opens the shared memory for images that the renderer has made, and
        what is forked off this process must not meet a thread that loads a tokenizer.

        Source:
            vllm/multimodal/cache/shm.py ``ShmObjectStoreSenderCache`` (0.32.0).
        """
        multimodal = self._vllm_config.model_config.multimodal_config
        is_shared = getattr(multimodal, "mm_processor_cache_type", None) == "shm"
        return is_shared or os.environ.get("VLLM_WORKER_MULTIPROC_METHOD") == "fork"

    async def start(self) -> None:
        """Have a client of processes that are ready; a second call does nothing.

        Cancelled, it gives the start up and waits until its thread has ended, so no
        process is left behind.

        Raises:
            RuntimeError: The engine-core process failed (its log has the cause).
        """
        if self.client is not None:
            return
        construction = asyncio.ensure_future(asyncio.to_thread(self.run))
        try:
            await asyncio.shield(construction)
        except asyncio.CancelledError:
            await self._abandon(construction)
            raise

    async def _abandon(self, construction: asyncio.Future[None]) -> None:
        while not construction.done():
            self.give_up()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([construction], timeout=0.1)
        give_back(self._memory)
        if construction.cancelled() or construction.exception() is not None:
            return
        await self.stop()

    async def stop(self) -> None:
        """End the processes, if they have not ended; when it returns, they are gone."""
        await asyncio.to_thread(self.end)

    def run(self) -> None:
        """Start them; blocks until they are ready to generate.

        Raises:
            RuntimeError: The engine-core process failed (its log has the cause), or
                the attempt was given up.
        """
        while not _construction.acquire(timeout=TURN_S):
            self._raise_if_given_up()
        try:
            self._raise_if_given_up()
            _prepare(self._vllm_config)
            if self._sharing.place is not None:
                self.client = self._new_client()
                return
            with self._source.for_engine(
                self._vllm_config, heed=self._raise_if_given_up
            ):
                self._construct_anyhow()
        finally:
            _construction.release()

    def _raise_if_given_up(self) -> None:
        if self._given_up.is_set():
            raise RuntimeError("the start of the engine was given up")

    def _construct_anyhow(self) -> None:
        """Begin again where the configuration changed while it was pickled.

        The renderer that is built meanwhile lets it remember what it has worked out.
        """
        for n_left in reversed(range(N_TRIES)):
            try:
                self._construct()
            except RuntimeError as error:
                if not (n_left and str(error).endswith(CHANGED)):
                    raise
                self._raise_if_given_up()
                logger.debug("engine processes are begun again: %s", error)
            else:
                return

    def _construct(self) -> None:
        self._before = before = set(multiprocessing.active_children())
        attach_watch(self._vllm_config)
        attach_tokenizer_ahead(self._vllm_config)
        try:
            with (
                EngineSockets(self._vllm_config) as sockets,
                self._cpu_share.taken(self._vllm_config),
                self._sharing.offered() as places,
            ):
                client = self._new_client()
        finally:
            self._before = None
        self.processes = _engine_processes(but_not=before)
        self._sockets, self.places = sockets, places
        self.client = client

    def _new_client(self) -> Any:
        """Make the client as the constructor of vLLM's engine does.

        Source:
            vllm/v1/engine/async_llm.py ``AsyncLLM.__init__`` (0.31.0 to 0.33.0).
        """
        has_loggers = bool(vllm_api.load_stat_logger_plugin_factories())
        return vllm_api.EngineCoreClient.make_async_mp_client(
            vllm_config=self._vllm_config,
            executor_class=vllm_api.Executor.get_class(self._vllm_config),
            log_stats=self._log_stats or has_loggers,
            **self._sharing.as_client,
        )

    def give_up(self) -> None:
        """Kill the processes of this attempt; ``run`` then raises soon."""
        self._given_up.set()
        before = self._before
        if before is None:
            return
        for process in _engine_processes(but_not=before):
            if process.pid is not None:
                self._memory |= shared_memory_of(process.pid)
            process.kill()

    def end(self) -> None:
        """End them and wait for it; does nothing where an engine has ended them."""
        if self.client is None:
            return
        self.client.shutdown(timeout=SHUTDOWN_TIMEOUT_S)
        # vLLM kills what is still there after the timeout, and does not wait for it.
        for process in self.processes:
            process.join(SHUTDOWN_TIMEOUT_S)
        if self._sockets is not None:
            self._sockets.remove()


def _prepare(vllm_config: Any) -> None:
    """Do what the constructor of vLLM's engine does before it starts processes.

    Source:
        vllm/v1/engine/async_llm.py ``AsyncLLM.__init__`` (0.31.0 to 0.33.0).
    """
    vllm_api.configure_logging_if_needed(vllm_config.logging_config)
    vllm_api.maybe_register_config_serialize_by_value()
    endpoint = vllm_config.observability_config.otlp_traces_endpoint
    if endpoint is not None:
        vllm_api.init_tracer("vllm.llm_engine", endpoint)
    _work_out(vllm_config.model_config)


def _work_out(config: Any) -> None:
    """Have a configuration remember now what it would while it is pickled."""
    for kind in type(config).__mro__:
        for name, attribute in vars(kind).items():
            if isinstance(attribute, cached_property):
                with contextlib.suppress(Exception):  # who asks for it will be told
                    getattr(config, name)


def _engine_processes(*, but_not: set[BaseProcess]) -> list[BaseProcess]:
    return [
        process
        for process in multiprocessing.active_children()
        if process not in but_not and process.name.startswith("EngineCore")
    ]
