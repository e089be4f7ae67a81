"""From a request to the prompt the engine receives, and what is refused before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import create_app
from containers import ModelContainer
from containers.testing import CHATML, STRICT, FakeEngine, tiny_model
from tests.conftest import tiny_settings

USER = {"role": "user", "content": "hello"}
ASSISTANT = {"role": "assistant", "content": "good day"}


class Asked:
    """A client of an app over a double, and the prompts that reached its engine."""

    def __init__(self, client: httpx.AsyncClient, engine: FakeEngine, app: Any) -> None:
        self.client = client
        self.engine = engine
        self._app = app

    async def post(self, path: str, **body: Any) -> httpx.Response:
        return await self.client.post(path, json={"model": "tiny"} | body)

    async def chat(self, *messages: Any, **fields: Any) -> httpx.Response:
        return await self.post("/v1/chat/completions", messages=messages, **fields)

    @property
    def ids(self) -> list[int]:
        ids = self.engine.requests[-1].prompt_token_ids
        assert ids is not None
        return list(ids)

    @property
    def prompt(self) -> str:
        tokenizer = self._app.state.vllm_di.registry.default.tokenizer
        return str(tokenizer.decode(self.ids))


@asynccontextmanager
async def asking(folder: Path, **chat: Any) -> AsyncIterator[Asked]:
    container = ModelContainer(settings=tiny_settings(folder, **chat))
    engine = FakeEngine("Paris.")
    container.engine.override(engine)
    app = create_app(container)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield Asked(client, engine, app)


async def test_string_and_part_contents_render_alike(tiny_folder: Path) -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
    async with asking(tiny_folder) as asked:
        await asked.chat(USER)
        plain = asked.prompt
        await asked.chat(parts)
        assert asked.prompt == plain
        assert "type" not in plain


async def test_a_templates_own_refusal_is_400_with_its_message(tmp_path: Path) -> None:
    async with asking(tiny_model(tmp_path, chat_template=STRICT)) as asked:
        for stream in (False, True):
            response = await asked.chat(USER, USER, stream=stream)
            assert response.status_code == 400
            error = response.json()["error"]
            assert error["type"] == "BadRequestError"
            assert "alternate" in error["message"]
        assert asked.engine.requests == []


async def test_content_that_a_template_cannot_add_up_is_400(tiny_folder: Path) -> None:
    adding = (
        "{% for m in messages %}"
        "{{ m['content'] + m.get('tool_calls', '') }}"
        "{% endfor %}"
    )
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }
    empty = {"role": "assistant", "content": None, "tool_calls": [call]}
    async with asking(tiny_folder, template=adding) as asked:
        response = await asked.chat(USER, empty, USER)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "BadRequestError"
        assert asked.engine.requests == []


async def test_without_a_template_only_chats_are_refused(tmp_path: Path) -> None:
    async with asking(tiny_model(tmp_path, chat_template=None)) as asked:
        for response in (
            await asked.chat(USER),
            await asked.post("/tokenize", messages=[USER]),
        ):
            assert response.status_code == 400
            assert "chat template" in response.json()["error"]["message"]
        assert asked.engine.requests == []
        assert (await asked.post("/v1/completions", prompt="hello")).is_success
        assert (await asked.post("/tokenize", prompt="hello")).is_success


async def test_a_template_that_writes_the_start_token_gets_exactly_one(
    tmp_path: Path,
) -> None:
    folder = tiny_model(tmp_path, chat_template="{{ bos_token }}" + CHATML)
    async with asking(folder) as asked:
        chat = await asked.chat(USER)
        bos = asked.ids[0]
        assert asked.ids.count(bos) == 1
        tokens = await asked.post("/tokenize", messages=[USER])
        assert tokens.json()["count"] == chat.json()["usage"]["prompt_tokens"]
        assert tokens.json()["tokens"] == asked.ids


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/tokenize"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("nested", [False, True])
async def test_a_clients_own_template_is_400(
    tiny_folder: Path, path: str, *, stream: bool, nested: bool
) -> None:
    bomb = {"chat_template": "{% for _ in range(10**9) %}x{% endfor %}"}
    fields = {"chat_template_kwargs": bomb} if nested else bomb
    async with asking(tiny_folder) as asked:
        response = await asked.post(path, messages=[USER], stream=stream, **fields)
        assert response.status_code == 400
        assert asked.engine.requests == []


async def test_a_clients_own_template_is_used_where_that_is_trusted(
    tiny_folder: Path,
) -> None:
    async with asking(tiny_folder, trust_request_chat_template=True) as asked:
        await asked.chat(USER, chat_template="<{{ messages[0].content }}>")
        assert asked.prompt == "<hello>"


async def test_harmless_template_kwargs_pass(tiny_folder: Path) -> None:
    text = "{{ messages[0].content }}{{ '!' if loud }}"
    async with asking(tiny_folder, template=text) as asked:
        await asked.chat(USER, chat_template_kwargs={"loud": True})
        assert asked.prompt == "hello!"


async def test_default_template_kwargs_apply_and_a_requests_win(
    tiny_folder: Path,
) -> None:
    text = "{{ messages[0].content }}{{ '!' if loud }}"
    defaults = {"loud": True}
    async with asking(
        tiny_folder, template=text, default_chat_template_kwargs=defaults
    ) as asked:
        await asked.chat(USER)
        assert asked.prompt == "hello!"
        await asked.chat(USER, chat_template_kwargs={"loud": False})
        assert asked.prompt == "hello"


async def test_continuing_the_final_message_ends_the_prompt_with_it(
    tiny_folder: Path,
) -> None:
    async with asking(tiny_folder) as asked:
        await asked.chat(
            USER, ASSISTANT, add_generation_prompt=False, continue_final_message=True
        )
        assert asked.prompt.endswith("good day")


async def test_continuing_alone_is_never_ignored(tiny_folder: Path) -> None:
    async with asking(tiny_folder) as asked:
        response = await asked.chat(USER, ASSISTANT, continue_final_message=True)
        assert response.status_code == 400 or asked.prompt.endswith("good day")


async def test_continuing_and_a_new_turn_contradict(tiny_folder: Path) -> None:
    async with asking(tiny_folder) as asked:
        both = {"add_generation_prompt": True, "continue_final_message": True}
        assert (await asked.chat(USER, ASSISTANT, **both)).status_code == 400


async def test_fifty_mixed_requests_at_once_equal_a_serial_run(
    tiny_folder: Path,
) -> None:
    def requests(asked: Asked) -> list[Callable[[], Any]]:
        return [
            lambda i=i: (
                asked.post("/tokenize", prompt="one two three " * (i + 1))
                if i % 2
                else asked.chat(
                    {"role": "user", "content": f"number {i} " * 9},
                    truncate_prompt_tokens=5 + i,
                )
            )
            for i in range(50)
        ]

    def outcome(response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        body = response.json()
        return body.get("tokens") or body["usage"]

    async with asking(tiny_folder) as asked:
        serial = [outcome(await make()) for make in requests(asked)]
        at_once = await asyncio.gather(*(make() for make in requests(asked)))
        assert [outcome(response) for response in at_once] == serial
