"""Measures what it costs to change, lose and load models of a served process.

    python -m bench.generations [reloads|kills|lazy|leaks] [N]

``reloads`` changes the chat template under load, ``kills`` kills engine core and worker
in turn while clients retry as OpenAI's does, ``lazy`` lets the two default models come
and go, ``leaks`` starts N engines one after the other and counts what is left of them.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import psutil
import yaml

from tests.engine.servers import CHAT, MODELS, Server, serve
from tests.engine.test_engine_death import engine_process

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% endfor %}{# MARK #}<|im_start|>assistant\n"
)
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
VICTIMS = ("VLLM::EngineCore", "VLLM::Worker")
N_CLIENTS = 4
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # looked at, not written to
WITHIN_S = 120.0


class Clients:
    """Clients that ask without a pause, and retry as OpenAI's does.

    Args:
        url: The server.
        max_retries: Times each asks again after 503 or a broken connection.
    """

    def __init__(self, url: str, *, max_retries: int) -> None:
        self.answers: Counter[str] = Counter()
        self.errors: list[str] = []
        self._is_over = threading.Event()
        self._client = openai.OpenAI(
            base_url=f"{url}/v1", api_key="none", max_retries=max_retries, timeout=120
        )
        self._threads = [threading.Thread(target=self._ask) for _ in range(N_CLIENTS)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Ask no more, and wait for what is being answered."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        while not self._is_over.is_set():
            try:
                answer = self._client.chat.completions.create(
                    model="smollm2", messages=QUESTION, max_tokens=8, temperature=0
                )
            except openai.OpenAIError as error:
                self.errors.append(f"{type(error).__name__}: {error}")
            else:
                self.answers[answer.choices[0].message.content or ""] += 1

    def tell(self) -> str:
        """What came of it."""
        return (
            f"{self.answers.total()} answered, {len(self.errors)} not {self.errors[:3]}"
        )


def wait(condition: Callable[[], bool]) -> float:
    """Seconds until a condition holds."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > WITHIN_S:
            raise TimeoutError
        time.sleep(0.02)
    return time.monotonic() - began


@contextmanager
def serving(
    models: list[dict[str, Any]], **settings: object
) -> Iterator[tuple[Server, Path]]:
    """A server of these models, and the folder of its config."""
    with tempfile.TemporaryDirectory() as folder:
        server = serve(Path(folder), models=models, server=settings)
        try:
            server.wait_for(lambda: server.health() == httpx.codes.OK)
            yield server, Path(folder)
        finally:
            print(f"status {server.stop()}, left {server.left_behind() or 'nothing'}")


def reload(server: Server) -> float:
    """Seconds from SIGHUP until the server says that it is done."""
    n = server.log.count("reloaded: ")
    server.process.send_signal(signal.SIGHUP)
    return wait(lambda: server.log.count("reloaded: ") > n)


def reloads(n: int) -> None:
    """Change the template N times under load."""
    with tempfile.TemporaryDirectory() as templates:
        file = Path(templates, "chat.jinja")
        file.write_text(TEMPLATE)
        model = CHAT | {"chat": {"template": str(file)}}
        with serving([model]) as (server, _):
            clients = Clients(server.url, max_retries=0)
            for number in range(n):
                time.sleep(2)
                file.write_text(TEMPLATE.replace("MARK", str(number)))
                print(f"reload {number + 1}: {reload(server) * 1000:.0f} ms")
            time.sleep(2)
            clients.end()
            print(clients.tell(), dict(clients.answers))


def kills(n: int) -> None:
    """Kill the engine core and the worker in turn, N times in all."""
    with serving([CHAT], heal_attempts=3) as (server, _):
        clients = Clients(server.url, max_retries=10)
        for number in range(n):
            time.sleep(3)
            victim = VICTIMS[number % 2]
            engine_process(server, victim).kill()
            seconds = wait(lambda: status(server) != httpx.codes.OK)
            seconds += wait(lambda: status(server) == httpx.codes.OK)
            print(
                f"kill {number + 1}, {victim}: ready after {seconds:.1f} s", flush=True
            )
        time.sleep(2)
        clients.end()
        print(clients.tell())


def lazy(n: int) -> None:
    """Let the two default models come and go N times."""
    models = [model | {"load": "lazy", "idle_timeout_s": 3.0} for model in MODELS]
    with serving(models) as (server, _):
        print(f"nothing loaded: {memory_gib(server):.2f} GiB")
        for _ in range(n):
            print(f"first token after {first_token_s(server):.2f} s")
            print(f"first vector after {first_vector_s(server):.2f} s")
            print(f"both loaded: {memory_gib(server):.2f} GiB")
            wait(lambda: set(states(server).values()) == {"unloaded"})
            print(f"both unloaded: {memory_gib(server):.2f} GiB", flush=True)


def leaks(n: int) -> None:
    """Start N engines one after the other."""
    with serving([CHAT]) as (server, folder):
        for number in range(n + 1):
            if number:
                config = yaml.safe_load((folder / "config.yaml").read_text())
                config["models"][0]["engine"]["seed"] = number
                (folder / "config.yaml").write_text(yaml.safe_dump(config))
                seconds = reload(server)
            ask(server)
            if number in (0, 1, 2) or number % 10 == 0:
                after = f", the last one in {seconds:.1f} s" if number else ""
                print(f"generation {number + 1}: {counts(server)}{after}", flush=True)


def ask(server: Server) -> None:
    """One answer, which has to come."""
    body = {"model": "smollm2", "messages": QUESTION, "max_tokens": 4}
    httpx.post(f"{server.url}/v1/chat/completions", json=body).raise_for_status()


def counts(server: Server) -> dict[str, Any]:
    """What a server holds of the machine."""
    own = psutil.Process(server.process.pid)
    metrics = httpx.get(f"{server.url}/metrics").text.splitlines()
    return {
        "processes": len(server.children()) + 1,
        "threads": own.num_threads(),
        "fds": own.num_fds(),
        "shm": sum(1 for _ in SHARED_MEMORY.iterdir()),
        "rss_mib": own.memory_info().rss // 2**20,
        "series": sum(not line.startswith("#") for line in metrics),
    }


def memory_gib(server: Server) -> float:
    """GiB of the server and its processes, what they share counted once."""
    processes = [psutil.Process(server.process.pid), *server.children()]
    return float(sum(each.memory_full_info().pss for each in processes) / 2**30)


def first_token_s(server: Server) -> float:
    """Seconds until a stream has its first token, its model loaded meanwhile."""
    body = {"model": "smollm2", "messages": QUESTION, "stream": True, "max_tokens": 4}
    began = time.monotonic()
    url = f"{server.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, timeout=WITHIN_S) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                delta = json.loads(line.removeprefix("data: "))["choices"][0]["delta"]
                if delta.get("content"):
                    return time.monotonic() - began
    raise RuntimeError("no token came")


def first_vector_s(server: Server) -> float:
    """Seconds until an embedding has come, its model loaded meanwhile."""
    began = time.monotonic()
    body = {"model": "minilm", "input": "Paris"}
    url = f"{server.url}/v1/embeddings"
    httpx.post(url, json=body, timeout=WITHIN_S).raise_for_status()
    return time.monotonic() - began


def status(server: Server) -> int:
    """Status of its readiness."""
    return httpx.get(f"{server.url}/readyz").status_code


def states(server: Server) -> dict[str, str]:
    """How its models stand."""
    models: dict[str, str] = httpx.get(f"{server.url}/readyz").json()["models"]
    return models


WHAT: dict[str, tuple[Callable[[int], None], int]] = {
    "reloads": (reloads, 5),
    "kills": (kills, 10),
    "lazy": (lazy, 2),
    "leaks": (leaks, 50),
}


def main() -> None:
    """Measure what is named, or everything."""
    wanted = sys.argv[1:2] or list(WHAT)
    for name in wanted:
        measure, n = WHAT[name]
        print(f"== {name}")
        measure(int(sys.argv[2]) if len(sys.argv) > 2 else n)  # noqa: PLR2004  # the name and a number


if __name__ == "__main__":
    main()
