"""Whatever route a conversation comes in by, the same rules hold for its template."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from dependency_injector import providers

from app import create_app
from containers import ApplicationContainer, ModelContainer, Settings
from containers.testing import CHATML, STRICT, FakeEngine, tiny_model
from tests.conftest import tiny_settings

USER = {"role": "user", "content": "hello"}
ASSISTANT = {"role": "assistant", "content": "good day"}
ADDING = (
    "{% for m in messages %}"
    "{{ m['content'] + (m['role'] == 'system' or '') }}"
    "{% endfor %}"
)
BOMB = "{% for _ in range(10**9) %}x{% endfor %}"


@dataclass(frozen=True)
class Way:
    """A route that takes a conversation.

    Attributes:
        path: Its path.
        messages: Its field for the messages.
        length: Its field for the length of the answer, if it has one.
        is_batch: Whether it takes several conversations.
        is_asked: Whether the prompt goes to the engine.
        takes_template: Whether its API knows of templates and their variables.
    """

    path: str
    messages: str = "messages"
    length: str | None = "max_tokens"
    is_batch: bool = False
    is_asked: bool = True
    takes_template: bool = True

    def body(self, *messages: Any, **fields: Any) -> dict[str, Any]:
        turns = list(messages)
        body = {"model": "tiny", self.messages: [turns] if self.is_batch else turns}
        return body | ({self.length: 8} if self.length else {}) | fields


TOKENIZE = Way("/tokenize", length=None, is_asked=False)
WAYS = [
    Way("/v1/chat/completions"),
    Way("/v1/chat/completions/batch", is_batch=True),
    Way("/v1/responses", "input", "max_output_tokens", takes_template=False),
    Way("/v1/messages", takes_template=False),
    Way("/v1/messages/count_tokens", length=None, is_asked=False, takes_template=False),
    Way("/v1/chat/completions/render", is_asked=False),
    TOKENIZE,
    Way("/invocations"),
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.path)
every_templated_way = pytest.mark.parametrize(
    "way", [way for way in WAYS if way.takes_template], ids=lambda way: way.path
)


class Asked:
    """A client of an app over a double, and what reached its engine."""

    def __init__(self, client: httpx.AsyncClient, engine: FakeEngine, app: Any) -> None:
        self.client = client
        self.engine = engine
        self._app = app

    async def post(self, way: Way, *messages: Any, **fields: Any) -> httpx.Response:
        return await self.client.post(way.path, json=way.body(*messages, **fields))

    async def refused(self, way: Way, *messages: Any, **fields: Any) -> str:
        """What a refusal says; it is 400 as JSON, and the engine was not asked."""
        response = await self.post(way, *messages, **fields)
        assert response.status_code == 400, response.text
        assert response.headers["content-type"] == "application/json"
        assert self.engine.requests == []
        message: str = response.json()["error"]["message"]
        assert ".py" not in message
        return message

    @property
    def prompt(self) -> str:
        tokenizer = self._app.state.vllm_di.registry.default.tokenizer
        return str(tokenizer.decode(self.engine.requests[-1].prompt_token_ids))


@asynccontextmanager
async def asking(folder: Path, **chat: Any) -> AsyncIterator[Asked]:
    settings = tiny_settings(folder, **chat)
    container = ModelContainer(settings=settings)
    engine = FakeEngine("Paris.")
    container.engine.override(engine)
    app = create_app(
        ApplicationContainer(
            settings=Settings(models=[settings], server={"enable_scale_out": True}),
            models=providers.Object({settings.name: container}),
        )
    )
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield Asked(client, engine, app)


@every_way
async def test_a_templates_own_refusal_is_400_with_its_message(
    tmp_path: Path, way: Way
) -> None:
    async with asking(tiny_model(tmp_path, chat_template=STRICT)) as asked:
        assert "alternate" in await asked.refused(way, USER, USER)
        if way.is_asked and not way.is_batch:
            assert "alternate" in await asked.refused(way, USER, USER, stream=True)


@every_way
async def test_what_a_template_cannot_add_up_is_400(
    tiny_folder: Path, way: Way
) -> None:
    async with asking(tiny_folder, template=ADDING) as asked:
        await asked.refused(way, {"role": "system", "content": "Be kind."}, USER)


@every_way
async def test_without_a_template_it_is_400_and_says_so(
    tmp_path: Path, way: Way
) -> None:
    async with asking(tiny_model(tmp_path, chat_template=None)) as asked:
        assert "chat template" in await asked.refused(way, USER)


@every_way
async def test_a_text_and_its_parts_give_one_prompt(
    tiny_folder: Path, way: Way
) -> None:
    kind = "input_text" if way.messages == "input" else "text"
    parts = {"role": "user", "content": [{"type": kind, "text": "hello"}]}
    async with asking(tiny_folder) as asked:
        plain = await asked.post(way, USER)
        plain_prompt = asked.prompt if way.is_asked else _without_ids(plain)
        cut = await asked.post(way, parts)
        assert cut.status_code == plain.status_code == 200, cut.text
        assert (asked.prompt if way.is_asked else _without_ids(cut)) == plain_prompt


@every_templated_way
@pytest.mark.parametrize("is_hidden", [False, True])
async def test_a_clients_own_template_is_400(
    tiny_folder: Path, way: Way, *, is_hidden: bool
) -> None:
    fields: dict[str, Any] = {"chat_template": BOMB}
    if is_hidden:
        fields = {"chat_template_kwargs": fields}
    async with asking(tiny_folder) as asked:
        await asked.refused(way, USER, **fields)


@every_way
async def test_a_clients_own_template_is_never_rendered(
    tiny_folder: Path, way: Way
) -> None:
    fields = {
        "chat_template": "EVIL",
        "chat_template_kwargs": {"chat_template": "EVIL"},
    }
    async with asking(tiny_folder) as asked:
        response = await asked.post(way, USER, **fields)
        assert response.status_code == 400 or not way.takes_template
        assert "EVIL" not in "".join(
            str(each.prompt_text) for each in asked.engine.requests
        )
        if asked.engine.requests:
            assert "hello" in asked.prompt


@every_templated_way
async def test_continuing_and_a_new_turn_contradict(
    tiny_folder: Path, way: Way
) -> None:
    both = {"add_generation_prompt": True, "continue_final_message": True}
    async with asking(tiny_folder) as asked:
        await asked.refused(way, USER, ASSISTANT, **both)


@every_way
async def test_every_way_counts_the_same_prompt_with_one_start_token(
    tmp_path: Path, way: Way
) -> None:
    folder = tiny_model(tmp_path, chat_template="{{ bos_token }}" + CHATML)
    async with asking(folder) as asked:
        expected = (await asked.post(TOKENIZE, USER, add_generation_prompt=True)).json()
        answer = (await asked.post(way, USER)).json()
        assert _counted(answer) == expected["count"]
        assert expected["tokens"].count(expected["tokens"][0]) == 1


def _counted(answer: Any) -> int:
    if isinstance(answer, list):
        answer = answer[0]
    usage = answer.get("usage", answer)
    for name in ("prompt_tokens", "input_tokens", "count"):
        if name in usage:
            return int(usage[name])
    return len(usage["token_ids"])


def _without_ids(response: httpx.Response) -> Any:
    body = response.json()
    return {
        key: body[key] for key in ("tokens", "input_tokens", "token_ids") if key in body
    }
