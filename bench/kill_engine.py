"""Kills a served engine's processes in turn and prints what clients saw.

    python -m bench.kill_engine [N]

Each round starts ``vllm-di serve``, lets eight clients stream, kills the engine core
or a worker with SIGKILL, and waits for the server's end.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from tests.engine.servers import serve
from tests.engine.test_engine_death import N_STREAMS, Streams, engine_process

VICTIMS = ("VLLM::EngineCore", "VLLM::Worker")


@dataclass
class Round:
    """What one kill looked like from outside."""

    victim: str
    n_error_events: int = 0
    n_done: int = 0
    last_event_s: float = 0.0
    unready_s: float | None = None
    ended_s: float = 0.0
    status: int = 0
    left: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One row of the table."""
        unready = "refused" if self.unready_s is None else f"{self.unready_s:.2f} s"
        return (
            f"{self.victim:17} error events {self.n_error_events}/{N_STREAMS}, "
            f"[DONE] {self.n_done}/{N_STREAMS}, "
            f"streams ended {self.last_event_s:.2f} s, "
            f"readyz 503 {unready}, process ended {self.ended_s:.2f} s, "
            f"status {self.status}, left {self.left or 'nothing'}"
        )


def play(victim: str, folder: Path) -> Round:
    """Start, stream, kill, and watch the end."""
    outcome = Round(victim)
    server = serve(folder)
    try:
        url = server.wait_until_ready()
        streams = Streams(url, N_STREAMS)
        server.wait_for(lambda: streams.n_reading == N_STREAMS)
        engine_process(server, victim).kill()
        killed = time.monotonic()
        watcher = threading.Thread(target=_watch_readiness, args=(url, outcome, killed))
        watcher.start()
        streams.join()
        outcome.last_event_s = time.monotonic() - killed
        outcome.n_error_events = sum('"error"' in end[0] for end in streams.ends)
        outcome.n_done = sum(end[-1] == "[DONE]" for end in streams.ends)
        outcome.status = server.process.wait(60)
        outcome.ended_s = time.monotonic() - killed
        watcher.join()
    finally:
        server.kill()
        outcome.left = server.left_behind()
    return outcome


def _watch_readiness(url: str, outcome: Round, killed: float) -> None:
    for _ in range(500):
        try:
            if httpx.get(f"{url}/readyz", timeout=2).status_code != httpx.codes.OK:
                outcome.unready_s = time.monotonic() - killed
                return
        except httpx.TransportError:
            return
        time.sleep(0.01)


def _state() -> str:
    me = psutil.Process()
    return (
        f"{len(psutil.pids())} processes, {me.num_threads()} threads and "
        f"{me.num_fds()} file descriptors here, "
        f"{len(list(Path('/dev/shm').iterdir()))} files in /dev/shm"  # noqa: S108  # counted
    )


def main() -> None:
    """Play all rounds and print a line for each."""
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print("before:", _state())
    for number in range(n_rounds):
        with tempfile.TemporaryDirectory() as folder:
            outcome = play(VICTIMS[number % len(VICTIMS)], Path(folder))
        print(f"{number + 1:2} {outcome.line()}", flush=True)
    print("after: ", _state())


if __name__ == "__main__":
    main()
