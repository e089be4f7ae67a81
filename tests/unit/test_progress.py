"""What a start shows: live in a terminal, plain lines in a pipe or file."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.screen import Ended, run_in_terminal, screen_of

pytestmark = pytest.mark.heavy

PROGRAM = [sys.executable, "-m", "tests.unit.progress_program"]
FOREIGN_LINES = ("a line of standard output", "100% of the weights", "an error")


ENDS: dict[str, dict[str, str]] = {
    "ready": {},
    "failed": {},
    "endless": {"interrupt_at": "an error"},
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


@pytest.fixture(scope="module")
def everything(pool: ThreadPoolExecutor) -> dict[str, Future[Any]]:
    """All programs of this module, which take their seconds at the same time."""
    ready = [*PROGRAM, "ready"]
    return {
        **{
            way: pool.submit(run_in_terminal, [*PROGRAM, way], **options)
            for way, options in ENDS.items()
        },
        "dumb": pool.submit(run_in_terminal, ready, TERM="dumb"),
        "piped": pool.submit(
            subprocess.run, ready, capture_output=True, text=True, timeout=60
        ),
    }


@pytest.fixture(scope="module")
def runs(everything: dict[str, Future[Any]]) -> dict[str, Ended]:
    """Each way a start may end, in a terminal."""
    return {way: everything[way].result() for way in ENDS}


def rows(run: Ended) -> dict[str, str]:
    """Last rows of the table on the screen, by resource."""
    found = re.findall(
        r"^(\S)  (\w+) +([\d.]+ s)? +(\w.*)$", "\n".join(run.screen), re.MULTILINE
    )
    return {name: f"{mark} {state}" for mark, name, _, state in found}


def frames(run: Ended) -> list[list[str]]:
    """The screen as it was whenever a new picture began."""
    parts = re.split(r"(?=\r\x1b\[2K)", run.output)
    return [screen_of("".join(parts[: n + 1])) for n in range(len(parts))]


def test_the_last_picture_stays_on_the_screen(runs: dict[str, Ended]) -> None:
    ready = "✓ ready"
    assert runs["ready"].status == 0
    assert rows(runs["ready"]) == {"config": ready, "engine": ready, "serving": ready}


def test_states_and_seconds_change_while_it_loads(runs: dict[str, Ended]) -> None:
    lines = {line for frame in frames(runs["ready"]) for line in frame}
    seconds = {
        float(found[1])
        for line in lines
        if (found := re.search(r"engine +([\d.]+) s +starting", line))
    }
    assert len(seconds) > 2
    assert max(seconds) > 0.5
    assert any(re.search(r"serving +waits for engine$", line) for line in lines)


@pytest.mark.parametrize("way", ["ready", "failed", "endless"])
@pytest.mark.parametrize("line", FOREIGN_LINES)
def test_what_others_print_stays_whole_and_above_the_table(
    runs: dict[str, Ended], way: str, line: str
) -> None:
    screen = runs[way].screen
    assert screen.count(line) == 1
    table = [n for n, shown in enumerate(screen) if re.match(r"\S  config", shown)]
    assert len(table) == 1, "a picture was left behind"
    assert screen.index(line) < table[0]


def test_our_own_log_lines_carry_the_seconds(runs: dict[str, Ended]) -> None:
    screen = "\n".join(runs["ready"].screen)
    assert re.search(r"^ +\d+\.\d s  a line of our own log$", screen, re.MULTILINE)


def test_what_is_said_when_ready_comes_below_the_table(runs: dict[str, Ended]) -> None:
    screen = [line for line in runs["ready"].screen if line]
    assert screen[-3].endswith("s  ready: http://127.0.0.1:8000")
    assert set(screen[-2:]) == {"a late line of the engine", "the end"}


def test_a_failure_is_told_below_the_table(runs: dict[str, Ended]) -> None:
    assert rows(runs["failed"])["engine"] == "✗ failed"
    last = [line for line in runs["failed"].screen if line][-2]
    assert "the start failed: MemoryError: no room for the weights" in last


def test_ctrl_c_ends_the_picture_too(runs: dict[str, Ended]) -> None:
    assert runs["endless"].status == 3
    assert rows(runs["endless"])["engine"] == "· stopped"
    assert "Traceback" not in runs["endless"].output


@pytest.mark.parametrize("way", ["ready", "failed", "endless"])
def test_the_cursor_is_visible_in_the_end(runs: dict[str, Ended], way: str) -> None:
    assert "\x1b[?25l" in runs[way].output
    assert runs[way].shows_cursor


def test_a_pipe_gets_plain_lines(everything: dict[str, Future[Any]]) -> None:
    piped = everything["piped"].result().stderr
    assert "\x1b" not in piped
    assert "\r" not in piped
    stamped = re.findall(r"^ +\d+\.\d s  (.*)$", piped, re.MULTILINE)
    assert stamped[:3] == [
        "starting a model",
        "a line of our own log",
        "waiting for engine",
    ]
    assert re.fullmatch(r"engine is ready after 1\.\d s", stamped[-2])
    assert stamped[-1] == "ready: http://127.0.0.1:8000"


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(
    everything: dict[str, Future[Any]],
) -> None:
    run = everything["dumb"].result()
    assert "\x1b" not in run.output
    assert "waiting for engine" in run.output
