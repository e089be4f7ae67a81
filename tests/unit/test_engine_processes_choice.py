"""When engine processes are forked, and why not when they are not."""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from containers.errors import SettingsError
from containers.settings import PerformanceSettings
from containers.vllm_api import engine_processes
from containers.vllm_api.engine_processes import EngineProcesses
from containers.vllm_api.forkserver import choice
from containers.vllm_api.forkserver.choice import (
    METHOD,
    reason_before_start,
    reason_for,
)
from containers.vllm_api.forkserver.environment import (
    outdated,
    starting_environment,
)
from containers.vllm_api.forkserver.openmp import cpu_list
from containers.vllm_api.forkserver.torch_build import accelerator_in

CUDA_BUILD = "from typing import Optional\ncuda: Optional[str] = '12.9'\nhip = None\n"
CPU_BUILD = "from typing import Optional\ncuda: Optional[str] = None\nhip = None\n"

Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def plain(monkeypatch: Patch) -> None:
    """A machine on which forking is safe, whatever this one is."""
    monkeypatch.delenv(METHOD, raising=False)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(choice, "accelerator", lambda: "")


def config(**parallel: Any) -> Any:
    usual = {
        "numa_bind": False,
        "distributed_executor_backend": "mp",
        "data_parallel_size": 1,
        "nnodes": 1,
    }
    return SimpleNamespace(
        device_config=SimpleNamespace(device_type="cpu"),
        parallel_config=SimpleNamespace(**usual | parallel),
    )


def initialised(monkeypatch: Patch) -> None:
    device = SimpleNamespace(is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=device))


def in_a_ray_actor(monkeypatch: Patch) -> None:
    context = SimpleNamespace(get_actor_id=lambda: "an actor")
    ray = SimpleNamespace(
        is_initialized=lambda: True, get_runtime_context=lambda: context
    )
    monkeypatch.setitem(sys.modules, "ray", ray)


def built_for_cuda(monkeypatch: Patch) -> None:
    monkeypatch.setattr(choice, "accelerator", lambda: "CUDA")


def on_wsl(monkeypatch: Patch) -> None:
    name = ("Linux", "host", "5.15.0-microsoft-standard-WSL2")
    monkeypatch.setattr(platform, "uname", lambda: name)


def test_on_the_cpu_of_linux_processes_are_forked() -> None:
    assert reason_before_start("auto") == ""
    assert reason_before_start(True) == ""
    assert reason_for(config(), "auto") == ""


def test_a_folder_that_is_called_ray_is_not_ray(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    assert reason_for(config(), "auto") == ""


@pytest.mark.parametrize(
    ("unsafe", "reason"),
    [
        (lambda m: m.setattr(sys, "platform", "darwin"), "it needs Linux"),
        (on_wsl, "this is WSL"),
        (in_a_ray_actor, "this is a Ray actor"),
        (lambda m: m.setenv(METHOD, "fork"), f"{METHOD} is set"),
        (lambda m: m.setenv(METHOD, "spawn"), f"{METHOD} is set"),
        (lambda m: m.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0"), "is 0"),
        (lambda m: m.setattr(sys, "argv", ["x", "--numa-bind"]), "NUMA"),
        (lambda m: m.setenv("LD_PRELOAD", "/lib/libiomp5.so"), "another OpenMP"),
        (lambda m: m.setattr(sys, "frozen", True, raising=False), "no ordinary"),
    ],
)
def test_where_it_is_not_safe_vllms_own_method_is_used_even_if_asked(
    unsafe: Callable[[Patch], None], reason: str, monkeypatch: Patch
) -> None:
    if reason.startswith(METHOD):
        monkeypatch.delitem(sys.modules, "vllm.platforms", raising=False)
    unsafe(monkeypatch)
    assert reason in reason_before_start(True)
    assert reason in reason_before_start("auto")


def test_what_vllm_itself_sets_on_the_cpu_is_not_taken_for_the_users_choice(
    monkeypatch: Patch,
) -> None:
    monkeypatch.setitem(sys.modules, "vllm.platforms", SimpleNamespace())
    monkeypatch.setenv(METHOD, "spawn")
    assert reason_before_start("auto") == ""


def test_beside_an_accelerator_it_has_to_be_asked_for(monkeypatch: Patch) -> None:
    built_for_cuda(monkeypatch)
    assert "built for CUDA" in reason_before_start("auto")
    assert reason_before_start(True) == ""
    initialised(monkeypatch)
    assert reason_before_start(True) == "CUDA is initialized in this process"


@pytest.mark.parametrize(
    ("parallel", "reason"),
    [
        ({"numa_bind": True}, "NUMA"),
        ({"distributed_executor_backend": "ray"}, "the executor is ray"),
        ({"data_parallel_size": 2}, "several replicas"),
        ({"nnodes": 2}, "several replicas or nodes"),
    ],
)
def test_an_engine_that_needs_processes_of_its_own_gets_them(
    parallel: dict[str, Any], reason: str
) -> None:
    assert reason in reason_for(config(**parallel), True)


def test_an_engine_that_starts_after_cuda_was_used_is_not_forked(
    monkeypatch: Patch,
) -> None:
    initialised(monkeypatch)
    assert "CUDA is initialized" in reason_for(config(), True)


def test_the_choice_is_logged_once_with_its_reason(
    monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine_processes, "_told", set())
    on_wsl(monkeypatch)
    processes = EngineProcesses()
    with caplog.at_level(logging.INFO), processes.held():
        for _ in range(2):
            with processes.for_engine(config(), heed=lambda: None):
                pass
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message.endswith("vLLM's own method: this is WSL")


def test_switched_off_it_starts_no_process(monkeypatch: Patch) -> None:
    def fail() -> None:
        pytest.fail("a fork server was started")

    monkeypatch.setattr(engine_processes.ForkServers, "_new", staticmethod(fail))
    processes = EngineProcesses(fast_start=False)
    with processes.held():
        assert processes.reason == "performance.fast_start is false"


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_the_setting_takes_auto_true_and_false_only(value: object) -> None:
    assert PerformanceSettings().fast_start == "auto"
    assert PerformanceSettings(fast_start=False).fast_start is False
    with pytest.raises(SettingsError, match="fast_start"):
        PerformanceSettings(fast_start=value)


def test_what_torch_was_built_for_is_read_from_its_text() -> None:
    assert accelerator_in(CUDA_BUILD) == "CUDA"
    assert accelerator_in(CPU_BUILD) == ""


def test_a_folder_put_in_front_twice_makes_no_server_outdated() -> None:
    name = "LD_LIBRARY_PATH"
    assert outdated({name: "/a:/a:/b:"}, {name: "/a:/b:"}) == []
    assert outdated({name: "/b:/a"}, {name: "/a:/b"}) == [name]
    assert outdated({name: ""}, {}) == [name]


@pytest.mark.parametrize(
    ("name", "is_early"),
    [
        ("OMP_NUM_THREADS", True),
        ("HF_HOME", True),
        ("VLLM_LOGGING_LEVEL", True),
        ("VLLM_CPU_OMP_THREADS_BIND", False),
        ("VLLM_WORKER_MULTIPROC_METHOD", False),
        ("PYTEST_CURRENT_TEST", False),
    ],
)
def test_a_variable_that_imports_read_makes_a_server_outdated(
    name: str, is_early: bool
) -> None:
    expected = [name] if is_early else []
    assert outdated({}, {name: "1"}) == expected
    assert outdated({name: "1"}, {}) == expected
    assert outdated({name: "1"}, {name: "2"}) == expected
    assert outdated({name: "1"}, {name: "1"}) == []


def test_the_environment_of_a_server_holds_torchs_openmp_unless_there_is_one(
    monkeypatch: Patch,
) -> None:
    library = starting_environment(on_cpu=True).get("LD_PRELOAD", "")
    assert library == "" or "libgomp" in library
    monkeypatch.setenv("LD_PRELOAD", "/lib/libgomp.so.1")
    assert starting_environment(on_cpu=True)["LD_PRELOAD"] == "/lib/libgomp.so.1"


def test_cpus_are_listed_in_their_order() -> None:
    assert cpu_list("3 0-2") == [3, 0, 1, 2]
    assert cpu_list("{4,5}") == [4, 5]
    assert cpu_list("") == []
