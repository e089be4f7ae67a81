"""A fork server without vLLM: its children are as if spawned, and it leaves nothing."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from containers.vllm_api.engine_processes import ForkServers
from containers.vllm_api.forkserver.client import ForkServer
from containers.vllm_api.forkserver.environment import starting_environment
from containers.vllm_api.forkserver.preloads import Preloads
from containers.vllm_api.forkserver.process import ForkContext
from tests.unit import fork_probe

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PROBE = "tests.unit.fork_probe"
ANSWER_WITHIN_S = 30.0


def new_server(*needed: str) -> ForkServer:
    return ForkServer(Preloads(needed=needed), on_cpu=False)


@pytest.fixture
def server() -> Iterator[ForkServer]:
    server = new_server(PROBE)
    yield server
    server.stop()


@pytest.fixture
def context(server: ForkServer) -> ForkContext:
    assert server.wait_until_ready() == ""
    return ForkContext(server)


def answer(context: Any, question: Callable[[], Any]) -> Any:
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=fork_probe.send, args=(writer, question))
    process.start()
    writer.close()
    assert reader.poll(ANSWER_WITHIN_S)
    told = reader.recv()
    reader.close()
    process.join(ANSWER_WITHIN_S)
    assert process.exitcode == 0
    process.close()
    return told


def test_a_child_finds_all_as_if_it_were_spawned_now(
    context: ForkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADDED_LATER", "yes")
    monkeypatch.delenv("VLLM_NO_USAGE_STATS", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["program", "--option"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    mask, cpus = os.umask(0o77), os.sched_getaffinity(0)
    ignoring = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        os.sched_setaffinity(0, {min(cpus)})
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 7, hard))
        forked = answer(context, fork_probe.surroundings)
        spawned = answer(multiprocessing.get_context("spawn"), fork_probe.surroundings)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.sched_setaffinity(0, cpus)
        os.umask(mask)
        signal.signal(signal.SIGUSR1, ignoring)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert forked == spawned
    assert forked["environment"]["ADDED_LATER"] == "yes"
    assert forked["cpus"] == {min(cpus)}
    assert forked["umask"] == 0o77


def test_a_child_keeps_one_file_more_than_a_spawned_one(context: ForkContext) -> None:
    busy = context.Process(target=fork_probe.sleep)
    busy.start()
    forked = answer(context, fork_probe.descriptors)
    spawned = answer(multiprocessing.get_context("spawn"), fork_probe.descriptors)
    busy.kill()
    busy.join()
    assert forked <= spawned + 1  # the socket for children of its own


def test_a_childs_output_goes_where_its_parents_goes_by_then(
    context: ForkContext, capfd: pytest.CaptureFixture[str]
) -> None:
    process = context.Process(target=fork_probe.write, args=("told by a child",))
    process.start()
    process.join(ANSWER_WITHIN_S)
    assert "told by a child" in capfd.readouterr().out


def test_exit_codes_and_signals_are_those_of_any_process(context: ForkContext) -> None:
    leaving = context.Process(target=fork_probe.leave, args=(3,))
    ended, killed = (context.Process(target=fork_probe.sleep) for _ in range(2))
    for process in (leaving, ended, killed):
        process.start()
        assert process.is_alive() or process is leaving
    ended.terminate()
    killed.kill()
    for process in (leaving, ended, killed):
        process.join(ANSWER_WITHIN_S)
    assert leaving.exitcode == 3
    assert ended.exitcode == -signal.SIGTERM
    assert killed.exitcode == -signal.SIGKILL
    assert not multiprocessing.active_children()


def test_a_child_runs_what_is_registered_for_its_end(
    context: ForkContext, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    process = context.Process(target=fork_probe.leave_note, args=(str(note),))
    process.start()
    process.join(ANSWER_WITHIN_S)
    assert note.read_text() == "left"


def test_a_module_that_would_only_be_useful_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "that_fails.py").write_text("raise RuntimeError('not here')")
    monkeypatch.syspath_prepend(str(tmp_path))
    preloads = Preloads(needed=(PROBE,), useful=("nowhere_at_all", "that_fails"))
    server = ForkServer(preloads, on_cpu=False)
    assert server.wait_until_ready() == ""
    server.stop()


def test_children_draw_different_random_numbers() -> None:
    server = new_server(PROBE, "numpy.random")
    try:
        assert server.wait_until_ready() == ""
        context = ForkContext(server)
        drawn = {answer(context, fork_probe.random_number) for _ in range(2)}
    finally:
        server.stop()
    assert len(drawn) == 2


@pytest.mark.parametrize("n_threads", [1, 2])
def test_openmp_runs_the_threads_its_variables_ask_for_where_they_say(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:n_threads]
    if len(cpus) < n_threads:
        pytest.skip("it takes as many CPUs")
    library = starting_environment(on_cpu=True).get("LD_PRELOAD")
    if library is None:
        pytest.skip("it takes libgomp")
    monkeypatch.setenv("LD_PRELOAD", library)
    server = new_server(PROBE, "torch")
    try:
        assert server.wait_until_ready() == ""
        monkeypatch.setenv("OMP_NUM_THREADS", str(n_threads))
        monkeypatch.setenv("GOMP_CPU_AFFINITY", " ".join(map(str, cpus)))
        forked = answer(ForkContext(server), fork_probe.openmp_threads)
        spawned = answer(
            multiprocessing.get_context("spawn"), fork_probe.openmp_threads
        )
    finally:
        server.stop()
    assert forked == spawned
    assert forked["n_threads"] == n_threads
    assert forked["main"] == cpus[:1]


def test_a_child_outlives_its_server_and_its_end_still_shows(
    server: ForkServer, context: ForkContext
) -> None:
    process = context.Process(target=fork_probe.sleep)
    process.start()
    server.process.kill()
    server.process.wait()
    assert not server.is_alive
    assert process.is_alive()
    process.terminate()
    process.join(ANSWER_WITHIN_S)
    assert process.exitcode == 255


def test_a_server_that_is_gone_is_told(
    server: ForkServer, context: ForkContext
) -> None:
    server.process.kill()
    server.process.wait()
    with pytest.raises(OSError, match=r"fork server|Broken pipe|reset"):
        context.Process(target=fork_probe.sleep).start()


def test_a_module_that_does_not_import_is_told() -> None:
    server = new_server("no_such_module_at_all")
    try:
        trouble = server.wait_until_ready()
        assert trouble == (
            "ModuleNotFoundError: No module named 'no_such_module_at_all'"
        )
    finally:
        server.stop()


def test_a_server_that_dies_while_it_imports_is_told(tmp_path: Path) -> None:
    server = new_server(slow_module(tmp_path))
    try:
        server.process.kill()
        assert server.wait_until_ready() == "its process ended with status -9"
    finally:
        server.stop()


def test_waiting_for_a_server_can_be_given_up(tmp_path: Path) -> None:
    def give_up() -> None:
        raise RuntimeError("given up")

    server = new_server(slow_module(tmp_path))
    try:
        with pytest.raises(RuntimeError, match="given up"):
            server.wait_until_ready(give_up)
    finally:
        server.stop()


def test_stopping_leaves_neither_process_nor_file_nor_thread() -> None:
    me = psutil.Process()
    multiprocessing.resource_tracker.ensure_running()
    before = me.num_fds(), threading.active_count()
    server = new_server(PROBE)
    assert server.wait_until_ready() == ""
    answer(ForkContext(server), fork_probe.descriptors)
    pid = server.process.pid
    server.stop()
    server.stop()
    assert not psutil.pid_exists(pid)
    assert (me.num_fds(), threading.active_count()) == before


def test_a_server_ends_with_its_parent_even_in_the_middle_of_an_import(
    tmp_path: Path,
) -> None:
    program = f"""
        from containers.vllm_api.forkserver.client import ForkServer
        from containers.vllm_api.forkserver.preloads import Preloads
        import sys, time
        sys.path.insert(0, {str(tmp_path)!r})
        server = ForkServer(Preloads(["{slow_module(tmp_path)}"]), on_cpu=False)
        print(server.process.pid, flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        wait_for((tmp_path / "importing").exists)
        assert os.getpgid(server.pid) != os.getpgid(parent.pid)
        parent.kill()
    wait_for(lambda: not server.is_running(), within_s=2.0)


def test_a_function_of_the_program_itself_can_be_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            from containers.vllm_api.forkserver.client import ForkServer
            from containers.vllm_api.forkserver.preloads import Preloads
            from containers.vllm_api.forkserver.process import ForkContext

            def work(value):
                print("worked on", value, __name__, flush=True)

            if __name__ == "__main__":
                server = ForkServer(Preloads(), on_cpu=False)
                assert server.wait_until_ready() == ""
                process = ForkContext(server).Process(target=work, args=(7,))
                process.start()
                process.join()
                server.stop()
            """
        )
    )
    outcome = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert outcome.stdout == "worked on 7 __mp_main__\n"
    assert outcome.stderr == ""


class QuickServers(ForkServers):
    """Servers that import next to nothing."""

    @staticmethod
    def _new() -> ForkServer:
        return new_server(PROBE)


def test_one_server_serves_all_who_take_it_until_the_last_gives_it_back() -> None:
    servers = QuickServers()
    servers.take()
    servers.take()
    first, trouble = servers.ready(lambda: None)
    servers.give_back()
    second, _ = servers.ready(lambda: None)
    assert trouble == ""
    assert first is second
    assert second.is_alive
    servers.give_back()
    assert not first.is_alive


def test_a_server_is_replaced_when_it_died_or_its_environment_is_outdated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = QuickServers()
    servers.take()
    try:
        first, _ = servers.ready(lambda: None)
        monkeypatch.setenv("HF_HOME", "/elsewhere")
        second, _ = servers.ready(lambda: None)
        assert second is not first
        assert first.is_alive  # its engines may still start workers
        second.process.kill()
        second.process.wait()
        third, trouble = servers.ready(lambda: None)
        assert trouble == ""
        assert third is not second
    finally:
        servers.give_back()
    assert not any(each.is_alive for each in (first, second, third))


def slow_module(folder: Path) -> str:
    """Name of a module that takes a minute to import, after it left a mark."""
    (folder / "slow_to_import.py").write_text(
        "import pathlib, time\n"
        "pathlib.Path(__file__).with_name('importing').touch()\n"
        "time.sleep(60)\n"
    )
    sys.path.insert(0, str(folder))
    return "slow_to_import"


@pytest.fixture(autouse=True)
def same_path() -> Iterator[None]:
    before = sys.path.copy()
    yield
    sys.path[:] = before


def wait_for(condition: Callable[[], bool], *, within_s: float = 20.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
