"""Server processes: started, waited for, stopped, and searched for what they left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml

CONFIG = Path(__file__).parents[2] / "config.yaml"
MODELS: list[dict[str, Any]] = yaml.safe_load(CONFIG.read_text())["models"]
CHAT, POOLING = MODELS
START_TIMEOUT_S = 240.0
STOP_TIMEOUT_S = 40.0
LEAVE_TIMEOUT_S = 60.0
"""Seconds to leave on a machine that swaps; elsewhere a tenth of one will do."""

_LOOK_S = 0.1
TRACKER = "from multiprocessing.resource_tracker import main"


class Server:
    """A server process in a session of its own, so that its offspring can be found.

    Args:
        command: Command line.
        log: File for what it prints.
        url: Where it will listen, if it is to be waited for.
        cpu: The one CPU its engine computes on. Servers that are compared must
            compute with as many threads; those that run at once, on CPUs of their own.
    """

    def __init__(
        self, command: Sequence[str], log: Path, *, url: str = "", cpu: int = 0
    ) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        environment = {"VLLM_CPU_OMP_THREADS_BIND": str(cpus[cpu % len(cpus)])}
        self.url = url
        self._log = log
        self._client = httpx.Client(base_url=url)
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | environment,
            )

    @property
    def log(self) -> str:
        """What it has printed so far."""
        return self._log.read_text(errors="replace")

    def wait_until_ready(self) -> str:
        """Wait until it is healthy and return its base URL."""
        self.wait_for(lambda: self.health() == httpx.codes.OK)
        return self.url

    def health(self) -> int | None:
        """Status of its health, or ``None`` while nobody answers."""
        try:
            return self._client.get("/health").status_code
        except httpx.TransportError:
            return None

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, while the process lives."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not condition():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(_LOOK_S)

    def stop(self) -> int:
        """Send SIGTERM and return the exit status, negative if a signal ended it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process; what it leaves behind is for ``left_behind`` to find."""
        self.process.kill()
        self.process.wait()
        self._client.close()

    def children(self) -> list[psutil.Process]:
        """Living processes of its session, itself excepted."""
        return [
            process
            for process in psutil.process_iter()
            if process.pid != self.process.pid and _lives_in(self.process.pid, process)
        ]

    def left_behind(self, within_s: float = LEAVE_TIMEOUT_S) -> list[str]:
        """Processes that outlived it, after a while to leave; they are killed.

        Not told of: multiprocessing's resource tracker, which holds nothing and ends
        when all it keeps the books of are gone.
        """
        deadline = time.monotonic() + within_s
        while (left := self.children()) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        told = [each for each in map(_described, left) if TRACKER not in each]
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return told


def serve(folder: Path, *, port: int | None = None, **sections: object) -> Server:
    """``vllm-di serve`` with the repository's ``config.yaml``, on another port.

    Args:
        folder: Where its config and log go.
        port: Port to listen on; a free one by default.
        sections: Top-level sections of the config that are to be others.
    """
    port = port or free_port()
    config = yaml.safe_load(CONFIG.read_text()) | sections
    config["server"]["port"] = port
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "app", "serve", "--config", str(path)]
    return Server(command, folder / "serve.log", url=f"http://127.0.0.1:{port}")


def serve_stock(folder: Path, model_folder: str, model: dict[str, Any]) -> Server:
    """vLLM's own server of one model.

    Args:
        folder: Where its log goes.
        model_folder: The model.
        model: Its entry in a config of ours, for name and engine arguments.
    """
    port = free_port()
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.launchers.api_server.entry"),
        *("--model", model_folder, "--served-model-name", model["name"]),
        *("--host", "127.0.0.1", "--port", str(port)),
        *_as_options(model["engine"]),
    ]
    url = f"http://127.0.0.1:{port}"
    return Server(command, folder / "stock.log", url=url, cpu=1)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _as_options(arguments: dict[str, object]) -> list[str]:
    options: list[str] = []
    for name, value in arguments.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            options.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            options += [f"--{flag}", str(value)]
    return options


def _lives_in(session: int, process: psutil.Process) -> bool:
    try:
        is_zombie = process.status() == psutil.STATUS_ZOMBIE
        return os.getsid(process.pid) == session and not is_zombie
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def _described(process: psutil.Process) -> str:
    """What a process is and what it waits for, as the text of a failed assertion."""
    try:
        seconds = sum(process.cpu_times()[:2])
        open_files = [
            str(each.readlink())
            for each in Path(f"/proc/{process.pid}/fd").iterdir()
            if each.is_symlink()
        ]
        return (
            f"{process.pid}, child of {process.ppid()}, {process.status()} after "
            f"{time.time() - process.create_time():.0f} s of which {seconds:.1f} s "
            f"computing: {' '.join(process.cmdline())[:300]}; has {open_files}"
        )
    except (psutil.Error, OSError) as error:
        return f"{process.pid}, about to end: {error}"
