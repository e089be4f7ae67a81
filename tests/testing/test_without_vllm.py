"""A user's route is tested where vLLM is not installed, in a moment."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.testing.without_vllm import ABSENT, environment, run

APP = """
from fastapi import FastAPI
from pydantic import BaseModel

from app import ServingChatDep, include_serving

class Text(BaseModel):
    text: str

def summaries(container):
    app = FastAPI()

    @app.post("/summary")
    async def summary(body: Text, chat: ServingChatDep) -> str:
        from containers.vllm_api import ChatCompletionRequest

        messages = [{"role": "user", "content": f"Summarise: {body.text}"}]
        request = ChatCompletionRequest(messages=messages, max_tokens=50)
        answer = await chat.create_chat_completion(request)
        return answer.choices[0].message.content

    include_serving(app, container, prefix="/llm")
    return app
"""
TEST = """
import sys
import pytest
from containers.testing import FakeServingChat, fake_container
from summaries import summaries

@pytest.fixture
def chat():
    return FakeServingChat("All is well.")

@pytest.fixture
def serving_container(chat):
    return fake_container(serving_chat=chat)

@pytest.fixture
def serving_app(serving_container):
    return summaries(serving_container)

async def test_a_summary(serving_client, chat):
    answer = await serving_client.post("/summary", json={"text": "long"})
    assert answer.json() == "All is well."
    (request,) = chat.requests
    assert request.max_tokens == 50
    assert request.messages[0]["content"] == "Summarise: long"
    assert not {"vllm", "torch", "transformers"} & sys.modules.keys()
"""
ROUTES = """
import asyncio, json, sys
from starlette.testclient import TestClient
from app import create_app
from containers.testing import fake_container

question = {"messages": [{"role": "user", "content": "hi"}]}
found = {}
with TestClient(create_app(fake_container())) as client:
    found["models"] = client.get("/v1/models").json()["data"][0]["id"]
    found["health"] = client.get("/health").status_code
    found["version"] = client.get("/version").json()["version"]
    chat = client.post("/v1/chat/completions", json=question).json()
    found["chat"] = chat["choices"][0]["message"]["content"]
    answer = client.post("/v1/chat/completions", json=question | {"stream": True})
    found["stream"] = answer.text.count("data: ")
    answer = client.post("/v1/completions", json={"prompt": "a"}).json()
    found["completion"] = answer["choices"][0]["text"]
    answer = client.post("/v1/embeddings", json={"input": ["a", "b"]}).json()
    found["embeddings"] = [len(each["embedding"]) for each in answer["data"]]
    absent = client.post("/score", json={"queries": "a", "documents": ["b"]})
    found["absent"] = "fake_container(serving_scores=...)" in absent.text
    tokens = client.post("/tokenize", json={"prompt": "hi"}).json()["tokens"]
    text = client.post("/detokenize", json={"tokens": tokens}).json()["prompt"]
    found["tokens"] = [tokens, text]
    refused = client.post("/v1/chat/completions", json={})
    found["refused"] = [refused.status_code, refused.json()["error"]["message"]]
try:
    from containers.testing import FakeEngine
    FakeEngine()
except Exception as error:
    found["engine"] = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("installed"))


def test_nothing_of_vllm_can_be_imported_there(
    env: dict[str, str], tmp_path: Path
) -> None:
    code = f"""
from importlib.util import find_spec
print([name for name in {ABSENT} if find_spec(name)])
"""
    assert run("-c", code, folder=tmp_path, env=env).strip() == "[]"


def test_a_whole_pytest_run_of_a_users_route(
    env: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "summaries.py").write_text(APP)
    (tmp_path / "test_summaries.py").write_text(TEST)
    options = ("-o", "asyncio_mode=auto", "-W", "error", "-p", "pytest_vllm_di")
    options += ("-o", "asyncio_default_fixture_loop_scope=function")
    # Other plugins that happen to be installed would cost as much again.
    options += ("-p", "pytest_asyncio.plugin")
    env = env | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    began = time.perf_counter()
    printed = run("-m", "pytest", "-q", *options, folder=tmp_path, env=env)
    took_s = time.perf_counter() - began
    with capsys.disabled():
        print(f" one pytest run without vLLM: {took_s:.2f} s ", end="")  # noqa: T201  # a figure to see, not to hold
    assert "1 passed" in printed


def test_what_our_own_routes_do_there(env: dict[str, str], tmp_path: Path) -> None:
    found = json.loads(run("-c", ROUTES, folder=tmp_path, env=env).splitlines()[-1])
    status, message = found.pop("refused")
    assert status == 500
    assert "vLLM is not installed" in message
    name, sentence = found.pop("engine")
    assert name == "VllmMismatchError"
    assert "pip install" in sentence
    assert found == {
        "models": "fake",
        "health": 200,
        "version": None,
        "chat": "Paris.",
        "stream": 4,
        "completion": "Paris.",
        "embeddings": [8, 8],
        "absent": True,
        "tokens": [[104, 105], "hi"],
    }
