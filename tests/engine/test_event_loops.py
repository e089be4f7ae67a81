"""The case this project exists for, with the real engine: inside a running loop.

The same over a double, in more ways, is tested with the serving objects.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.engine.servers import Server

pytestmark = pytest.mark.engine

RUN_TIMEOUT_S = 400.0


def test_built_and_used_at_once_inside_a_running_loop(
    tmp_path: Path, model_folder: str
) -> None:
    seen_file = tmp_path / "seen.json"
    command = [sys.executable, "-m", "tests.engine.loop_program", str(seen_file)]
    program = Server(command, tmp_path / "program.log")
    try:
        assert program.process.wait(RUN_TIMEOUT_S) == 0, program.log
    finally:
        program.kill()
        left = program.left_behind()
    seen = json.loads(seen_file.read_text())
    assert seen["before"]["children"] == []
    assert seen["runs"] == {
        loop: {"answer": "The capital of France is Paris.", "after": seen["before"]}
        for loop in ("asyncio", "uvloop")
    }
    assert seen["loads"] == [model_folder]
    assert left == []
    assert "Traceback" not in program.log
