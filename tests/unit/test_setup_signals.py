"""Signals during ``make setup`` and ``make serve``: nothing is left behind."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.setup_clone import Clone, alive, ended, wait_for

pytestmark = pytest.mark.heavy

SLEEPS = "import os, time; open('pip.pid', 'w').write(f'{os.getpid()}'); time.sleep(60)"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


@pytest.mark.parametrize("target", ["setup", "serve"])
def test_sigterm_ends_the_set_up_and_its_pip(clone: Clone, target: str) -> None:
    process = clone.start(target, PIP_TAKES_S="60", PIP_WORK=SLEEPS)
    pid = int(wait_for(clone.folder / "pip.pid"))
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == -signal.SIGTERM
    assert not alive(pid)
    assert clone.make()[0] == 0


def test_ctrl_c_ends_the_set_up_and_says_that_it_goes_on_later(clone: Clone) -> None:
    process = clone.start("setup", PIP_TAKES_S="60", PIP_WORK=SLEEPS)
    pid = int(wait_for(clone.folder / "pip.pid"))
    os.killpg(process.pid, signal.SIGINT)
    status, output = ended(process)
    assert status == -signal.SIGINT
    assert "interrupted; the same command goes on from here" in output
    assert "Traceback" not in output
    assert not alive(pid)


def test_sigterm_to_make_serve_reaches_the_server(clone: Clone) -> None:
    clone.make()
    server = (
        f"#!{sys.executable}\nimport os, signal, sys, time\n"
        "def stop(*_): open('stopped', 'w').write('1'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "open('arguments', 'w').write(f'{os.getpid()} ' + ' '.join(sys.argv[1:]))\n"
        "time.sleep(60)\n"
    )
    clone.program("vllm-di", server)
    process = clone.start("serve")
    pid, *arguments = wait_for(clone.folder / "arguments").split()
    assert arguments == ["serve", "--config", "config.yaml"]
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == -signal.SIGTERM
    assert (clone.folder / "stopped").exists()
    assert not alive(int(pid))


@pytest.mark.parametrize("status", [0, 3])
def test_make_serve_fails_when_the_server_does(clone: Clone, status: int) -> None:
    clone.program("vllm-di", f"#!/bin/sh\nexit {status}\n")
    assert (clone.make("serve")[0] == 0) is (status == 0)
