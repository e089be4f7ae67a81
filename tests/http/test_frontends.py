"""Several front ends, each over a double: what is there of all of them, and of one."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from containers.testing import tiny_model
from tests.http.test_sockets import certificate, name_in_certificate

pytestmark = [pytest.mark.heavy, pytest.mark.soak, pytest.mark.timeout(400)]

KEY = "a-key-for-administrators"
ADMIN = {"Authorization": f"Bearer {KEY}"}
ROOT = Path(__file__).parents[2]
PATIENCE_S = 150.0
MANY = 16
SERVES = re.compile(r"front end (\d) serves \(process (\d+)\)")


class Process:
    """The program, and all that it has printed."""

    trusted: ssl.SSLContext | bool = True

    def __init__(self, folder: Path, **server: object) -> None:
        self.file = folder / "config.yaml"
        self.source = str(tiny_model(folder / "model"))
        self.write(**server)
        # A folder in which something else has our name, as in many a project.
        (folder / "app.py").write_text("raise SystemExit('not this one')")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.http.frontend_program", str(self.file)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.url = self.line("ready ").removeprefix("ready ")

    def write(self, mark: str = "", **server: object) -> None:
        template = f"{{% for m in messages %}}{mark}{{{{ m.content }}}}{{% endfor %}}"
        model = {
            "name": "tiny",
            "source": self.source,
            "engine": {"enforce_eager": True},
            "chat": {"template": template},
        }
        keys = {"admin_keys": [KEY]}
        section = {"port": 0, "frontends": 3, **keys, **server}
        self.file.write_text(json.dumps({"server": section, "models": [model]}))

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            self.lines += map(str.strip, iter(output.readline, ""))

    def line(self, words: str, n: int = 1) -> str:
        """The n-th line with these words."""
        deadline = time.monotonic() + PATIENCE_S
        while len(found := [line for line in self.lines if words in line]) < n:
            assert self.process.poll() is None, self.lines
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.02)
        return found[n - 1]

    def others(self, *numbers: int) -> list[int]:
        """Process ids of the others, the first two or these, once they serve."""
        lines = [self.line(f"front end {each} serves") for each in numbers or (1, 2)]
        return [int(SERVES.search(line)[2]) for line in lines]  # type: ignore[index]  # it matches

    def said(self) -> str:
        """Answer over a connection of its own."""
        body = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 64}
        url = f"{self.url}/v1/chat/completions"
        answer = httpx.post(
            url, json=body, headers=ADMIN, timeout=30, verify=self.trusted
        )
        assert answer.is_success, answer.text
        text: str = answer.json()["choices"][0]["message"]["content"]
        return text

    def get(self, path: str) -> httpx.Response:
        return httpx.get(
            f"{self.url}{path}", headers=ADMIN, timeout=30, verify=self.trusted
        )

    def answered(self) -> float:
        """Chat requests that have been answered, by the metrics."""
        lines = [
            line
            for line in self.get("/metrics").text.splitlines()
            if line.startswith("vllm_di_requests_total{") and "chat/comp" in line
        ]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            self._reading.join(5)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    started = Process(tmp_path, enable_server_load_tracking=True, drain_timeout_s=5)
    others = [psutil.Process(pid) for pid in started.others()]
    try:
        yield started
        assert started.end() == 0
    finally:
        started.process.kill()
        started.process.wait()
        _, alive = psutil.wait_procs(others, timeout=5)
    assert not alive


def test_they_are_one_server_whoever_is_asked(process: Process) -> None:
    before = process.answered()
    assert {process.said() for _ in range(MANY)} == {process.said()}
    assert process.answered() == before + MANY + 1

    paths = ("/livez", "/readyz", "/startupz", "/health", "/load", "/v1/models")
    for path in (*paths, "/admin/status", "/admin/loggers", "/is_sleeping"):
        assert {process.get(path).status_code for _ in range(MANY)} == {200}, path
    began = {process.get("/admin/status").json()["began_at"] // 60 for _ in range(MANY)}
    assert len(began) <= 2  # one process is asked, a minute may pass
    assert process.get("/admin/nothing").status_code == httpx.codes.NOT_FOUND
    unauthorized = {
        httpx.get(f"{process.url}/admin/status").status_code for _ in range(9)
    }
    assert unauthorized == {httpx.codes.UNAUTHORIZED}
    assert httpx.post(f"{process.url}/admin/unload", headers=ADMIN).status_code == 404
    events = process.get("/admin/status/events")
    assert events.text.count("event: figures") > 1

    process.write(mark="1", enable_server_load_tracking=True, drain_timeout_s=5)
    for _ in range(MANY):
        answer = httpx.post(f"{process.url}/admin/reload", headers=ADMIN, timeout=60)
        assert answer.is_success, answer.text
    assert len({process.said() for _ in range(MANY)}) == 1

    assert httpx.post(f"{process.url}/reset_mm_cache", headers=ADMIN).is_success
    for pid in (process.process.pid, *process.others()):
        process.line(f"process {pid} forgets")

    before = process.answered()
    victim, bystander = process.others()
    psutil.Process(victim).kill()
    process.line("front end 1 has died")
    assert {process.said() for _ in range(MANY)} == {process.said()}
    assert process.answered() == before + MANY + 1
    process.line("front end 1 serves", 2)
    assert psutil.pid_exists(bystander)
    assert len({process.said() for _ in range(MANY)}) == 1


def stream_of(process: Process, lines: list[str]) -> None:
    body = {
        "messages": [{"role": "user", "content": "Where? " * 20}],
        "max_tokens": 100,
        "stream": True,
    }
    url = f"{process.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, headers=ADMIN, timeout=30) as response:
        lines.extend(line for line in response.iter_lines() if line)


def test_streams_of_all_go_on_while_they_drain(process: Process) -> None:
    streams: list[list[str]] = [[] for _ in range(MANY)]
    threads = [
        threading.Thread(target=stream_of, args=(process, lines)) for lines in streams
    ]
    for thread in threads:
        thread.start()
    while process.get("/load").json()["server_load"] < MANY:
        time.sleep(0.01)
    answer = httpx.post(f"{process.url}/admin/drain", headers=ADMIN)
    assert answer.status_code == httpx.codes.ACCEPTED
    refused = {process.get("/readyz").status_code for _ in range(9)}
    assert refused == {httpx.codes.SERVICE_UNAVAILABLE}
    for thread in threads:
        thread.join(30)
    assert {lines[-1] for lines in streams} == {"data: [DONE]"}
    assert not any("error" in line for lines in streams for line in lines)
    assert process.get("/readyz").status_code == httpx.codes.SERVICE_UNAVAILABLE


def test_the_others_do_not_outlive_their_owner(tmp_path: Path) -> None:
    process = Process(tmp_path)
    others = [psutil.Process(pid) for pid in process.others()]
    process.process.kill()
    process.process.wait()
    _, alive = psutil.wait_procs(others, timeout=5)
    for each in alive:
        each.kill()
    assert not alive


def names_shown(process: Process, ca: Path) -> set[str]:
    """Names in the certificate that is shown at many connections."""
    address = "127.0.0.1", int(process.url.rpartition(":")[2])
    shown = set()
    for _ in range(MANY):
        try:
            shown.add(name_in_certificate(address, ca.read_text()))
        except ssl.SSLError:  # another one than is trusted
            shown.add("")
    return shown


def test_all_of_them_speak_https_and_take_a_renewed_certificate(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path / "one", "one")
    tls = {"ssl_certfile": str(cert), "ssl_keyfile": str(key)}
    process = Process(tmp_path, frontends=2, enable_ssl_refresh=True, **tls)
    try:
        (other,) = process.others(1)
        assert process.url.startswith("https://127.0.0.1:")
        process.url = process.url.replace("127.0.0.1", "localhost")
        process.trusted = ssl.create_default_context(cafile=str(cert))
        assert {process.said() for _ in range(MANY)} == {process.said()}
        assert process.answered() == MANY + 1
        assert {process.get("/readyz").status_code for _ in range(MANY)} == {200}
        assert names_shown(process, cert) == {"one"}

        renewed = certificate(tmp_path / "two", "two")
        for old, new in zip((cert, key), renewed, strict=True):
            old.write_bytes(new.read_bytes())
        deadline = time.monotonic() + 30
        while names_shown(process, cert) != {"two"}:
            assert time.monotonic() < deadline
        process.trusted = ssl.create_default_context(cafile=str(cert))

        psutil.Process(other).kill()
        process.line("front end 1 has died")  # its owner speaks HTTPS in its stead
        assert names_shown(process, cert) == {"two"}
        process.line("front end 1 serves", 2)
        assert names_shown(process, cert) == {"two"}
        assert {process.said() for _ in range(MANY)} == {process.said()}
        assert process.end() == 0
    finally:
        process.process.kill()
        process.process.wait()
