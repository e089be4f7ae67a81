"""The pytest plugin: what it finds left behind, and that it is no burden unused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.project import WITHOUT_VLLM, Run, auto, pytest_run

LEAKY = """
import asyncio
import pytest
from containers import ModelContainer
from containers import running
from containers.testing import FakeServingChat, override

async def test_tidy(serving_client, serving_container):
    with override(serving_container, serving_chat=FakeServingChat("Lima.")):
        assert (await serving_client.get("/capital")).json() == "Lima."
        task = asyncio.create_task(asyncio.sleep(0))
    assert not task.done()

async def test_task_left(serving_client):
    asyncio.create_task(asyncio.sleep(60), name="forgotten")

async def test_container_left_started(serving_container):
    await serving_container.init_resources()

def test_override_left(serving_container):
    serving_container.engine.override(FakeServingChat())

def test_override_of_all_left(serving_container):
    ModelContainer.engine.override(FakeServingChat())

async def test_task_of_the_app_left(serving_app, serving_client):
    @serving_app.get("/leak")
    async def leak() -> None:
        asyncio.create_task(asyncio.sleep(60), name="of the app")

    await serving_client.get("/leak")

async def test_override_after_the_app_started(serving_client, serving_container):
    await serving_client.get("/capital")
    with serving_container.serving_chat.override(FakeServingChat("Lima.")):
        pass

async def test_override_of_several_after_the_start(serving_container):
    async with running(serving_container):
        serving_container.override_providers(serving_chat=FakeServingChat("Lima."))

async def test_override_undone_after_the_start(serving_client, serving_container):
    with override(serving_container, serving_chat=FakeServingChat("Lima.")):
        await serving_client.get("/capital")
    await serving_client.get("/capital")

@pytest.fixture
def answer(serving_container):
    overridden = []

    def answer(text):
        chat = FakeServingChat(text)
        overridden.append(serving_container.serving_chat.override(chat))

    yield answer
    for each in overridden:
        each.__exit__()

async def test_overrides_that_a_fixture_undoes(answer, serving_client):
    answer("Lima.")
    answer("Rome.")
    assert (await serving_client.get("/capital")).json() == "Rome."

@pytest.fixture
def started(serving_container):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(serving_container.init_resources())
    yield
    loops.append(loop)  # nobody closes it, which would close the container

loops = []

def test_started_by_a_fixture(started):
    pass

def test_failing_with_an_override(serving_container):
    serving_container.engine.override(FakeServingChat())
    raise KeyError("another error of its own")

async def test_failing_by_itself(serving_client):
    asyncio.create_task(asyncio.sleep(60), name="unmentioned")
    raise KeyError("its own error")

def test_untouched_by_those_before():
    ModelContainer.engine.reset_override()

async def test_without_the_fixtures_nothing_is_checked():
    asyncio.create_task(asyncio.sleep(60))
"""


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("leaky")
    (folder / "conftest.py").write_text(WITHOUT_VLLM)
    (folder / "test_leaky.py").write_text(LEAKY)
    return pytest_run(folder, *auto())


@pytest.mark.parametrize(
    ("test", "outcome", "left"),
    [
        ("test_task_left", "FAILED", "task forgotten still runs sleep"),
        ("test_container_left_started", "FAILED", "serving_chat is still started"),
        ("test_override_left", "ERROR", "serving_container.engine is still overr"),
        ("test_override_of_all_left", "ERROR", "ModelContainer.engine is still overr"),
        ("test_task_of_the_app_left", "ERROR", "task of the app still runs sleep"),
        ("test_override_after_the_app_started", "FAILED", "after the start, when all"),
        ("test_override_of_several_after_the_start", "FAILED", "when all was built"),
        ("test_override_undone_after_the_start", "FAILED", "after the app had start"),
        ("test_started_by_a_fixture", "ERROR", "serving_container is still started"),
        ("test_failing_with_an_override", "FAILED", "KeyError: 'another error of its"),
        ("test_failing_by_itself", "FAILED", "KeyError: 'its own error'"),
    ],
)
def test_a_test_that_leaves_something_behind_fails_by_name(
    leaky: Run, test: str, outcome: str, left: str
) -> None:
    assert any(f"::{test} " in line for line in leaky.lines(outcome)), leaky.printed
    assert left in leaky.printed


def test_only_those_fail(leaky: Run) -> None:
    assert leaky.count("failed") == 7
    assert leaky.count("errors") == 4
    assert leaky.count("passed") == 8  # an error at the end of three, none of one
    assert "unmentioned" not in leaky.printed.partition("short test summary")[2]


def test_the_plugin_imports_nothing_until_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass")
    code = """
import sys, pytest
before = set(sys.modules)
import pytest_vllm_di
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
pytest.main(["-q", "-p", "pytest_vllm_di", "--markers"])
print({"app", "containers", "httpx", "starlette"} & sys.modules.keys())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    first, *_, last = done.stdout.strip().splitlines()
    assert first == "['pytest_vllm_di']"
    assert last == "set()"
    assert "@pytest.mark.cassette(path=None" in done.stdout


@pytest.mark.parametrize("option", ["--vllm-di-record=tests", "--vllm-di-record tests"])
def test_an_unknown_mode_of_recording_is_refused(tmp_path: Path, option: str) -> None:
    run = pytest_run(tmp_path, *option.split())
    assert "'tests' is no mode (none, once, new, all)" in run.printed
    assert "write --vllm-di-record=new tests, or the path first" in run.printed
