"""What belongs to the host stays the host's: signals, threads, processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from containers import ServerSettings
from containers.errors import SettingsError
from tests.http.test_answers import QUESTION

pytestmark = pytest.mark.heavy


def handlers() -> dict[int, object]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def test_no_signal_handler_is_changed(serving_app: FastAPI) -> None:
    before, wakeup = handlers(), signal.set_wakeup_fd(-1)
    with TestClient(serving_app) as client:
        client.post("/v1/chat/completions", json=QUESTION)
        during = handlers()
    assert during == before == handlers()
    assert signal.set_wakeup_fd(wakeup) == -1


def test_no_thread_task_or_process_is_left(
    serving_app: FastAPI,
) -> None:
    async def live() -> set[str]:
        async with serving_app.router.lifespan_context(serving_app):
            pass
        return {task.get_name() for task in asyncio.all_tasks()}

    before = set(threading.enumerate())
    tasks = asyncio.run(live())
    assert len(tasks) == 1
    assert set(threading.enumerate()) <= before
    assert multiprocessing.active_children() == []


def test_importing_and_making_an_app_starts_nothing() -> None:
    script = (
        "import sys, threading, multiprocessing\n"
        "from app import create_app\n"
        "from containers import Settings\n"
        "create_app(Settings(models=[{'name': 'm', 'source': 'a/b'}]))\n"
        "heavy = {'vllm', 'torch', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
        "assert not multiprocessing.active_children()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


@pytest.mark.parametrize("workers", [0, 2, 8])
def test_more_than_one_worker_is_refused_in_the_settings(workers: int) -> None:
    with pytest.raises(SettingsError, match=r"workers.*would load the model"):
        ServerSettings(workers=workers)


def test_one_of_several_uvicorn_workers_refuses_to_start(
    serving_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = SimpleNamespace(_kwargs={"config": SimpleNamespace(workers=2)})
    monkeypatch.setattr(multiprocessing, "current_process", lambda: process)
    with pytest.raises(SettingsError, match="2 workers"):
        TestClient(serving_app).__enter__()


HOST = """
from fastapi import FastAPI
from app import include_serving
from containers import Settings

app = FastAPI()
include_serving(app, Settings(models=[{"name": "m", "source": "./absent"}]))
"""


def test_uvicorn_with_several_workers_says_why_it_does_not_start(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("host")
    (folder / "host.py").write_text(HOST)
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "host:app", "--port", "0", "--workers", "2"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "2 workers, and each would load the model" in line:
                break
        else:
            pytest.fail("it did not say why")
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()
