"""Serving inside an app of one's own: what was there before keeps working."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from dependency_injector.containers import Container
from fastapi import BackgroundTasks, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from app import (
    ChatTemplateDep,
    EngineDep,
    ModelsDep,
    RegistryDep,
    ServingChatDep,
    ServingCompletionDep,
    ServingTokenizationDep,
    TokenizerDep,
    create_app,
    include_serving,
)
from containers.errors import ServingError, SourceError
from containers.testing import FakeEngine, override
from tests.http.test_answers import QUESTION


def test_the_hosts_lifespan_runs_inside_ours(serving_container: Container) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        seen.append(type(serving_container.serving_chat()).__name__)
        yield {"greeting": "hello"}
        seen.append(type(serving_container.engine()).__name__)

    app = FastAPI(lifespan=lifespan)
    include_serving(app, serving_container)

    @app.get("/greeting")
    async def greeting(request: Request) -> str:
        return str(request.state.greeting)

    with TestClient(app) as client:
        assert client.get("/greeting").json() == "hello"
        assert client.post("/v1/chat/completions", json=QUESTION).status_code == 200
    assert seen == ["ServingChat", "FakeEngine"]


def test_the_hosts_routes_receive_loaded_objects(serving_container: Container) -> None:
    app = FastAPI()
    include_serving(app, serving_container)

    @app.get("/names")
    async def names(  # noqa: PLR0917  # FastAPI passes them by name
        registry: RegistryDep,
        engine: EngineDep,
        tokenizer: TokenizerDep,
        chat_template: ChatTemplateDep,
        models: ModelsDep,
        chat: ServingChatDep,
        completion: ServingCompletionDep,
        tokenization: ServingTokenizationDep,
    ) -> list[str]:
        assert tokenizer is serving_container.tokenizer()
        return [
            *registry.names,
            chat_template.origin,
            *(
                type(each).__name__
                for each in (engine, models, chat, completion, tokenization)
            ),
        ]

    with TestClient(app) as client:
        assert client.get("/names").json() == [
            "tiny",
            "tokenizer",
            "FakeEngine",
            "OpenAIServingModels",
            "ServingChat",
            "ServingCompletion",
            "ServingTokenization",
        ]


def test_the_hosts_errors_keep_their_shape(serving_container: Container) -> None:
    app = FastAPI()
    include_serving(app, serving_container, prefix="/llm")

    @app.post("/own")
    async def own(number: int) -> int:
        return number

    with TestClient(app) as client:
        refused = client.post("/own?number=x")
        assert (refused.status_code, set(refused.json())) == (422, {"detail"})
        assert client.get("/nowhere").json() == {"detail": "Not Found"}
        ours = client.post("/llm/v1/chat/completions", json={})
        assert (ours.status_code, set(ours.json())) == (400, {"error"})


@pytest.mark.parametrize(
    ("kind", "path"), [(RequestValidationError, "/number"), (ServingError, "/chat")]
)
def test_the_hosts_error_handlers_are_not_replaced(
    serving_container: Container, kind: type[Exception], path: str
) -> None:
    app = FastAPI()

    @app.exception_handler(kind)
    async def teapot(request: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse("short and stout", status_code=418)

    include_serving(app, serving_container)

    @app.get("/number")
    async def number(number: int) -> int:
        return number

    @app.get("/chat")
    async def chat(chat: ServingChatDep) -> str:
        return str(chat)

    assert TestClient(app).get(path).status_code == 418  # no lifespan: nothing loaded
    with TestClient(app) as client:
        assert client.post("/v1/completions", json={}).status_code == 400


def test_two_lifespans_in_a_row_start_two_engines_of_the_same_app(
    serving_app: FastAPI, serving_container: Container
) -> None:
    chats = []
    for _ in range(2):
        with TestClient(serving_app) as client:
            assert client.post("/v1/chat/completions", json=QUESTION).is_success
            chats.append(serving_container.serving_chat())
    assert chats[0] is not chats[1]


def test_two_apps_in_one_process_keep_their_engines(
    serving_app: FastAPI, new_container: Callable[[], Container]
) -> None:
    other = new_container()
    with (
        override(other, engine=FakeEngine("Lima.")),
        TestClient(serving_app) as first,
    ):
        with TestClient(create_app(other)) as second:
            assert content(second) == "Lima."
            assert content(first) == "Paris."
        assert content(first) == "Paris."


def content(client: TestClient) -> Any:
    answer = client.post("/v1/chat/completions", json=QUESTION).json()
    return answer["choices"][0]["message"]["content"]


PATHS = ["/v1/models", "/health"]


@pytest.mark.parametrize("path", PATHS)
def test_without_a_lifespan_every_route_is_503_and_nothing_starts(
    serving_container: Container, path: str
) -> None:
    client = TestClient(create_app(serving_container))
    for _ in range(2):
        response = client.get(path)
        assert response.status_code == 503
        assert "lifespan" in response.json()["error"]["message"]
        assert int(response.headers["retry-after"]) > 0
    with pytest.raises(ServingError, match="serving_chat is not loaded"):
        serving_container.serving_chat()


def test_a_host_route_without_a_lifespan_is_503_too(
    serving_container: Container,
) -> None:
    app = FastAPI()
    include_serving(app, serving_container)

    @app.get("/own")
    async def own(chat: ServingChatDep) -> str:
        return str(chat)

    assert TestClient(app).get("/own").status_code == 503


def test_a_sub_app_whose_lifespan_nobody_runs_says_so(
    serving_container: Container,
) -> None:
    parent = FastAPI()
    parent.mount("/llm", create_app(serving_container))
    with TestClient(parent) as client:
        response = client.get("/llm/v1/models")
    assert response.status_code == 503
    assert "mounted" in response.json()["error"]["message"]


def test_a_failed_start_fails_the_lifespan_with_the_cause(
    serving_container: Container,
) -> None:
    def no_model(**_: object) -> str:
        raise SourceError(source="x", reason="it is not there", hint="Find it.")

    serving_container.model.set_provides(no_model)
    with pytest.raises(ServingError, match="it is not there"):
        TestClient(create_app(serving_container)).__enter__()


def test_including_twice_is_refused(serving_container: Container) -> None:
    app = FastAPI()
    include_serving(app, serving_container)
    with pytest.raises(ValueError, match="included in this app already"):
        include_serving(app, serving_container)


class AuthError(Exception):
    """A host's own error."""


def test_a_hosts_own_error_on_our_route_is_the_hosts_to_answer(
    serving_container: Container,
) -> None:
    async def refuse() -> None:
        raise AuthError

    app = FastAPI(dependencies=[Depends(refuse)])

    @app.exception_handler(AuthError)
    async def unauthorized(request: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse("who are you?", status_code=401)

    include_serving(app, serving_container)
    with TestClient(app) as client:
        response = client.post("/v1/chat/completions", json=QUESTION)
    assert (response.status_code, response.text) == (401, "who are you?")


@pytest.mark.parametrize("stream", [False, True])
def test_a_hosts_background_task_runs_after_our_answer(
    serving_container: Container, *, stream: bool
) -> None:
    done: list[str] = []

    async def account(tasks: BackgroundTasks) -> None:
        tasks.add_task(done.append, "accounted")

    app = FastAPI(dependencies=[Depends(account)])
    include_serving(app, serving_container)
    with TestClient(app) as client:
        body = QUESTION | {"stream": stream}
        assert client.post("/v1/chat/completions", json=body).is_success
    assert done == ["accounted"]


def test_a_failing_lifespan_of_the_host_stops_ours_and_is_the_error_seen(
    serving_container: Container,
) -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        raise AuthError
        yield

    app = FastAPI(lifespan=lifespan)
    include_serving(app, serving_container)
    with pytest.raises(AuthError):
        TestClient(app).__enter__()
    with pytest.raises(ServingError, match="serving_chat is not loaded"):
        serving_container.serving_chat()
