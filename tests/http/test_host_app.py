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
from containers.testing import FakeEngine
from tests.http.test_answers import QUESTION


def test_the_hosts_lifespan_runs_inside_ours(container: Container) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        seen.append(type(container.serving_chat()).__name__)
        yield {"greeting": "hello"}
        seen.append(type(container.engine()).__name__)

    app = FastAPI(lifespan=lifespan)
    include_serving(app, container)

    @app.get("/greeting")
    async def greeting(request: Request) -> str:
        return str(request.state.greeting)

    with TestClient(app) as client:
        assert client.get("/greeting").json() == "hello"
        assert client.post("/v1/chat/completions", json=QUESTION).status_code == 200
    assert seen == ["ServingChat", "FakeEngine"]


def test_the_hosts_routes_receive_loaded_objects(container: Container) -> None:
    app = FastAPI()
    include_serving(app, container)

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
        assert tokenizer is container.tokenizer()
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


def test_the_hosts_errors_keep_their_shape(container: Container) -> None:
    app = FastAPI()
    include_serving(app, container, prefix="/llm")

    @app.post("/own")
    async def own(number: int) -> int:
        return number

    with TestClient(app) as client:
        refused = client.post("/own?number=x")
        assert (refused.status_code, set(refused.json())) == (422, {"detail"})
        assert client.get("/nowhere").json() == {"detail": "Not Found"}
        ours = client.post("/llm/v1/chat/completions", json={})
        assert (ours.status_code, set(ours.json())) == (400, {"error"})


def test_the_hosts_error_handlers_are_not_replaced(container: Container) -> None:
    app = FastAPI()

    @app.exception_handler(RequestValidationError)
    async def teapot(request: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse("short and stout", status_code=418)

    include_serving(app, container)

    @app.post("/own")
    async def own(number: int) -> int:
        return number

    with TestClient(app) as client:
        assert client.post("/own?number=x").status_code == 418
        assert client.post("/v1/completions", json={}).status_code == 400


def test_two_lifespans_in_a_row_start_two_engines_of_the_same_app(
    new_container: Callable[[], Container],
) -> None:
    container = new_container()
    container.engine.override(FakeEngine("Paris."))
    app = create_app(container)
    chats = []
    for _ in range(2):
        with TestClient(app) as client:
            assert client.post("/v1/chat/completions", json=QUESTION).is_success
            chats.append(container.serving_chat())
    assert chats[0] is not chats[1]


def test_two_apps_in_one_process_keep_their_engines(
    new_container: Callable[[], Container],
) -> None:
    clients = []
    for text in ("one", "two"):
        container = new_container()
        container.engine.override(FakeEngine(text))
        clients.append(TestClient(create_app(container)))
    with clients[0] as first:
        with clients[1] as second:
            assert content(second) == "two"
            assert content(first) == "one"
        assert content(first) == "one"


def content(client: TestClient) -> Any:
    answer = client.post("/v1/chat/completions", json=QUESTION).json()
    return answer["choices"][0]["message"]["content"]


PATHS = ["/v1/models", "/health", "/metrics"]


@pytest.mark.parametrize("path", PATHS)
def test_without_a_lifespan_every_route_is_503_and_nothing_starts(
    container: Container, path: str
) -> None:
    client = TestClient(create_app(container))
    for _ in range(2):
        response = client.get(path)
        assert response.status_code == 503
        assert "lifespan" in response.json()["error"]["message"]
        assert int(response.headers["retry-after"]) > 0
    with pytest.raises(ServingError, match="serving_chat is not loaded"):
        container.serving_chat()


def test_a_host_route_without_a_lifespan_is_503_too(container: Container) -> None:
    app = FastAPI()
    include_serving(app, container)

    @app.get("/own")
    async def own(chat: ServingChatDep) -> str:
        return str(chat)

    assert TestClient(app).get("/own").status_code == 503


def test_a_sub_app_whose_lifespan_nobody_runs_says_so(container: Container) -> None:
    parent = FastAPI()
    parent.mount("/llm", create_app(container))
    with TestClient(parent) as client:
        response = client.get("/llm/v1/models")
    assert response.status_code == 503
    assert "mounted" in response.json()["error"]["message"]


def test_a_failed_start_fails_the_lifespan_with_the_cause(
    container: Container,
) -> None:
    def no_model(**_: object) -> str:
        raise SourceError(source="x", reason="it is not there", hint="Find it.")

    container.model.set_provides(no_model)
    with pytest.raises(ServingError, match="it is not there"):
        TestClient(create_app(container)).__enter__()


def test_including_twice_is_refused(container: Container) -> None:
    app = FastAPI()
    include_serving(app, container)
    with pytest.raises(ValueError, match="included in this app already"):
        include_serving(app, container)


def test_while_loading_in_the_background_routes_are_503(container: Container) -> None:
    import threading

    release = threading.Event()
    build = container.tokenizer.provides

    def slow(**injected: object) -> object:
        release.wait(10)
        return build(**injected)

    container.tokenizer.set_provides(slow)
    with TestClient(create_app(container, wait_until_ready=False)) as client:
        assert client.get("/health").status_code == 503
        assert client.get("/version").status_code == 200
        release.set()
        for _ in range(200):
            if client.get("/health").status_code == 200:
                break
            threading.Event().wait(0.05)
        assert client.post("/v1/chat/completions", json=QUESTION).is_success


class AuthError(Exception):
    """A host's own error."""


def test_a_hosts_own_error_on_our_route_is_the_hosts_to_answer(
    container: Container,
) -> None:
    async def refuse() -> None:
        raise AuthError

    app = FastAPI(dependencies=[Depends(refuse)])

    @app.exception_handler(AuthError)
    async def unauthorized(request: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse("who are you?", status_code=401)

    include_serving(app, container)
    with TestClient(app) as client:
        response = client.post("/v1/chat/completions", json=QUESTION)
    assert (response.status_code, response.text) == (401, "who are you?")


def test_a_hosts_handler_for_our_errors_stays(container: Container) -> None:
    app = FastAPI()

    @app.exception_handler(ServingError)
    async def teapot(request: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse("short and stout", status_code=418)

    include_serving(app, container)

    @app.get("/own")
    async def own(chat: ServingChatDep) -> str:
        return str(chat)

    assert TestClient(app).get("/own").status_code == 418


@pytest.mark.parametrize("stream", [False, True])
def test_a_hosts_background_task_runs_after_our_answer(
    container: Container, *, stream: bool
) -> None:
    done: list[str] = []

    async def account(tasks: BackgroundTasks) -> None:
        tasks.add_task(done.append, "accounted")

    app = FastAPI(dependencies=[Depends(account)])
    include_serving(app, container)
    with TestClient(app) as client:
        body = QUESTION | {"stream": stream}
        assert client.post("/v1/chat/completions", json=body).is_success
    assert done == ["accounted"]


def test_a_failing_lifespan_of_the_host_stops_ours_and_is_the_error_seen(
    container: Container,
) -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        raise AuthError
        yield

    app = FastAPI(lifespan=lifespan)
    include_serving(app, container)
    with pytest.raises(AuthError):
        TestClient(app).__enter__()
    with pytest.raises(ServingError, match="serving_chat is not loaded"):
        container.serving_chat()
