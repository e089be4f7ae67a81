"""The watch that travels with a configuration acts in its own engine alone."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

from containers.vllm_api.orphans import orphaned_engines
from containers.vllm_api.parent_watch import EXIT_ORPHANED, ParentWatch

ROOT = Path(__file__).parents[2]

READER = """
import multiprocessing, pickle, sys, threading, time
multiprocessing.current_process().name = sys.argv[1]
pickle.loads(bytes.fromhex(sys.argv[2]))
print("armed" if threading.active_count() > 1 else "quiet", flush=True)
time.sleep(60)
"""


def read_elsewhere(name: str, watch: bytes) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", READER, name, watch.hex()],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_configuration_read_elsewhere_arms_nothing() -> None:
    with read_elsewhere("MainProcess", pickle.dumps(ParentWatch())) as process:
        assert said(process) == "quiet"
        assert os.getpgid(process.pid) == os.getpgid(0)
        process.kill()


def test_another_machine_or_boot_arms_nothing() -> None:
    here = ParentWatch().watched
    for other in (here._replace(boot="another"), here._replace(namespace="another")):
        with read_elsewhere("EngineCore", pickle.dumps(ParentWatch(other))) as process:
            assert said(process) == "quiet"
            process.kill()


def test_an_engine_process_watches_from_a_group_of_its_own() -> None:
    with read_elsewhere("EngineCore", pickle.dumps(ParentWatch())) as process:
        assert said(process) == "armed"
        assert os.getpgid(process.pid) == process.pid
        process.kill()


def test_an_engine_process_whose_server_is_gone_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as server:
        watched = ParentWatch().watched.of(server.pid)
        with read_elsewhere("VllmWorker-0", pickle.dumps(ParentWatch(watched))) as one:
            assert said(one) == "armed"
            server.kill()
            assert one.wait(10) in (-signal.SIGTERM, -signal.SIGKILL)


def test_a_number_that_another_process_got_since_is_not_the_server() -> None:
    earlier = ParentWatch().watched._replace(born="1")
    with read_elsewhere("EngineCore", pickle.dumps(ParentWatch(earlier))) as process:
        assert process.wait(10) == EXIT_ORPHANED


def test_an_engine_process_whose_server_has_ended_before_says_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as server:
        watched = pickle.dumps(ParentWatch(ParentWatch().watched.of(server.pid)))
        server.kill()  # and is not waited for yet
        with read_elsewhere("VllmWorker-0", watched) as process:
            assert process.wait(10) == EXIT_ORPHANED
            assert said(process) == ""


def test_a_copy_has_not_travelled() -> None:
    before = threading.active_count()
    watch = ParentWatch()
    assert copy.deepcopy(watch) is watch
    assert pickle.loads(pickle.dumps(watch)).watched == watch.watched  # noqa: S301  # ours
    assert threading.active_count() == before
    assert multiprocessing.parent_process() is None


def test_an_engine_with_a_living_parent_is_no_orphan() -> None:
    script = "import setproctitle, time; setproctitle.setproctitle('VLLM::EngineCore')"
    script += "; print('titled', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert said(process) == "titled"
        assert process.pid not in orphaned_engines()
        process.kill()
