"""A fork server as seen by the process that starts it."""

from __future__ import annotations

import os
import pickle
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from containers.vllm_api.forkserver.asker import Asker
from containers.vllm_api.forkserver.environment import (
    outdated,
    starting_environment,
)
from containers.vllm_api.forkserver.preloads import Preloads
from containers.vllm_api.forkserver.request import (
    Introduction,
)

LOOK_S = 0.1
"""Seconds between two looks at whether the wait for a server is given up."""

COMMAND = (
    "import sys; sys.path[:] = {path!r}; "
    "from containers.vllm_api.forkserver.server import main; "
    "from containers.vllm_api.forkserver.preloads import Preloads; "
    "main({requests}, {alive}, {introduction}, {preloads!r})"
)


class ForkServer(Asker):
    """A fork server that this process has started and will stop.

    It begins to import at once; nothing waits for that but :meth:`wait_until_ready`.
    When this process ends, in whatever way, so does the server.

    Args:
        preloads: What it imports.
        on_cpu: Whether its engines will run on the CPU.
    """

    def __init__(self, preloads: Preloads, *, on_cpu: bool) -> None:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(near)
        self._introduction: Introduction | None = None
        self._introducing, introduction = os.pipe()
        alive, self._alive = os.pipe()
        self._ready = threading.Lock()
        command = COMMAND.format(
            path=sys.path,
            requests=far.fileno(),
            alive=alive,
            introduction=introduction,
            preloads=preloads,
        )
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001  # as multiprocessing does
        try:
            self.process = subprocess.Popen(  # noqa: S603  # our own command
                [sys.executable, *flags, "-c", command],
                stdin=subprocess.DEVNULL,
                env=starting_environment(on_cpu=on_cpu),
                pass_fds=(far.fileno(), alive, introduction),
                process_group=0,  # Ctrl-C is for the process that stops it
            )
        finally:
            far.close()
            os.close(alive)
            os.close(introduction)

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        return self.process.poll() is None

    def wait_until_ready(self, heed: Callable[[], None] = lambda: None) -> str:
        """Wait until it can fork.

        Args:
            heed: Called several times a second; the wait ends with what it raises.

        Returns:
            Why it cannot fork, or an empty string.
        """
        with self._ready:
            if self._introduction is None:
                while not select.select([self._introducing], [], [], LOOK_S)[0]:
                    heed()
                self._introduction = self._read_introduction()
            return self._introduction.trouble

    def _read_introduction(self) -> Introduction:
        with os.fdopen(os.dup(self._introducing), "rb") as pipe:
            content = pipe.read()
        if not content:
            status = self.process.wait()
            return Introduction({}, f"its process ended with status {status}")
        introduction = pickle.loads(content)  # noqa: S301  # from our own child
        assert isinstance(introduction, Introduction)  # noqa: S101  # what it sends
        return introduction

    def outdated(self) -> list[str]:
        """Variables of this process that the server has read with another value."""
        if self._introduction is None:
            return []
        return outdated(self._introduction.environment, os.environ)

    def stop(self) -> None:
        """End it; processes it has forked are not touched. A second call does nothing.

        Nobody may be waiting for it any more.
        """
        if self._alive < 0:
            return
        # It has nothing to tidy up, and may be in the middle of an import.
        self.process.kill()
        self.process.wait()
        os.close(self._alive)
        os.close(self._introducing)
        self._alive = self._introducing = -1
        self._requests.close()
