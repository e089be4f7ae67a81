"""One engine for several processes, as every supported vLLM has it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from socket import AF_UNIX, socket
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zmq
from dependency_injector import providers
from vllm.v1.engine import (
    EngineCoreOutput,
    EngineCoreOutputs,
    EngineCoreRequest,
    FinishReason,
)
from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

from containers import ModelContainer, ModelSettings, running, vllm_api
from containers.settings import PerformanceSettings
from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.left_place import clear, fail
from containers.vllm_api.sharing import CLIENT, LAUNCH, SPARE, EngineSharing, Place
from tests.conftest import MODEL

ENGINE = {"enforce_eager": True, "max_model_len": 64}
ADD, ABORT = b"\x00", b"\x01"


class LaunchedError(Exception):
    """Instead of an engine."""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket's, which pytest's may not be."""
    with TemporaryDirectory(prefix="s-") as folder:
        yield Path(folder)


def place_in(folder: Path) -> Place:
    return Place(3, f"ipc://{folder}/i", f"ipc://{folder}/o")


@contextmanager
def stand_in(
    place: Place, answer: Callable[[EngineCoreRequest], list[EngineCoreOutput]]
) -> Iterator[SimpleQueue[tuple[bytes, Any]]]:
    """What an engine does at a client's place; it gives what it was sent."""
    heard: SimpleQueue[tuple[bytes, Any]] = SimpleQueue()
    ends = threading.Event()

    def run() -> None:
        with zmq.Context() as context:
            requests, results = context.socket(zmq.DEALER), context.socket(zmq.PUSH)
            requests.setsockopt(zmq.IDENTITY, (0).to_bytes(2, "little"))
            requests.connect(place.input_address)
            results.connect(place.output_address)
            requests.send(b"")
            while not ends.is_set():
                if not requests.poll(20):
                    continue
                kind, *frames = requests.recv_multipart()
                if kind != ADD:
                    heard.put((kind, MsgpackDecoder().decode(frames)))
                    continue
                request = MsgpackDecoder(EngineCoreRequest).decode(frames)
                heard.put((kind, request))
                outputs = EngineCoreOutputs(outputs=answer(request))
                results.send_multipart(MsgpackEncoder().encode(outputs))
            requests.close(linger=0)
            results.close(linger=0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield heard
    finally:
        ends.set()
        thread.join()


def test_an_engine_is_told_of_the_places_of_the_others(
    tiny_folder: Path, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_RPC_BASE_PATH", str(short_folder))
    told = []

    def launch(config: Any, executor: Any, log_stats: Any, addresses: Any) -> Any:
        told.append(addresses)
        raise LaunchedError

    monkeypatch.setattr(f"{CLIENT}.{LAUNCH}", launch)
    config = create_vllm_config(
        model=str(tiny_folder),
        served_model_name=["m"],
        arguments=ENGINE,
        n_clients=3,
    )
    assert config.parallel_config._api_process_count == 3
    with EngineSharing(3).offered() as places, pytest.raises(LaunchedError):
        vllm_api.AsyncLLM.from_vllm_config(config)
    (addresses,) = told
    assert [each.index for each in places.left] == [*range(1, 3 + SPARE)]
    assert addresses.inputs[1:] == [each.input_address for each in places.left]
    assert addresses.outputs[1:] == [each.output_address for each in places.left]
    assert len({*addresses.inputs, *addresses.outputs}) == 2 * (3 + SPARE)


async def test_a_client_at_its_place_is_answered_there(
    tiny_folder: Path, short_folder: Path
) -> None:
    place = place_in(short_folder)

    def answer(request: EngineCoreRequest) -> list[EngineCoreOutput]:
        end = FinishReason.LENGTH
        return [EngineCoreOutput(request.request_id, [5, 6], finish_reason=end)]

    settings = ModelSettings(name=MODEL, source=str(tiny_folder), engine=ENGINE)
    container = ModelContainer(
        settings=settings,
        sharing=EngineSharing(2, place),
        performance=PerformanceSettings(fast_start=False),
    )
    container.supported_tasks.override(providers.Object(("generate",)))
    with stand_in(place, answer) as heard:
        async with running(container) as loaded:
            loaded.engine._supported_tasks = ("generate",)  # or it would ask for them
            parameters = vllm_api.SamplingParams(max_tokens=2)
            prompt = {"prompt_token_ids": [3, 4]}
            results = [
                [*output.outputs[0].token_ids]
                async for output in loaded.engine.generate(prompt, parameters, "r")
            ]
            kind, request = heard.get(timeout=5)
            assert (kind, request.client_index) == (ADD, place.index)
            assert results == [[5, 6]]

            fail(loaded.engine)
            await asyncio.sleep(0)
            assert loaded.engine.errored
            with pytest.raises(vllm_api.EngineDeadError):
                await anext(loaded.engine.generate(prompt, parameters, "r2"))


async def test_what_a_dead_client_has_asked_for_is_aborted(short_folder: Path) -> None:
    place = place_in(short_folder)
    aborted: list[str] = []
    told = asyncio.Event()

    class Core:
        async def abort_requests_async(self, ids: list[str]) -> None:
            aborted.extend(ids)
            told.set()

    class Engine:
        engine_core = Core()
        logger_manager = None

    with socket(AF_UNIX) as before:  # a process that was killed leaves its file
        before.bind(place.output_address.removeprefix("ipc://"))
    with zmq.Context() as context, context.socket(zmq.PUSH) as results:
        results.linger = 0
        results.connect(place.output_address)
        clearing = asyncio.create_task(clear(Engine(), place))
        ended = EngineCoreOutput("done", [1], finish_reason=FinishReason.STOP)
        outputs = EngineCoreOutputs(outputs=[EngineCoreOutput("open", [1]), ended])
        results.send_multipart(MsgpackEncoder().encode(outputs))
        async with asyncio.timeout(10):
            await told.wait()
        results.send(vllm_api.EngineCoreProc.ENGINE_CORE_DEAD)
        clearing.cancel()
        await asyncio.wait({clearing})
    assert aborted == ["open"]
