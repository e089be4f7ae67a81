"""What reloading a chat template costs a server that is busy, and its clients.

``python -m bench.template_reloads [N]`` serves a ``FakeEngine`` from a process of its
own, keeps 32 streams open, asks 50 short questions a second, and meanwhile changes the
template N times (100 unless told otherwise). The engine answers with the prompt it got:
each answer must be that of one template, and none may fail or be cut.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import httpx

from containers import ModelContainer, Settings
from containers.testing import FakeEngine, tiny_model
from containers.testing.requests import RecordedRequest

N_STREAMS = 32
ASKED_PER_S = 50
N_RELOADS = 100
TOKEN_DELAY_S = 0.02
N_MARKS = 10
TEMPLATE = (
    "{{% for m in messages %}}{mark}{{{{ m.content }}}}{{% endfor %}}"
    "{{% if add_generation_prompt %}}:{{% endif %}}"
)
URL = "/v1/chat/completions"
KEY = "an-admin-of-this-measurement"
AS_ADMIN = {"Authorization": f"Bearer {KEY}"}


def serve(config: Path) -> int:
    """Serve what the config says over doubles, until SIGTERM."""
    from dependency_injector import providers

    from app import create_app
    from app.server import ServerProcess, listen
    from app.service import STATE_ATTRIBUTE

    read = partial(Settings.load, config, environment={})
    settings = read()
    double = providers.Callable(FakeEngine, _echo, delay_s=TOKEN_DELAY_S)
    with ModelContainer.engine.override(double):
        app = create_app(settings, wait_until_ready=False)
        getattr(app.state, STATE_ATTRIBUTE).load_settings = read
        listener = listen(settings.server)
        told = f"ready http://127.0.0.1:{listener.getsockname()[1]}"
        process = ServerProcess(
            app,
            settings.server,
            on_ready=lambda: print(told, flush=True),
            on_failure=print,
        )
        return asyncio.run(process.run(listener))


def _echo(request: RecordedRequest) -> list[str]:
    """The prompt it got, and where it is long a stream: ten times over."""
    prompt = " ".join(map(str, request.prompt_token_ids or ()))
    return [f"{prompt}|"] * (50 if len(prompt) > len("1 2 3 4 5 6 7 8 9 10") * 4 else 1)


class Clients:
    """What they asked, and what became of it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.is_over = False
        self.prompts: set[str] = set()
        self.faults: list[str] = []
        self.n_streams = self.n_answers = 0

    async def stream(self) -> None:
        """Read one long stream after the other."""
        while not self.is_over:
            text, is_done = "", False
            async with self._client.stream("POST", URL, json=_body(long=True)) as got:
                async for line in got.aiter_lines():
                    is_done = is_done or line == "data: [DONE]"
                    if line.startswith('data: {"id"'):
                        delta = json.loads(line[6:])["choices"][0]["delta"]
                        text += delta.get("content") or ""
            self.n_streams += 1
            self._check(got.status_code, text, 50, is_whole=is_done)

    async def ask(self) -> None:
        """Ask a short question, and once more until it is over."""
        tasks: set[asyncio.Task[None]] = set()
        while not self.is_over:
            task = asyncio.create_task(self._answer())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(1 / ASKED_PER_S)
        await asyncio.gather(*tasks)

    async def _answer(self) -> None:
        got = await self._client.post(URL, json=_body(long=False))
        text = ""
        if got.is_success:
            text = got.json()["choices"][0]["message"]["content"]
        self.n_answers += 1
        self._check(got.status_code, text, 1, is_whole=True)

    def _check(self, status: int, text: str, n_parts: int, *, is_whole: bool) -> None:
        parts = text.split("|")[:-1]
        self.prompts.update(parts)
        if status != httpx.codes.OK or not is_whole:
            self.faults.append(f"status {status}, whole: {is_whole}")
        elif len(parts) != n_parts or len(set(parts)) != 1:
            self.faults.append(f"{len(parts)} parts, {len(set(parts))} different ones")


def _body(*, long: bool) -> dict[str, object]:
    content = "What is the capital of France? " * (8 if long else 1)
    message = {"role": "user", "content": content}
    return {"messages": [message], "max_tokens": 512, "stream": long}


async def load(url: str) -> None:
    """Keep the server busy until standard input is closed; print what came of it."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=N_STREAMS)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        clients = Clients(client)
        tasks = [asyncio.create_task(clients.stream()) for _ in range(N_STREAMS)]
        tasks.append(asyncio.create_task(clients.ask()))
        await asyncio.to_thread(sys.stdin.read)
        clients.is_over = True
        await asyncio.gather(*tasks)
    print(
        f"{clients.n_streams} streams and {clients.n_answers} answers, "
        f"{len(clients.prompts)} different prompts, "
        f"{len(clients.faults)} at fault {clients.faults[:3]}"
    )


def measure(url: str, template: Path, n: int) -> None:
    """Reload N times under load, which another process makes, and print the seconds."""
    command = [sys.executable, "-m", "bench.template_reloads", "load", url]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as clients,  # noqa: S603  # this module
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        time.sleep(4)
        ms = sorted(_reload(client, template, number) * 1000 for number in range(n))
        print(
            f"{n} reloads: median {statistics.median(ms):.1f} ms, 90 % under "
            f"{ms[int(n * 0.9)]:.1f}, most {ms[-1]:.1f}",
            flush=True,
        )
        clients.communicate()


def _reload(client: httpx.Client, template: Path, number: int) -> float:
    _write(template, str(number % N_MARKS))
    began = time.perf_counter()
    client.post("/admin/reload", headers=AS_ADMIN).raise_for_status()
    seconds = time.perf_counter() - began
    time.sleep(0.1)
    return seconds


def _write(template: Path, mark: str) -> None:
    template.write_text(TEMPLATE.format(mark=mark), encoding="utf-8")


def main() -> int:
    """Start the server and measure."""
    if sys.argv[1:2] == ["serve"]:
        return serve(Path(sys.argv[2]))
    if sys.argv[1:2] == ["load"]:
        asyncio.run(load(sys.argv[2]))
        return 0
    n = int(sys.argv[1]) if len(sys.argv) > 1 else N_RELOADS
    with tempfile.TemporaryDirectory() as folder:
        template, config = Path(folder, "chat.jinja"), Path(folder, "config.yaml")
        _write(template, "0")
        model = {
            "name": "tiny",
            "source": str(tiny_model(Path(folder, "model"))),
            "engine": {"enforce_eager": True},
            "chat": {"template": str(template)},
        }
        config.write_text(
            json.dumps({"server": {"port": 0, "admin_keys": [KEY]}, "models": [model]})
        )
        command = [sys.executable, "-m", "bench.template_reloads", "serve", str(config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603  # this module
            try:
                url = next(line for line in server.stdout or () if "ready " in line)
                measure(url.split()[1], template, n)
            finally:
                server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
