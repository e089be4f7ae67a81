"""The end of ``vllm-di serve --ray``, which has its cluster to itself."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from threading import Event, Thread

import httpx
import psutil
import pytest

from tests.ray.cluster import Cluster, client, cluster, doubles, left_of
from tests.ray.doubles import N_SLOW, SLOW

pytestmark = [
    pytest.mark.engine,
    pytest.mark.soak,
    pytest.mark.timeout(400),
    pytest.mark.xdist_group("ray"),
]


def lines_of(asking: httpx.Client, lines: list[str], begun: Event) -> None:
    """Gather the lines of a stream that takes ten seconds."""
    body = {"messages": [{"role": "user", "content": SLOW}], "stream": True}
    with asking.stream("POST", "/v1/chat/completions", json=body) as answer:
        for line in answer.iter_lines():
            lines.extend([line] if line else [])
            begun.set()


def test_a_stream_that_outlives_the_drain_ends_with_an_error_event(
    tmp_path: Path,
) -> None:
    lines: list[str] = []
    begun = Event()
    with cluster(tmp_path, doubles(tmp_path)) as served, client(served) as asking:
        thread = Thread(target=lines_of, args=(asking, lines, begun))
        thread.start()
        assert begun.wait(20)
        began = time.monotonic()
        served.process.send_signal(signal.SIGTERM)
        thread.join(30)
        seconds = time.monotonic() - began
    assert lines[-1] == "data: [DONE]"
    assert '"code":503' in lines[-2].replace(" ", "")
    assert len(lines) < N_SLOW
    assert 4 < seconds < 10


def test_one_that_is_told_to_end_before_it_is_ready_ends_as_well(
    tmp_path: Path,
) -> None:
    made = Cluster(tmp_path, doubles(tmp_path))
    offspring: list[psutil.Process] = []
    try:
        made.wait_for(lambda: bool(made.replicas()))  # which take seconds to load
        assert "ready" not in made.log
        offspring = psutil.Process(made.process.pid).children(recursive=True)
        assert made.stop() == 0, made.log
        assert "ready" not in made.log
    finally:
        made.kill()
        left = left_of(offspring)
    assert not left
