"""What ``vllm-di serve`` writes on standard error."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.engine.servers import free_port

KEY = "sk-the-key-itself"
PROMPT = "the-text-of-a-prompt"
QUESTION = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 3}
LOGS = {"levels": {"vllm": "info", "uvicorn": "info"}}


class Served:
    """The program, asked on its port."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        headers = {"Authorization": f"Bearer {KEY}", "X-Request-Id": "id-of-mine"}
        self.client = httpx.Client(base_url=url, headers=headers, timeout=20)


@contextmanager
def serving(folder: Path, source: Path, stderr: int, **logs: Any) -> Iterator[Served]:
    port = free_port()
    model = {
        "name": "tiny",
        "source": str(source),
        "engine": {"enforce_eager": True, "max_model_len": 256},
        "chat": {"enable_log_requests": True},
    }
    server = {
        "port": port,
        "logs": LOGS | logs,
        "uvicorn_log_level": "info",
        "api_keys": [{"name": "mine", "key": KEY}],
        "admin_keys": [{"name": "admin", "key": "sk-admin"}],
    }
    content = {
        "server": server,
        "models": [model],
        "performance": {"fast_start": False},
    }
    config = folder / "config.yaml"
    config.write_text(json.dumps(content))
    clean = {k: v for k, v in os.environ.items() if not k.startswith("VLLM_LOGGING")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.http.serve_program", "--config", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env=clean | {"TERM": "dumb"},
    )
    served = Served(process, f"http://127.0.0.1:{port}")
    try:
        wait_until_ready(served)
        yield served
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        served.client.close()


def wait_until_ready(served: Served) -> None:
    for _ in range(600):
        assert served.process.poll() is None
        with suppress(httpx.TransportError):
            if served.client.get("/readyz").status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail("it was never ready")


def ask(served: Served) -> None:
    path = "/v1/chat/completions"
    assert served.client.post(path, json=QUESTION).status_code == 200
    streamed = served.client.post(path, json=QUESTION | {"stream": True})
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert served.client.post(path, json=QUESTION | {"model": "no"}).status_code == 404


@pytest.mark.soak
def test_anywhere_but_on_a_terminal_every_line_is_json(
    tmp_path: Path, tiny_folder: Path
) -> None:
    file = tmp_path / "log"
    with (
        file.open("wb") as output,
        serving(tmp_path, tiny_folder, output.fileno()) as s,
    ):
        ask(s)
        levels = {"app.errors": "debug", "vllm": "error"}
        admin = {"Authorization": "Bearer sk-admin"}
        put = s.client.put("/admin/loggers", json=levels, headers=admin)
        assert put.json()["loggers"].items() >= levels.items()
        ask(s)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        assert {"time", "level", "logger", "message"} <= line.keys()
    said = [each for each in lines if each["logger"] == "vllm_di.serve"]
    assert any(each["message"].startswith("ready: http://") for each in said)
    asked = [x for x in lines if x.get("path") == "/v1/chat/completions"]
    assert [each["status"] for each in asked] == [200, 200, 404] * 2
    assert {each["request_id"] for each in asked} == {"id-of-mine"}
    whole, streamed, refused = asked[:3]
    for line in (whole, streamed):
        assert line["model"] == "tiny"
        assert line["completion_tokens"] == 3
        assert line["prompt_tokens"] > 3
        assert line["finish"] in ("stop", "length")
        assert line["caller"] == "mine"
    assert 0 < streamed["first_token_s"] < streamed["seconds"]
    assert "completion_tokens" not in refused
    received = [x for x in lines if x["logger"].startswith("vllm.entrypoints")]
    received = [x for x in received if "eceived request" in x["message"]]
    assert len(received) == 2, "vLLM's level was raised in between"
    assert {each["request_id"] for each in received} == {"id-of-mine"}
    text = file.read_text()
    assert PROMPT not in text
    assert KEY not in text
    assert "sk-admin" not in text


@pytest.mark.soak
def test_on_a_terminal_it_is_text(tmp_path: Path, tiny_folder: Path) -> None:
    master, slave = pty.openpty()
    chunks: list[bytes] = []
    with serving(tmp_path, tiny_folder, slave) as served:
        ask(served)
    os.close(slave)
    while chunk := _read(master):
        chunks.append(chunk)
    os.close(master)
    lines = b"".join(chunks).decode().splitlines()
    asked = [line for line in lines if "vllm_di.access" in line]
    assert len(asked) == 3
    assert re.match(
        r"^\d\d:\d\d:\d\d INFO    vllm_di.access: POST /v1/chat/completions 200 "
        r"seconds=[\d.]+ model=tiny prompt_tokens=\d+ completion_tokens=3 .*"
        r"caller=mine \[id-of-mine\]$",
        asked[0],
    )
    assert any(re.search(r"\d s  ready: http://", line) for line in lines)
    assert "Try it:" in lines


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # nobody writes any more
        return b""
