"""``vllm-di top`` over a running server, in a terminal and elsewhere."""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from rich.console import Console

from app.cli import main
from app.top.picture import bar, clean, model_table, picture, trouble_line
from app.top.source import Follower, NotToldError, Rates, Source
from tests.http.in_process import eventually
from tests.page.doubles import ADMIN, KEY, Doubles, Measured, serving
from tests.screen import run_in_terminal

TOP = [sys.executable, "-m", "app", "top", "--url"]


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, Measured]]:
    """A server of two models, the first of which measures, once it is ready."""
    models = ({"name": "paris"}, {"name": "rome", "load": "lazy"})
    doubles = Doubles(tmp_path_factory.mktemp("top"), *models, admin_keys=[KEY])
    with serving(doubles, "paris") as (url, (measured,)):
        while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
            time.sleep(0.05)
        measured.add(
            num_requests_running=3,
            num_requests_waiting=2,
            kv_cache_usage_perc=0.318,
            generation_tokens=5678,
        )
        yield url, measured


class Elsewhere(BaseHTTPRequestHandler):
    """Sends whoever asks to another place, and notes the keys it was shown."""

    keys: ClassVar[list[str | None]] = []
    answer: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        self.keys.append(self.headers["Authorization"])
        if self.answer:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.answer)
            return
        self.send_response(302)
        self.send_header(
            "Location", f"http://localhost:{self.server.server_address[1]}/"
        )
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    Elsewhere.keys.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_key_is_not_taken_to_where_a_server_points(elsewhere: str) -> None:
    source = Source(elsewhere, "sekret", "KEY")
    with pytest.raises(NotToldError, match="302"):
        source.ask()
    assert Elsewhere.keys == ["Bearer sekret"]


async def test_an_answer_of_another_shape_is_told(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Elsewhere, "answer", b'{"models": []}')
    follower = Follower(Source(elsewhere, "", "KEY"), interval_s=0.01)
    follower.start()
    await eventually(lambda: "does not know" in follower.trouble)
    follower.stop()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_DI_ADMIN_KEY", KEY)


def test_elsewhere_than_in_a_terminal_it_prints_once(
    server: tuple[str, Measured], key: None, capsys: pytest.CaptureFixture[str]
) -> None:
    url, _ = server
    assert main(["top", "--url", f"{url}/"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    status = httpx.get(f"{url}/admin/status", headers=ADMIN).json()
    (paris, rome) = (re.split(r"\s{2,}", row) for row in rows(printed, "paris", "rome"))
    found = status["figures"]["models"]["paris"]
    assert paris[:5] == [
        "paris",
        "ready",
        str(found["n_running"]),
        str(found["n_waiting"]),
        "-",
    ]
    assert paris[5] == f"{found['kv_cache_usage'] * 100:.1f} %"
    assert rome[:3] == ["rome", "unloaded", "-"]
    for each in status["models"][0]["resources"]:
        mark = "·" if each["is_left_out"] else "●"
        (row,) = rows(printed, f"{mark}  {each['name']}")
        assert row.endswith(f" {each['seconds']:.2f} s")


def rows(printed: str, *beginnings: str) -> list[str]:
    return [
        line.strip()
        for beginning in beginnings
        for line in printed.splitlines()
        if re.match(rf"{re.escape(beginning)}\s", line)
    ][: len(beginnings)]


@pytest.mark.parametrize(
    ("variables", "options", "told"),
    [
        ({}, [], "put one into the variable VLLM_DI_ADMIN_KEY"),
        ({"MINE": "wrong"}, ["--key-env", "MINE"], "the variable MINE"),
    ],
)
def test_a_key_that_is_missing_is_asked_for_by_its_variable(  # noqa: PLR0917  # fixtures
    server: tuple[str, Measured],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    options: list[str],
    told: str,
) -> None:
    monkeypatch.delenv("VLLM_DI_ADMIN_KEY", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["top", "--url", server[0], *options]) == 1
    assert told in capsys.readouterr().err


def test_a_server_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--url", "http://127.0.0.1:9"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("vllm-di: http://127.0.0.1:9: it does not answer: ")
    assert "refused" in told


def test_a_server_without_the_route_is_told_what_to_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Doubles(tmp_path, ui=False)) as (url, _):
        assert main(["top", "--url", url]) == 1
        assert "set server.ui or server.admin_keys" in capsys.readouterr().err


@pytest.mark.parametrize("pressed", [b"q", b"\x03"])
def test_in_a_terminal_it_lives_until_a_key_ends_it(
    server: tuple[str, Measured], pressed: bytes
) -> None:
    ended = run_in_terminal(
        [*TOP, server[0]], interrupt_at="31.8 %", key=pressed, VLLM_DI_ADMIN_KEY=KEY
    )
    assert ended.status == 0
    assert ended.shows_cursor
    assert "resources ready" in ended.output
    assert "\x1b[?1049l" in ended.output, "the screen from before is back"


def test_in_a_terminal_it_waits_for_a_server_that_is_not_there() -> None:
    ended = run_in_terminal(
        [*TOP, "http://127.0.0.1:9"], interrupt_at="not answer", key=b"q"
    )
    assert ended.status == 0
    assert "Connection refused" in ended.output


async def test_it_sees_a_server_come_and_go() -> None:
    told: dict[str, Any] = {"models": [], "figures": {"at": 1.0, "models": {}}}
    is_there = threading.Event()

    class Coming(Source):
        def ask(self) -> dict[str, Any]:
            if not is_there.is_set():
                raise NotToldError("it does not answer: refused")
            return told

    follower = Follower(Coming("http://x", "", "V"), interval_s=0.01)
    follower.start()
    try:
        await eventually(lambda: follower.trouble)
        assert follower.status is None
        is_there.set()
        await eventually(lambda: follower.status is told and not follower.trouble)
        is_there.clear()
        await eventually(lambda: follower.trouble)
        assert follower.status is told, "what was seen last stays on the screen"
    finally:
        follower.stop()


def test_tokens_a_second_are_the_growth_over_five_seconds() -> None:
    rates = Rates()

    def rate(at: float, n: int) -> float | None:
        chat, pooling = ({"name": n, "generates": n == "m"} for n in "mp")
        found = {"n_generation_tokens": n, "n_prompt_tokens": 2 * n}
        figures = {"at": at, "models": {"m": found, "p": found}}
        rates.add({"models": [chat, pooling], "figures": figures})
        generated, read = rates.of("m"), rates.of("p")
        assert read == (None if generated is None else 2 * generated)
        return generated

    assert rate(0, 100) is None
    assert rate(1, 110) == 10
    assert rate(2, 140) == 20
    assert [rate(at, 140) for at in (5, 6, 7)] == [8, 6, 0]
    assert rate(8, 3) is None, "a new engine counts from 0"
    assert rate(9, 7) == 4
    assert rate(1, 9) is None, "its clock was put back"
    assert rate(2, 14) == 5


def test_a_terminal_obeys_nothing_that_a_server_says() -> None:
    evil = "\x1b]0;mine\x07\x1b[2Jname\nnext\u202e"
    assert clean(evil) == " ]0;mine  [2Jname next "
    trouble = {"at": 0, "level": "error", "model": evil, "provider": "", "text": evil}
    model = {"name": evil, "trouble": "", "state": evil, "history": []}
    status = {"models": [model | {"generation": 1}], "figures": {"models": {}}}
    console = Console(record=True, width=80, color_system=None)
    console.print(trouble_line(trouble), model_table(status, Rates(), status["models"]))
    assert not set("\x1b\x07\u202e") & set(console.export_text())


@pytest.mark.parametrize("chosen", [0, 1, 99, 199, 200])
def test_of_many_models_the_chosen_one_is_in_sight(chosen: int) -> None:
    names = [f"model-{number}" for number in range(200)]
    resource = {
        "name": "engine", "state": "ready", "started_at": 1.0, "seconds": 2.0,
        "error": None, "is_kept": False, "is_left_out": False,
    }  # fmt: skip
    common = {"trouble": "", "state": "ready", "history": [], "generation": 1}
    status: dict[str, Any] = {
        "at": 5.0, "began_at": 0.0, "phase": "ready", "error": None, "troubles": [],
        "versions": {"vllm-di": "1"},
        "figures": {"at": 5.0, "in_flight": 0, "models": {}},
        "models": [
            {"name": name, **common, "resources": [resource]} for name in names
        ],
    }  # fmt: skip
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(picture(status, Rates(), model=chosen, rows=30))
    text = console.export_text()
    assert text.count("\n") <= 30
    assert f"{names[chosen % 200]}: 1 of 1 resources ready" in text
    assert re.search(rf"^{names[chosen % 200]} +ready", text, re.MULTILINE)
    assert "190 other models" in text


def test_a_bar_stands_where_its_resource_was_loaded() -> None:
    assert bar(0, 10, 10) == "━" * 24
    assert bar(5, 5, 10) == " " * 12 + "━" * 12
    assert bar(10, 0, 10) == " " * 23 + "━"
    assert bar(0, 0, 10) == "━" + " " * 23
