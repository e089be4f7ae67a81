"""What the fork server's process does: import, then fork on request.

It has one thread, no handler of a signal, and nothing to clean up: it is ended with
SIGKILL, or by the kernel the moment the process that started it is gone.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import pickle
import selectors
import signal
import socket
import sys
from contextlib import suppress
from multiprocessing import forkserver, resource_tracker, spawn
from typing import NamedTuple, NoReturn

from containers.vllm_api.forkserver.circumstances import OUTPUTS, Circumstances
from containers.vllm_api.forkserver.openmp import follow_variables
from containers.vllm_api.forkserver.preloads import WHILE_IMPORTING, Preloads
from containers.vllm_api.forkserver.request import (
    Introduction,
    Request,
    tell,
    unpacked,
)
from containers.vllm_api.forkserver.torch_build import initialised_accelerator

TITLE = "vllm-di fork server"


class Child(NamedTuple):
    """A process this one has forked.

    Attributes:
        pid: Its number.
        handle: Its pidfd.
        reply: Where its exit code is awaited.
    """

    pid: int
    handle: int
    reply: socket.socket

    def reap(self) -> None:
        """Tell its exit code, now that it has ended."""
        _, status = os.waitpid(self.pid, 0)
        tell(self.reply, os.waitstatus_to_exitcode(status))
        self.close()

    def close(self) -> None:
        """Forget it."""
        self.reply.close()
        os.close(self.handle)


def main(requests: int, alive: int, introduction: int, preloads: Preloads) -> None:
    """Import modules, introduce this process and fork on request.

    Args:
        requests: Socket that requests come from.
        alive: Read end of a pipe whose write end the starting process holds.
        introduction: Write end of a pipe for an :class:`Introduction`.
        preloads: The modules.
    """
    end_with(alive)
    usual = gc.get_threshold()
    gc.set_threshold(*WHILE_IMPORTING)
    trouble = _imported(preloads)
    # What is there now never becomes garbage, and a collection in a child would copy
    # every page it is on.
    gc.freeze()
    gc.set_threshold(*usual)
    with os.fdopen(introduction, "wb") as pipe:
        pickle.dump(Introduction(dict(os.environ), trouble), pipe)
    if not trouble:
        Server(socket.socket(fileno=requests), alive).serve()


def end_with(alive: int) -> None:
    """End as soon as the pipe's other end is closed, in the middle of an import too.

    The kernel then sends SIGIO, whose default is to end a process.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(alive, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(alive, fcntl.F_GETFL)
    fcntl.fcntl(alive, fcntl.F_SETFL, flags | os.O_ASYNC)
    poller = selectors.SelectSelector()
    poller.register(alive, selectors.EVENT_READ)
    if poller.select(timeout=0):
        os._exit(0)


def _imported(preloads: Preloads) -> str:
    with suppress(ImportError):
        from setproctitle import setproctitle

        setproctitle(TITLE)
    try:
        preloads.load()
        return _accelerator_in_use()
    except Exception as error:  # noqa: BLE001  # whatever it is, it is told
        return f"{type(error).__name__}: {error}"


def _accelerator_in_use() -> str:
    device = initialised_accelerator()
    return f"its imports have initialised {device}" if device else ""


class Server:
    """Forks a child for each request, and tells its exit code.

    Args:
        requests: Socket that requests come from.
        alive: Pipe that no child shall keep.
    """

    def __init__(self, requests: socket.socket, alive: int) -> None:
        self._requests = requests
        self._alive = alive
        self._children: set[Child] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)
        self._at_load = dict(os.environ)

    def serve(self) -> None:
        """Serve until nobody is left who could ask."""
        while True:
            for key, _ in self._selector.select():
                if isinstance(key.data, Child):
                    self._selector.unregister(key.fd)
                    self._children.remove(key.data)
                    key.data.reap()
                elif (request := Request.receive(self._requests)) is None:
                    return
                else:
                    self._fork(request)

    def _fork(self, request: Request) -> None:
        pid = os.fork()
        if pid == 0:
            self._become(request)
        reply = socket.socket(fileno=os.dup(request.reply))
        request.close()
        child = Child(pid, os.pidfd_open(pid), reply)
        self._children.add(child)
        self._selector.register(child.handle, selectors.EVENT_READ, child)
        tell(reply, pid, [child.handle])

    def _become(self, request: Request) -> NoReturn:
        code = 1
        try:
            self._leave()
            code = run(request, self._at_load)
        except Exception:  # noqa: BLE001  # a process ends here, not a function
            sys.excepthook(*sys.exc_info())
        finally:
            with suppress(Exception):
                atexit._run_exitfuncs()  # noqa: SLF001  # as a process of its own would
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            os._exit(code)

    def _leave(self) -> None:
        """Give up what belongs to the server."""
        self._selector.close()
        self._requests.close()
        os.close(self._alive)
        for child in self._children:
            child.close()


def run(request: Request, at_load: dict[str, str]) -> int:
    """Live as a process that was spawned; returns its exit code.

    Args:
        request: What this process was forked for.
        at_load: Environment in which its libraries were loaded.
    """
    os.close(request.reply)
    circumstances = unpacked(request.payload)
    circumstances.take_on(request.outputs)
    for output in {*request.outputs} - {*OUTPUTS}:
        os.close(output)
    _settle(circumstances, request, at_load)
    _spread_processes(request.server)
    sentinel = os.dup(request.payload)
    code: int = spawn._main(request.payload, sentinel)  # noqa: SLF001  # what a spawned process runs
    return code


def _settle(
    circumstances: Circumstances, request: Request, at_load: dict[str, str]
) -> None:
    follow_variables(circumstances.environment, at_load)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # or all forks would draw the same numbers
    resource_tracker._resource_tracker._fd = request.tracker  # type: ignore[attr-defined]  # noqa: SLF001  # as multiprocessing's own fork server does
    forkserver._forkserver._inherited_fds = list(request.inherited)  # type: ignore[attr-defined]  # noqa: SLF001  # as above


def _spread_processes(server: int) -> None:
    """Let processes that vLLM starts in this one come from the same server."""
    from containers.vllm_api.forkserver.asker import Asker
    from containers.vllm_api.forkserver.process import ForkContext
    from containers.vllm_api.forkserver.seams import everywhere

    everywhere(ForkContext(Asker(socket.socket(fileno=server))))
