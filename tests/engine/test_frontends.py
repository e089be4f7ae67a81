"""Several front ends over one engine, as ``vllm-di serve`` runs them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml

from tests.engine.corpus.sample import FRANCE
from tests.engine.servers import CHAT, Server, serve

pytestmark = [
    pytest.mark.engine,
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("front ends"),
]

KEY = "a-key-for-administrators"
ADMIN = {"Authorization": f"Bearer {KEY}"}
SERVES = re.compile(r"front end 1 serves \(process (\d+)\)")
MANY = 16
"""Connections of which each front end has some: none by chance once in 32,768 times."""
N_TOKENS = 300
REPLACED_S = 120.0


class FrontEnds:
    """A server with two front ends, the second of which is another process.

    Args:
        folder: Where its config and log go.
        server: More of its ``server`` settings.
    """

    def __init__(self, folder: Path, **server: object) -> None:
        engine = {**CHAT["engine"], "kv_cache_memory_bytes": 256 * 1024 * 1024}
        settings = {"frontends": 2, "admin_keys": [KEY], **server}
        self.config = folder / "config.yaml"
        self.server: Server = serve(
            folder, server=settings, models=[{**CHAT, "engine": engine}]
        )
        self.url = self.server.url

    def other(self, n: int = 1) -> int:
        """Process id of the second front end, once it was started so many times."""
        deadline = time.monotonic() + REPLACED_S
        while len(found := SERVES.findall(self.server.log)) < n:
            assert self.server.process.poll() is None, self.server.log
            assert time.monotonic() < deadline, self.server.log
            time.sleep(0.1)
        return int(found[n - 1])

    def ask(self, **more: Any) -> dict[str, Any]:
        """The answer to a question over a connection of its own."""
        body = {"messages": FRANCE, "max_tokens": 12, "temperature": 0, **more}
        answer = httpx.post(
            f"{self.url}/v1/chat/completions", json=body, headers=ADMIN, timeout=120
        )
        assert answer.is_success, answer.text
        content: dict[str, Any] = answer.json()
        return content

    def ask_many(self) -> list[dict[str, Any]]:
        """Answers to one question over many connections at once."""
        with ThreadPoolExecutor(MANY) as threads:
            return list(threads.map(lambda _: self.ask(), range(MANY)))

    def measured(self, name: str) -> float:
        """Sum of a metric's samples."""
        text = httpx.get(f"{self.url}/metrics", headers=ADMIN, timeout=30).text
        lines = [line for line in text.splitlines() if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def engine(self) -> list[int]:
        """Process ids of its engine."""
        return sorted(
            process.pid
            for process in self.server.children()
            if process.cmdline()[:1] and process.cmdline()[0].startswith("VLLM::")
        )


@pytest.fixture(scope="module")
def served(
    model_folder: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[FrontEnds, list[dict[str, Any]]]]:
    """The server, and what its first process answered before the other was there.

    In the end SIGTERM has to leave nothing.
    """
    sockets = tmp_path_factory.mktemp("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_RPC_BASE_PATH", str(sockets))
        front_ends = FrontEnds(tmp_path_factory.mktemp("front"), drain_timeout_s=1)
    server = front_ends.server
    try:
        server.wait_until_ready()
        alone = [front_ends.ask(max_tokens=n) for n in (1, 12, 40)]
        assert not SERVES.search(server.log), "it was not alone any more"
        front_ends.other()
        yield front_ends, alone
        shared = shared_memory(server)
        assert shared, "an engine shares memory with its worker"
        assert server.stop() == 0, server.log
    finally:
        server.kill()
        left = server.left_behind()
    assert not left
    assert not [*sockets.iterdir()]
    assert not [path for path in shared if path.exists()]


def shared_memory(server: Server) -> set[Path]:
    """Files of shared memory that its processes have mapped."""
    maps = [
        Path(f"/proc/{pid}/maps").read_text()
        for pid in (server.process.pid, *(each.pid for each in server.children()))
    ]
    return {
        path
        for line in "".join(maps).splitlines()
        if (path := Path(line.rpartition(" ")[2])).is_relative_to("/dev/shm")  # noqa: S108  # to look at
    }


def text_of(answer: dict[str, Any]) -> tuple[str, int]:
    (choice,) = answer["choices"]
    return choice["message"]["content"], answer["usage"]["prompt_tokens"]


def connections_of(pid: int) -> int:
    found = psutil.Process(pid).net_connections(kind="tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED for each in found)


def test_both_answer_as_one_process_does(
    served: tuple[FrontEnds, list[dict[str, Any]]],
) -> None:
    front_ends, alone = served
    asked = front_ends.measured("vllm:request_success_total")
    with ThreadPoolExecutor(MANY) as threads:
        for n, expected in zip((1, 12, 40), alone, strict=True):
            asking = [threads.submit(front_ends.ask, max_tokens=n) for _ in range(MANY)]
            answers = {text_of(each.result()) for each in asking}
            assert answers == {text_of(expected)}
    # Counted by both, and together right.
    assert front_ends.measured("vllm:request_success_total") == asked + 3 * MANY
    route = 'vllm_di_requests_total{method="POST",model_name="smollm2"'
    assert front_ends.measured(route) == asked + 3 * MANY


def test_a_reload_through_either_reaches_both(
    served: tuple[FrontEnds, list[dict[str, Any]]],
) -> None:
    front_ends, _ = served
    before = {text_of(each)[1] for each in front_ends.ask_many()}
    as_it_was = front_ends.config.read_text()
    config = yaml.safe_load(as_it_was)
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    config["models"][0]["chat"] = {"template": template}
    front_ends.config.write_text(yaml.safe_dump(config))
    for _ in range(MANY):  # through one, or the other
        url = f"{front_ends.url}/admin/reload"
        answer = httpx.post(url, headers=ADMIN, timeout=60)
        assert answer.is_success, answer.text
    after = {text_of(each)[1] for each in front_ends.ask_many()}
    front_ends.config.write_text(as_it_was)  # other tests may come after this one
    httpx.post(f"{front_ends.url}/admin/reload", headers=ADMIN, timeout=60)
    assert len(before) == len(after) == 1
    assert before != after
    assert {text_of(each)[1] for each in front_ends.ask_many()} == before


def test_each_forgets_images_through_the_one_engine(
    served: tuple[FrontEnds, list[dict[str, Any]]],
) -> None:
    front_ends, _ = served
    for _ in range(3):
        url = f"{front_ends.url}/reset_mm_cache"
        assert httpx.post(url, headers=ADMIN, timeout=60).is_success
    assert "told to reset_mm_cache" not in front_ends.server.log
    assert front_ends.ask()


def test_a_new_engine_is_refused_and_nothing_changes(
    served: tuple[FrontEnds, list[dict[str, Any]]],
) -> None:
    front_ends, _ = served
    old = front_ends.config.read_text()
    config = yaml.safe_load(old)
    config["models"][0]["engine"]["seed"] = 7
    front_ends.config.write_text(yaml.safe_dump(config))
    answer = httpx.post(f"{front_ends.url}/admin/reload", headers=ADMIN, timeout=60)
    front_ends.config.write_text(old)
    assert answer.status_code == httpx.codes.CONFLICT
    assert "models.0.engine" in answer.text
    assert front_ends.ask()


def streamed(front_ends: FrontEnds) -> tuple[int, bool]:
    """Tokens of a long stream, as it tells them, and whether it came to its end."""
    body = {
        "messages": FRANCE,
        "max_tokens": N_TOKENS,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    url, n, is_whole = f"{front_ends.url}/v1/chat/completions", 0, False
    try:
        with httpx.stream(
            "POST", url, json=body, headers=ADMIN, timeout=120
        ) as response:
            for line in response.iter_lines():
                is_whole |= line == "data: [DONE]"
                if line.startswith("data: {"):
                    event = json.loads(line[6:])
                    assert "error" not in event
                    n = (event.get("usage") or {}).get("completion_tokens", n)
    except httpx.TransportError:
        return n, False
    return n, is_whole


def test_the_streams_of_one_go_on_when_the_other_is_killed(
    served: tuple[FrontEnds, list[dict[str, Any]]],
) -> None:
    front_ends, _ = served
    engine, other = front_ends.engine(), front_ends.other()
    assert len(engine) == 2
    with ThreadPoolExecutor(MANY) as threads:
        streams = [threads.submit(streamed, front_ends) for _ in range(MANY)]
        while front_ends.measured("vllm:num_requests_running") < MANY:
            time.sleep(0.05)
        n_of_other = connections_of(other)
        assert 0 < n_of_other < MANY
        psutil.Process(other).kill()
        # Nobody waits for its place to be taken.
        assert front_ends.ask(max_tokens=1)
        assert httpx.get(f"{front_ends.url}/readyz").is_success
        results = [each.result() for each in streams]
    whole = [n for n, is_whole in results if is_whole]
    assert len(whole) == MANY - n_of_other
    assert set(whole) == {N_TOKENS}
    deadline = time.monotonic() + 10
    while front_ends.measured("vllm:num_requests_running"):
        assert time.monotonic() < deadline, "what the dead one had asked for goes on"
        time.sleep(0.05)
    front_ends.other(2)
    assert front_ends.engine() == engine
    answers = {text_of(each) for each in front_ends.ask_many()}
    assert len(answers) == 1


@pytest.mark.parametrize("whom", ["owner", "engine"])
def test_the_death_of_owner_or_engine_ends_everything(
    model_folder: str, tmp_path: Path, whom: str
) -> None:
    front_ends = FrontEnds(tmp_path)
    server = front_ends.server
    try:
        server.wait_until_ready()
        front_ends.other()
        with ThreadPoolExecutor(MANY) as threads:
            streams = [
                threads.submit(streamed_to_any_end, front_ends) for _ in range(4)
            ]
            while front_ends.measured("vllm:num_requests_running") < 4:
                time.sleep(0.05)
            if whom == "owner":
                server.process.kill()
                assert server.process.wait(5) < 0
            else:
                psutil.Process(front_ends.engine()[0]).kill()
                assert server.process.wait(40) == 1
            assert [each.result() for each in streams] == [True] * 4
    finally:
        server.kill()
        left = server.left_behind()
    assert not left


def streamed_to_any_end(front_ends: FrontEnds) -> bool:
    """Whether a stream ended, however."""
    body = {
        "messages": FRANCE,
        "max_tokens": 1900,
        "ignore_eos": True,
        "stream": True,
    }
    url = f"{front_ends.url}/v1/chat/completions"
    try:
        with httpx.stream(
            "POST", url, json=body, headers=ADMIN, timeout=120
        ) as response:
            return response.read() is not None
    except httpx.TransportError:
        return True
