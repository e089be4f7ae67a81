"""Probabilities instead of texts: generative scoring and structured decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from starlette.testclient import TestClient
from tokenizers import Tokenizer

from app import create_app
from containers import ModelContainer, ModelSettings, vllm_api
from containers.testing import CHATML, FakeEngine, tiny_model
from tests.http.test_errors import JSON, error_of

SCORING = "/generative_scoring"
DECISIONS = "/v1/systemone"
ITEMS = {"model": "tiny", "query": "a", "items": ["b", "c"], "label_token_ids": [1, 2]}
QUESTIONS = {"model": "wise", "state": "It rains.", "questions": {}}
WET = {"type": "noul", "instructions": "Is it wet?"}
needs_decisions = pytest.mark.skipif(
    not vllm_api.offers("ServingStructuredDecisions"), reason="they came with vLLM 0.32"
)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"label_token_ids": [10**9]}, 400),
        ({"label_token_ids": []}, 400),
        ({"items": []}, 400),
        ({"items": 5}, 400),
        ({"model": "none"}, 404),
    ],
)
async def test_what_cannot_be_scored_is_refused(
    serving_client: httpx.AsyncClient, fields: dict[str, Any], status: int
) -> None:
    response = await serving_client.post(SCORING, json=ITEMS | fields)
    error_of(response, status)


@pytest.mark.parametrize(
    "path", [SCORING, pytest.param(DECISIONS, marks=needs_decisions)]
)
@pytest.mark.parametrize("content", ["{bad", "[]", "null", "", "{}"])
async def test_a_malformed_body_is_refused(
    serving_client: httpx.AsyncClient, path: str, content: str
) -> None:
    response = await serving_client.post(path, content=content, headers=JSON)
    error_of(response, 400)


@needs_decisions
async def test_a_model_that_cannot_decide_is_404(
    serving_client: httpx.AsyncClient,
) -> None:
    response = await serving_client.post(DECISIONS, json=QUESTIONS | {"model": "tiny"})
    assert error_of(response, 404)["param"] == "model"


def qwen(folder: Path, *, template: str = CHATML) -> ModelSettings:
    """The tiny model under the name of an architecture that can decide."""
    tiny_model(folder, chat_template=template)
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["yes", "no"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return ModelSettings(
        name="wise",
        source=str(folder),
        engine={"max_model_len": 256, "enforce_eager": True},
    )


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine("A")


@pytest.fixture
def wise(tmp_path: Path, engine: FakeEngine) -> Iterator[TestClient]:
    container: Container = ModelContainer(settings=qwen(tmp_path))
    container.engine.override(engine)
    with TestClient(create_app(container)) as client:
        yield client


@needs_decisions
def test_a_model_that_can_decide_is_asked(wise: TestClient, engine: FakeEngine) -> None:
    refused = wise.post(DECISIONS, json=QUESTIONS)
    assert "at least one question" in error_of(refused, 400)["message"]  # type: ignore[arg-type]  # alike
    wise.post(DECISIONS, json=QUESTIONS | {"questions": {"wet": WET}})
    (request,) = engine.requests
    assert request.sampling_params.max_tokens == 1


@needs_decisions
def test_it_takes_no_template_of_a_request(
    wise: TestClient, engine: FakeEngine
) -> None:
    kwargs = {"chat_template": "{{ 1 }}"}
    body = QUESTIONS | {"questions": {"wet": WET}, "chat_template_kwargs": kwargs}
    refused = wise.post(DECISIONS, json=body)
    assert "untrusted chat template" in error_of(refused, 400)["message"]  # type: ignore[arg-type]  # alike
    assert engine.requests == []


def test_a_template_that_refuses_the_probe_leaves_chats_working(
    tmp_path: Path,
) -> None:
    template = "{{ raise_exception('no x') if messages[0].content == 'x' }}" + CHATML
    container: Container = ModelContainer(settings=qwen(tmp_path, template=template))
    container.engine.override(FakeEngine("Paris."))
    with TestClient(create_app(container)) as client:
        response = client.post(DECISIONS, json=QUESTIONS)
        error_of(response, 404)  # type: ignore[arg-type]  # alike
        question = {"messages": [{"role": "user", "content": "Where?"}]}
        assert client.post("/v1/chat/completions", json=question).status_code == 200
