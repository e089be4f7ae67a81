"""Where the processes of engines come from: a fork server, or vLLM itself.

One fork server serves all engines of this process, at once and one after the other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from containers.vllm_api.forkserver.choice import (
    SETTING,
    FastStart,
    reason_before_start,
    reason_for,
)
from containers.vllm_api.forkserver.client import ForkServer
from containers.vllm_api.forkserver.preloads import CPU_ENGINE, ENGINE
from containers.vllm_api.forkserver.process import ForkContext
from containers.vllm_api.forkserver.seams import in_this_thread
from containers.vllm_api.forkserver.torch_build import accelerator

logger = logging.getLogger(__name__)


class ForkServers:
    """The fork servers of this process: one that is used, and those it replaced.

    It is started for the first who takes it and stopped when the last gives it back.
    A server that has been replaced lives on for the engines it has made.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: list[ForkServer] = []
        self._n_takers = 0

    def take(self) -> None:
        """Have a server, from now on until :meth:`give_back`."""
        with self._lock:
            if not self._servers:
                self._servers.append(self._new())
            self._n_takers += 1

    def give_back(self) -> None:
        """Need it no more."""
        with self._lock:
            self._n_takers -= 1
            if self._n_takers == 0:
                for server in self._servers:
                    server.stop()
                self._servers.clear()

    def ready(self, heed: Callable[[], None]) -> tuple[ForkServer, str]:
        """A server whose processes are as if spawned now, or why there is none.

        Args:
            heed: Called several times a second; the wait ends with what it raises.
        """
        server = self._servers[-1]
        trouble = server.wait_until_ready(heed)
        changed = server.outdated()
        if trouble or (server.is_alive and not changed):
            return server, trouble
        cause = f"{', '.join(changed)} changed" if changed else "it has died"
        logger.info("the fork server is started anew: %s", cause)
        with self._lock:
            server = self._new()
            self._servers.append(server)
        return server, server.wait_until_ready(heed)

    @staticmethod
    def _new() -> ForkServer:
        if accelerator():
            return ForkServer(ENGINE, on_cpu=False)
        return ForkServer(CPU_ENGINE, on_cpu=True)


_servers = ForkServers()
_told: set[str] = set()


class EngineProcesses:
    """How engines of one container, or app, get their processes.

    Args:
        fast_start: Whether to fork them from a server that has imported vLLM already:
            ``auto`` does so where it is known to be safe, which is on the CPU.

    Attributes:
        reason: Why vLLM's own method is used for all of them, or an empty string.
    """

    def __init__(self, *, fast_start: FastStart = "auto") -> None:
        self._fast_start = fast_start
        self.reason = reason_before_start(fast_start)

    @contextmanager
    def held(self) -> Iterator[EngineProcesses]:
        """Have the fork server at hand; it imports vLLM in the background."""
        if self.reason:
            yield self
            return
        _servers.take()
        try:
            yield self
        finally:
            _servers.give_back()

    def for_engine(
        self, vllm_config: Any, *, heed: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Let the engine started within come from the chosen source.

        Args:
            vllm_config: The engine's configuration.
            heed: Called several times a second while the fork server is not ready; the
                wait ends with what it raises.
        """
        reason = self.reason or reason_for(vllm_config, self._fast_start)
        if not reason:
            server, trouble = _servers.ready(heed)
            if not trouble:
                _tell(logging.INFO, "engine processes are forked from a server")
                return in_this_thread(ForkContext(server))
            reason = f"the fork server cannot fork: {trouble}"
        is_by_setting = SETTING in reason
        level = logging.INFO if is_by_setting else logging.WARNING
        _tell(level, f"engine processes are started by vLLM's own method: {reason}")
        return nullcontext()


def _tell(level: int, text: str) -> None:
    if text not in _told:
        _told.add(text)
        logger.log(level, text)
