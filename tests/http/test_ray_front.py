"""The ingress of the Ray Serve application over replicas in this very process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from app.exchange import Asked
from app.ray import replica as replicas
from app.ray.front import Front
from app.ray.models import Models
from app.ray.replica import ModelReplica
from app.ray.tasks import PROVIDERS
from app.routes import router
from containers import Settings
from containers.errors import NotReadyError
from containers.settings import ServerSettings
from containers.settings.travel import packed
from tests.http.in_process import eventually
from tests.ray import doubles

ray_exceptions = pytest.importorskip("ray.serve.exceptions")

CHAT = "/v1/chat/completions"
BODY = {"messages": [{"role": "user", "content": "Hello!"}]}
Patch = pytest.MonkeyPatch


class Method:
    def __init__(self, call: Callable[..., Any]) -> None:
        self.remote = call


class Response:
    """What Ray gives for a call whose answer streams."""

    def __init__(self, parts: AsyncIterator[Any], error: Exception | None) -> None:
        self._parts, self._error = parts, error
        self.cancelled = False

    async def _fetch_future_result_async(self) -> None:
        if self._error is not None:
            raise self._error

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._parts

    def cancel(self) -> None:
        self.cancelled = True


class Handle:
    """Ray's handle of a deployment with one replica, or none that takes a request."""

    def __init__(self, replica: ModelReplica) -> None:
        self.replica = replica
        self.error: Exception | None = None
        self.error_after: int | None = None
        self.able = Method(replica.able)
        self.trouble = Method(replica.trouble)
        self.answer = Method(self._answer)

    def options(self, **_: Any) -> Handle:
        return self

    def _answer(self, asked: Asked, *, is_admin: bool) -> Response:
        parts = self.replica.answer(asked, is_admin=is_admin)
        error = self.error if self.error_after is None else None
        return Response(self._broken(parts), error)

    async def _broken(self, parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
        n = 0
        async for part in parts:
            yield part
            n += 1
            if self.error is not None and n == self.error_after:
                raise self.error

    def broadcast(self, method: str, *args: Any, **kwargs: Any) -> Any:
        handle = self

        class Broadcast:
            async def results_async(self, *, timeout_s: float) -> list[Any]:
                del timeout_s
                return [await getattr(handle.replica, method)(*args, **kwargs)]

        return Broadcast()


class Application:
    """The front, its replicas by name, and an HTTP client of it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        text = packed(settings)
        self.handles = {
            model.name: Handle(ModelReplica(text, model.name))
            for model in settings.models
        }
        self.models = Models(self.handles, settings)
        self.front = Front(settings, self.models)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(app=self.front.app)
        made = [handle.replica for handle in self.handles.values()]
        for replica in made:
            await replica.start()
        for backend in self.models.backends:
            await backend.learn()
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://t") as c:
                yield c
        finally:
            for replica in made:
                await replica.stop()


def settings(folder: Path, **server: Any) -> Settings:
    tiny = {"source": str(folder), "engine": {"enforce_eager": True}}
    pooling = {"source": str(folder), "engine": {"runner": "pooling"}}
    return Settings.model_validate(
        {
            "server": server,
            "ray": {"container": "tests.ray.doubles:container"},
            "models": [
                {"names": ["tiny", "alias"], **tiny},
                {"name": "pooling", **pooling},
            ],
        }
    )


@pytest.fixture
def application(tiny_folder: Path) -> Application:
    return Application(settings(tiny_folder))


async def test_a_request_goes_to_the_model_that_it_names(
    application: Application,
) -> None:
    async with application.client() as client:
        chat = await client.post(CHAT, json={**BODY, "model": "alias"})
        vector = await client.post(
            "/v1/embeddings", json={"model": "pooling", "input": "a"}
        )
        assert chat.json()["model"] == "tiny"
        assert vector.json()["model"] == "pooling"


async def test_one_that_names_none_goes_to_the_first_who_can(
    application: Application,
) -> None:
    async with application.client() as client:
        assert (await client.post(CHAT, json=BODY)).json()["model"] == "tiny"
        vector = await client.post("/v1/embeddings", json={"input": "a"})
        assert vector.json()["model"] == "pooling"
        vector = await client.post("/invocations", json={"input": "a"})
        assert vector.json()["model"] == "pooling"


async def test_who_cannot_names_who_can_and_a_wrong_body_is_told_first(
    application: Application,
) -> None:
    async with application.client() as client:
        unable = await client.post(CHAT, json={**BODY, "model": "pooling"})
        assert unable.status_code == 404
        assert "Ask tiny." in unable.json()["error"]["message"]
        unknown = await client.post(CHAT, json={**BODY, "model": "other"})
        assert unknown.status_code == 404
        assert "Valid aliases: tiny, alias, pooling." in unknown.text
        for model in ("pooling", "other"):
            wrong = await client.post(CHAT, json={"messages": 1, "model": model})
            assert wrong.status_code == 400


async def test_keys_are_asked_for_by_the_ingress_alone(tiny_folder: Path) -> None:
    keys = {"api_keys": ["key"], "admin_keys": ["admin"]}
    application = Application(settings(tiny_folder, **keys))
    user, admin = ({"Authorization": f"Bearer {key}"} for key in ("key", "admin"))
    async with application.client() as client:
        assert (await client.post(CHAT, json=BODY)).status_code == 401
        assert (await client.post(CHAT, json=BODY, headers=user)).status_code == 200
        path = "/reset_prefix_cache"
        assert (await client.post(path, headers=user)).status_code == 403
        refused = await client.post(path, headers=admin)
        assert "Say which model, as ?model=NAME: tiny, pooling." in refused.text
        reset = await client.post(f"{path}?model=tiny", headers=admin)
        assert reset.json() == {"success": True}
        assert (await client.post("/admin/reload", headers=admin)).status_code == 409


async def test_there_is_no_page_of_one_process(tiny_folder: Path) -> None:
    application = Application(settings(tiny_folder, ui=True))
    async with application.client() as client:
        assert (await client.get("/ui")).status_code == 404
        assert (await client.post(CHAT, json=BODY)).status_code == 200


async def test_limits_are_set_by_the_ingress(tiny_folder: Path) -> None:
    limits = {"max_body_bytes": 200, "request_timeout_s": 0.5}
    application = Application(settings(tiny_folder, **limits))
    async with application.client() as client:
        assert (await client.post(CHAT, content=b"x" * 201)).status_code == 413
        slow = {"messages": [{"role": "user", "content": doubles.SLOW}]}
        assert (await client.post(CHAT, json=slow)).status_code == 504
        events = (await client.post(CHAT, json={**slow, "stream": True})).text
        assert '"code": 504' in events
        assert events.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    "error",
    [ray_exceptions.BackPressureError(3, 3), TimeoutError()],
    ids=["too many wait", "no replica"],
)
@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
async def test_what_no_replica_takes_is_503_in_the_apis_shape(
    path: str, error: Exception, application: Application
) -> None:
    async with application.client() as client:
        application.handles["tiny"].error = error
        answer = await client.post(path, json={**BODY, "model": "tiny"})
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert answer.json()["error"]["type"] == "ServiceUnavailableError"
        assert ("type" in answer.json()) == (path == "/v1/messages")


@pytest.mark.parametrize(
    ("path", "last"),
    [
        (CHAT, "data: [DONE]\n\n"),
        ("/v1/responses", "event: error"),
    ],
)
async def test_a_stream_whose_replica_goes_ends_with_an_error_event(
    path: str, last: str, application: Application
) -> None:
    async with application.client() as client:
        handle = application.handles["tiny"]
        handle.error, handle.error_after = ray_exceptions.RayServeException("x"), 4
        body = {"stream": True, "input": doubles.SLOW, "model": "tiny"} | {
            "messages": [{"role": "user", "content": doubles.SLOW}]
        }
        text = (await client.post(path, json=body)).text
    *events, end = text.removesuffix("\n\n").split("\n\n")
    assert "503" in (events[-1] if path == CHAT else end)
    assert last.strip() in end
    if path != CHAT:
        numbers = [json.loads(each.partition("data: ")[2]) for each in (*events, end)]
        assert [n["sequence_number"] for n in numbers] == [*range(len(numbers))]


async def test_the_ingress_answers_what_concerns_all_models(
    application: Application,
) -> None:
    async with application.client() as client:
        listed = (await client.get("/v1/models")).json()
        assert [card["id"] for card in listed["data"]] == ["tiny", "alias", "pooling"]
        assert (await client.get("/readyz")).json()["status"] == "ready"
        assert (await client.get("/startupz")).status_code == 200
        assert (await client.get("/health")).status_code == 200
        assert "paths" in (await client.get("/openapi.json")).json()


async def test_metrics_of_replicas_are_told_apart(
    application: Application, monkeypatch: Patch
) -> None:
    async def measured(self: ModelReplica) -> tuple[str, bytes]:
        _, _, body, _ = await self.answer_whole(Asked("GET", "/metrics", b"", [], b""))
        return f"of-{self._name}", body

    monkeypatch.setattr(ModelReplica, "measured", measured)
    async with application.client() as client:
        lines = (await client.get("/metrics")).text.splitlines()
    ready = [line for line in lines if line.startswith("vllm_di_model_ready")]
    assert ready == [
        'vllm_di_model_ready{replica="of-tiny",model_name="tiny"} 1.0',
        'vllm_di_model_ready{replica="of-pooling",model_name="pooling"} 1.0',
    ]
    heads = [line for line in lines if line.startswith("# ")]
    assert len(heads) == len(set(heads))


async def test_a_dead_engine_is_told_to_ray_and_the_replica_ends(
    application: Application, monkeypatch: Patch
) -> None:
    ends: list[int] = []
    monkeypatch.setattr(replicas.os, "_exit", ends.append)
    replica = application.handles["tiny"].replica
    async with application.client() as client:
        await replica.check_health()
        body = {"messages": [{"role": "user", "content": doubles.DIE}]}
        assert (await client.post(CHAT, json=body)).status_code == 503
        (model,) = replica._service.models
        await eventually(lambda: model.state == "engine dead" or ends)
        with pytest.raises(NotReadyError):
            await replica.check_health()
        await eventually(lambda: ends)


async def test_new_settings_are_taken_or_leave_all_as_it_was(
    application: Application,
) -> None:
    replica = application.handles["tiny"].replica
    async with application.client() as client:
        asked = {**BODY, "max_tokens": 1}
        slow = ["models.0.chat.template='{{ messages[0].content }} slowly'"]
        await replica.reconfigure({"set": slow})
        answer = (await client.post(CHAT, json=asked)).json()
        assert answer["choices"][0]["message"]["content"] == "0 "
        for wrong in (["models.0.chat.template='{{ x'"], ["no.such=1"], [1]):
            await replica.reconfigure({"set": wrong})
        answer = (await client.post(CHAT, json=asked)).json()
        assert answer["choices"][0]["message"]["content"] == "0 "


def test_every_route_that_needs_an_object_is_known_to() -> None:
    everything = ServerSettings(
        enable_scale_out=True,
        enable_tokenizer_info_endpoint=True,
        enable_runtime_lora=False,
    )
    untagged = {"probes", "models", "metrics", "version", "invocations", "load"}
    paths = {
        route.path
        for route in router(everything).routes
        if isinstance(route, APIRoute) and not untagged & {*route.tags}
    }
    assert paths <= {*PROVIDERS}
