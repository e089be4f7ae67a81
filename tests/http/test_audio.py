"""Speech: what a model that hears answers, and one that does not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from starlette.testclient import TestClient, WebSocketDenialResponse

from app import create_app
from app.service import STATE_ATTRIBUTE
from containers import running, vllm_api
from containers.errors import InjectionError
from containers.testing import FakeEngine, override
from tests.http.test_errors import error_of

PATHS = ["/v1/audio/transcriptions", "/v1/audio/translations"]
SOUND = {"file": ("a.wav", b"RIFF....", "audio/wav")}
HEARING = ("generate", "transcription", "realtime")


class Whisper:
    """As much of vLLM's interface of models that hear as its serving objects use."""

    supports_segment_timestamp = True
    supports_explicit_language_detection = False
    realtime_max_tokens = 8
    no_space_languages: frozenset[str] = frozenset()

    @staticmethod
    def get_speech_to_text_config(model_config: Any, task_type: str) -> Any:
        return SimpleNamespace(
            sample_rate=16_000, allow_audio_chunking=False, max_audio_clip_s=None
        )

    @staticmethod
    def get_streaming_post_processor_cls() -> Any:
        from vllm.model_executor.models import interfaces

        return interfaces.StreamingTranscriptionPostProcessor

    @staticmethod
    def validate_language(language: str | None) -> str | None:
        return language or "en"

    @staticmethod
    def get_generation_prompt(params: Any) -> Any:
        return {"prompt": f"{params.task_type}:"}

    @staticmethod
    def post_process_output(text: str) -> str:
        return text

    @staticmethod
    def get_num_audio_tokens(*_: Any) -> int:
        return 4

    @staticmethod
    async def buffer_realtime_audio(audio: Any, *_: Any) -> Any:
        async for _each in audio:
            yield {"prompt": "heard:"}


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine("Hello there.", supported_tasks=HEARING)


@pytest.fixture
def hearing(
    serving_container: Container, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Container]:
    """The tiny model with ears: their class and the decoding of sound are stand-ins."""
    import numpy as np

    base = vllm_api.SpeechToTextBaseServing
    monkeypatch.setattr(base, "model_cls", Whisper)
    monkeypatch.setattr(vllm_api.OpenAIServingRealtime, "model_cls", Whisper)

    def decode(self: Any, audio: bytes) -> Any:
        if not audio.startswith(b"RIFF"):
            raise ValueError("Invalid or unsupported audio file.")
        return [np.zeros(16_000, dtype=np.float32)], 1.0

    monkeypatch.setattr(base, "_decode_and_chunk_speech", decode)
    with override(serving_container, engine=engine):
        yield serving_container


@pytest.fixture
def client(hearing: Container) -> Iterator[TestClient]:
    with TestClient(create_app(hearing)) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [{"files": SOUND}, {"content": b"noise"}, {}])
async def test_a_chat_model_says_404_whatever_is_sent(
    serving_client: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    error = error_of(await serving_client.post(path, **body), 404)
    assert error["param"] == "model"
    assert "does not support" in error["message"]


@pytest.mark.parametrize("path", PATHS)
def test_a_model_that_hears_writes_down_what_is_said(
    client: TestClient, engine: FakeEngine, path: str
) -> None:
    response = client.post(path, files=SOUND, data={"model": "tiny", "language": ""})
    assert response.status_code == 200, response.text
    assert response.json()["text"] == "Hello there."
    (request,) = engine.requests
    task = "transcribe" if path == PATHS[0] else "translate"
    assert request.prompt == f"{task}:"


@pytest.mark.parametrize("path", PATHS)
def test_it_streams(client: TestClient, path: str) -> None:
    response = client.post(path, files=SOUND, data={"stream": "true"})
    assert response.headers["content-type"].startswith("text/event-stream")
    *chunks, done = response.text.strip().split("\n\n")
    assert done == "data: [DONE]"
    deltas = [json.loads(c[6:])["choices"][0]["delta"].get("content") for c in chunks]
    assert "".join(each or "" for each in deltas).strip() == "Hello there."


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"content": b"noise"}, 400),
        ({"json": {"file": "x"}}, 400),
        ({"data": {"file": "a text"}}, 422),
        ({"files": SOUND, "data": {"temperature": "hot"}}, 400),
        ({"files": {"file": ("a.wav", b"noise")}}, 400),
        ({"files": SOUND, "data": {"model": "none"}}, 404),
        (
            {"content": b"x", "headers": {"content-type": "multipart/form-data"}},
            400,
        ),
        (
            {
                "content": b"--b\r\nnonsense",
                "headers": {"content-type": "multipart/form-data; boundary=b"},
            },
            400,
        ),
    ],
)
def test_a_bad_form_is_refused(
    client: TestClient, engine: FakeEngine, path: str, body: dict[str, Any], status: int
) -> None:
    error_of(client.post(path, **body), status)  # type: ignore[arg-type]  # alike
    assert engine.requests == []


def test_a_file_that_is_too_large_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_MAX_AUDIO_CLIP_FILESIZE_MB", "1")
    files = {"file": ("a.wav", b"RIFF" + b"0" * (1 << 20))}
    response = client.post(PATHS[0], files=files)
    error = error_of(response, 400)  # type: ignore[arg-type]  # alike
    assert "Maximum file size exceeded" in error["message"]


async def test_it_loads_no_tokenizer_of_its_own(
    hearing: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm.entrypoints.speech_to_text.base.serving as module

    def load(**_: Any) -> Any:
        raise AssertionError("a second tokenizer")

    monkeypatch.setattr(module, "get_tokenizer", load)
    async with running(hearing) as model:
        assert model.serving_transcription.tokenizer is model.tokenizer
        assert model.serving_translation.tokenizer is model.tokenizer
        assert model.serving_realtime.tokenizer is model.tokenizer
        executor = model.serving_transcription._preprocess_executor
    assert executor._shutdown


@pytest.mark.parametrize("module", ["transcription", "translation", "realtime"])
async def test_a_tokenizer_that_is_not_loaded_is_refused_at_once(
    hearing: Container, module: str
) -> None:
    from importlib import import_module

    found = import_module(f"containers.serving.{module}")
    build: Callable[..., Any] = getattr(found, f"Serving{module.title()}")
    async with running(hearing) as model:
        injected = {
            "engine": model.engine,
            "models": model.models,
            "renderer": model.renderer,
            "vllm_config": model.vllm_config,
            "settings": model.settings.chat,
        }
        with pytest.raises(InjectionError, match="a loaded tokenizer"):
            build(tokenizer=None, **injected)


def test_a_chat_models_realtime_is_denied_with_404(
    serving_container: Container,
) -> None:
    with (
        TestClient(create_app(serving_container)) as client,
        pytest.raises(WebSocketDenialResponse) as denied,
        client.websocket_connect("/v1/realtime"),
    ):
        pass
    assert denied.value.status_code == 404
    assert denied.value.json()["error"]["param"] == "model"


def test_nonsense_on_a_conversation_is_told(client: TestClient) -> None:
    with client.websocket_connect("/v1/realtime?model=tiny") as socket:
        assert socket.receive_json()["type"] == "session.created"
        socket.send_json({"type": "session.update", "model": "none"})
        assert socket.receive_json()["code"] == "model_not_found"
        for nonsense in ("{bad", "[]", '"x"', "{}"):
            socket.send_text(nonsense)
            assert socket.receive_json()["type"] == "error"


def test_speech_becomes_text_while_it_is_spoken(
    client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def generate(prompt: Any, sampling_params: Any, request_id: str) -> Any:
        async for heard in prompt:
            tokens = heard.prompt["prompt_token_ids"]
            spoken = {"prompt_token_ids": tokens}
            async for output in play(spoken, sampling_params, request_id):
                yield output

    play = engine.generate
    monkeypatch.setattr(engine, "generate", generate)
    with client.websocket_connect("/v1/realtime") as socket:
        assert socket.receive_json()["type"] == "session.created"
        socket.send_json({"type": "session.update", "model": "tiny"})
        sound = base64.b64encode(b"\0" * 3200).decode()
        socket.send_json({"type": "input_audio_buffer.append", "audio": sound})
        socket.send_json({"type": "input_audio_buffer.commit"})
        socket.send_json({"type": "input_audio_buffer.commit", "final": True})
        texts = []
        while (event := socket.receive_json())["type"] == "transcription.delta":
            texts.append(event["delta"])
        assert event["type"] == "transcription.done"
        assert event["text"] == "".join(texts) == "Hello there."


def test_a_conversation_ends_with_notice_when_the_server_does(
    client: TestClient,
) -> None:
    service = getattr(client.app.state, STATE_ATTRIBUTE)  # type: ignore[attr-defined]  # a FastAPI app
    with client.websocket_connect("/v1/realtime") as socket:
        assert socket.receive_json()["type"] == "session.created"
        assert service.flights.n == 1
        assert client.portal is not None
        client.portal.call(lambda: service.drain(timeout_s=0.1))
        last = socket.receive_json()
        assert (last["type"], last["code"]) == ("error", "server_shutting_down")
        assert socket.receive()["code"] == 1001
    assert service.flights.n == 0
