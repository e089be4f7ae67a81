"""A start method of multiprocessing that looks like ``spawn`` and forks a server."""

from __future__ import annotations

import io
import os
import signal
from contextlib import suppress
from multiprocessing import popen_forkserver, reduction, spawn, util
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess, set_spawning_popen
from multiprocessing.process import BaseProcess
from typing import Any

from containers.vllm_api.forkserver.asker import Asker
from containers.vllm_api.forkserver.circumstances import Circumstances
from containers.vllm_api.forkserver.request import LOST, packed

EXIT_CODE_WITHIN_S = 5.0
"""Seconds a server has to tell the exit code of a process that has ended."""


class ForkPopen(popen_forkserver.Popen):
    """A running process of a fork server.

    Its sentinel is a handle of the process itself, so its end shows, and signals reach
    it, whatever has become of the server.
    """

    def _launch(self, process_obj: Any) -> None:
        content = self._content(process_obj)
        child = process_obj.asker.fork(self._fds)  # type: ignore[attr-defined]  # missing in the stubs
        self.pid, self.sentinel, self._reply = child.pid, child.handle, child.reply
        keep = os.dup(child.payload)
        self.finalizer = util.Finalize(
            self,
            util.close_fds,  # type: ignore[attr-defined]  # missing in the stubs
            (keep, child.handle, child.reply),
        )
        with open(child.payload, "wb") as pipe:  # noqa: PTH123  # a descriptor
            pipe.write(packed(Circumstances.here()))
            pipe.write(content)

    def _content(self, process_obj: Any) -> memoryview:
        buffer = io.BytesIO()
        preparation = spawn.get_preparation_data(process_obj.name)
        set_spawning_popen(self)
        try:
            reduction.dump(preparation, buffer)
            reduction.dump(process_obj, buffer)
        finally:
            set_spawning_popen(None)
        return buffer.getbuffer()

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        """Exit code, negative for a signal, or ``None`` while the process runs."""
        if self.returncode is None:
            if not wait([self.sentinel], 0 if flag == os.WNOHANG else None):
                return None
            told = wait([self._reply], EXIT_CODE_WITHIN_S)
            self.returncode = Asker.hear(self._reply) if told else LOST
        return self.returncode

    def _send_signal(self, sig: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.sentinel, sig)


class ForkProcess(SpawnProcess):
    """A process that a fork server makes.

    Args:
        asker: Who asks the server; stays behind when the process object travels.
        options: Those of ``multiprocessing.Process``.
    """

    def __init__(self, asker: Asker, **options: Any) -> None:
        super().__init__(**options)
        self.asker = asker

    def __getstate__(self) -> dict[str, Any]:
        """All but the asker."""
        return {name: value for name, value in vars(self).items() if name != "asker"}

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802  # multiprocessing's name
        return ForkPopen(process_obj)


class ForkContext(SpawnContext):
    """A context of multiprocessing whose processes a fork server makes.

    Args:
        asker: Who asks the server.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def Process(  # type: ignore[override]  # noqa: N802  # a class in multiprocessing
        self, *, daemon: bool | None = None, **options: Any
    ) -> ForkProcess:
        """A process that has not been started."""
        return ForkProcess(self._asker, daemon=daemon, **options)
