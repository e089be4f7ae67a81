"""An engine's processes are started as vLLM starts them, but before its renderer."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import tempfile
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from containers import vllm_api
from containers.testing import tiny_model
from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.engine import _with
from containers.vllm_api.engine_core import N_TRIES, EngineCore
from containers.vllm_api.engine_sockets import PLACE
from containers.vllm_api.sharing import EngineSharing, Place

pytestmark = pytest.mark.heavy

RACE = "dictionary changed size during iteration"
WITHIN_S = 20.0


class Changing:
    """Part of a configuration that cannot be pickled the first times."""

    def __init__(self, n_times: int, text: str = RACE) -> None:
        self.n_left = n_times
        self._text = text

    def __reduce__(self) -> tuple[Any, ...]:
        if self.n_left:
            self.n_left -= 1
            raise RuntimeError(self._text)
        return str, ("settled",)


class Client:
    """Stands for vLLM's client: sends the configuration, and can be shut down."""

    made: list[dict[str, Any]]
    n_shut_down = 0

    def __init__(self, **given: Any) -> None:
        self.made.append(given)
        pickle.dumps(given["vllm_config"])

    def shutdown(self, timeout: float) -> None:
        assert timeout > 0
        type(self).n_shut_down += 1


@pytest.fixture
def vllm_config(tmp_path: Path) -> Any:
    model = str(tiny_model(tmp_path))
    return create_vllm_config(model=model, served_model_name=["tiny"], arguments={})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Client]]:
    """What is made instead of vLLM's client; folders of sockets are in ``tmp_path``."""

    class Own(Client):
        made: list[dict[str, Any]] = []  # noqa: RUF012  # of this test

    maker = SimpleNamespace(make_async_mp_client=Own)
    monkeypatch.setattr(vllm_api, "EngineCoreClient", maker, raising=False)
    sockets = tmp_path / "s"
    sockets.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(sockets))
    monkeypatch.delenv(PLACE, raising=False)
    yield Own
    assert list(sockets.iterdir()) == []


def test_a_configuration_that_changes_meanwhile_is_sent_again(
    vllm_config: Any, client: type[Client]
) -> None:
    vllm_config.changing = Changing(1)
    core = EngineCore(vllm_config=vllm_config)
    core.run()
    assert len(client.made) == 2
    core.end()
    assert client.n_shut_down == 1


@pytest.mark.parametrize(
    ("changing", "n_tries"),
    [(Changing(N_TRIES), N_TRIES), (Changing(1, "cannot be sent"), 1)],
)
def test_it_is_not_tried_for_ever_nor_for_anything(
    vllm_config: Any, client: type[Client], changing: Changing, n_tries: int
) -> None:
    vllm_config.changing = changing
    core = EngineCore(vllm_config=vllm_config)
    with pytest.raises(RuntimeError):
        core.run()
    assert len(client.made) == n_tries
    core.end()
    assert client.n_shut_down == 0


def test_what_a_model_would_remember_is_worked_out_before(
    vllm_config: Any, client: type[Client]
) -> None:
    core = EngineCore(vllm_config=vllm_config)
    core.run()
    core.end()
    before = set(vars(vllm_config.model_config))
    assert "is_encoder_decoder" in before
    assert client.made[0]["log_stats"] is True


async def test_it_starts_once_and_ends_without_an_engine(
    vllm_config: Any, client: type[Client]
) -> None:
    core = EngineCore(vllm_config=vllm_config, log_stats=False)
    await core.stop()  # nothing has started
    await core.start()
    await core.start()
    assert [each["log_stats"] for each in client.made] == [False]
    await core.stop()
    assert client.n_shut_down == 1


async def test_given_up_it_waits_for_its_thread_and_keeps_nothing(
    vllm_config: Any, client: type[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_end = threading.Event(), threading.Event()

    def slow(**given: Any) -> Client:
        began.set()
        assert may_end.wait(WITHIN_S)
        return client(**given)

    monkeypatch.setattr(vllm_api.EngineCoreClient, "make_async_mp_client", slow)
    starting = asyncio.ensure_future(EngineCore(vllm_config=vllm_config).start())
    await asyncio.to_thread(began.wait, WITHIN_S)
    starting.cancel()
    await asyncio.sleep(0.05)
    assert not starting.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert client.n_shut_down == 1
    assert not multiprocessing.active_children()


async def test_one_that_waits_for_its_turn_is_given_up_at_once(
    vllm_config: Any, client: type[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_end = threading.Event(), threading.Event()

    def slow(**given: Any) -> Client:
        began.set()
        assert may_end.wait(WITHIN_S)
        return client(**given)

    monkeypatch.setattr(vllm_api.EngineCoreClient, "make_async_mp_client", slow)
    first = EngineCore(vllm_config=vllm_config)
    running = asyncio.ensure_future(first.start())
    await asyncio.to_thread(began.wait, WITHIN_S)
    second = asyncio.ensure_future(EngineCore(vllm_config=vllm_config).start())
    await asyncio.sleep(0.05)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    may_end.set()
    await running
    assert len(client.made) == 1
    await first.stop()


def test_some_processes_wait_for_the_renderer(
    vllm_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_WORKER_MULTIPROC_METHOD", raising=False)
    core = EngineCore(vllm_config=vllm_config)
    assert not core.follows_renderer
    monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "fork")
    assert core.follows_renderer
    monkeypatch.delenv("VLLM_WORKER_MULTIPROC_METHOD")
    shared = SimpleNamespace(mm_processor_cache_type="shm")
    monkeypatch.setattr(vllm_config.model_config, "multimodal_config", shared)
    assert core.follows_renderer


def test_a_client_of_anothers_engine_starts_none(
    vllm_config: Any, client: type[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    sharing = EngineSharing(2, Place(1, "ipc:///in", "ipc:///out"))
    core = EngineCore(vllm_config=vllm_config, sharing=sharing)
    monkeypatch.setattr(core, "_construct", None)
    core.run()
    (given,) = client.made
    assert given["client_index"] == 1
    assert given["client_addresses"]["input_address"] == "ipc:///in"
    assert core.processes == core.places.left == []
    core.end()


def test_vllm_makes_its_engine_of_what_it_is_given(
    monkeypatch: pytest.MonkeyPatch, vllm_config: Any
) -> None:
    def made_twice(*_: Any) -> None:
        raise AssertionError("the tracer is there already")

    monkeypatch.setitem(
        vllm_api.AsyncLLM.__init__.__globals__, "init_tracer", made_twice
    )
    endpoint = "http://127.0.0.1:1"
    monkeypatch.setattr(
        vllm_config.observability_config, "otlp_traces_endpoint", endpoint
    )
    warmed: list[Any] = []
    client = SimpleNamespace(shutdown=lambda timeout: None, engine_ranks_managed=[0])
    client._start_mm_warmup = lambda: warmed.append(client._renderer)
    renderer = SimpleNamespace(
        tokenizer=None, shutdown=lambda: None, mm_processor=None, config=vllm_config
    )
    monkeypatch.setitem(
        vllm_api.AsyncLLM.__init__.__globals__, "InputProcessor", lambda *_: None
    )
    made = _with(vllm_api.AsyncLLM, renderer, client).from_vllm_config(
        vllm_config, disable_log_stats=True
    )
    assert made.renderer is renderer
    assert made.engine_core is client
    assert warmed == [renderer]


def test_vllms_own_client_has_what_it_is_handed() -> None:
    module = import_module(vllm_api.EngineCoreClient.__module__)
    handed = module.MPClient.__init__.__code__.co_names
    assert {"_renderer", "_start_mm_warmup"} <= set(handed)
    used = vllm_api.AsyncLLM.__init__.__code__.co_names
    assert {"renderer_from_config", "EngineCoreClient", "init_tracer"} <= set(used)
