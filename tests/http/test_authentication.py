"""Keys: every door is shut without one, and what each is good for."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app import create_app, include_serving
from app.middleware import Guards, keys
from app.middleware.paths import PROBES, OpenPaths, routed_path
from app.status import feed
from containers import ServerSettings, Settings
from containers.errors import SettingsError

EVERYTHING: dict[str, Any] = {
    "api_keys": ["right", {"name": "team-a", "key": "second"}],
    "admin_keys": ["mighty"],
    "enable_runtime_lora": True,
    "enable_server_load_tracking": True,
    "enable_tokenizer_info_endpoint": True,
}
ADMIN_PATHS = ["/sleep", "/wake_up", "/start_profile", "/v1/load_lora_adapter"]


def settings_of(**server: Any) -> Settings:
    return Settings.model_validate(
        {"server": server, "models": [{"name": "m", "source": "org/m"}]}
    )


def client_of(**server: Any) -> TestClient:
    """Client of an app that has not been started: what gets through is told 503."""
    return TestClient(create_app(settings_of(**server)), raise_server_exceptions=False)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def doors(app: FastAPI, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Method and path of every way into an app, path parameters filled in."""
    for route in app.router.routes:
        if isinstance(route, Mount):
            yield "GET", f"{route.path}/anything"
        elif isinstance(route, Route) and route.path.startswith(prefix):
            for method in sorted(route.methods or {"GET"}):
                yield method, re.sub(r"\{[^}]*\}", "x", route.path)


def host_app(prefix: str, **server: Any) -> FastAPI:
    app = FastAPI()

    @app.get("/v1/mine")
    async def mine() -> str:
        return "mine"

    include_serving(app, settings_of(**server), prefix=prefix)
    return app


def is_refused(response: httpx.Response) -> bool:
    if response.status_code != 401:
        return False
    if response.request.method != "HEAD":
        error = response.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert (error["code"], error["type"]) == (401, "AuthenticationError")
    return response.headers["WWW-Authenticate"] == "Bearer"


def test_every_route_of_our_app_is_shut_but_for_the_probes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "LIFETIME_S", 0.01)  # the status' is read to its end
    app = app_with_everything()
    client = TestClient(app, raise_server_exceptions=False)
    walked = {*doors(app)}
    assert {path for _, path in walked} > {"/v1/chat/completions", "/docs", "/sleep"}
    for method, path in walked:
        refused = is_refused(client.request(method, path))
        assert refused == (path not in PROBES), (method, path)
        for key in ("right", "second", "mighty"):
            response = client.request(method, path, headers=bearer(key))
            assert response.status_code != 401, (method, path)


@pytest.mark.parametrize("prefix", ["", "/llm"])
def test_in_a_hosts_app_every_route_of_ours_is_shut_and_none_of_the_hosts(
    prefix: str,
) -> None:
    app = host_app(prefix, **EVERYTHING)
    client = TestClient(app, raise_server_exceptions=False)
    ours = {path for _, path in doors(app_with_everything())}
    ours -= {"/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"}
    walked = {*doors(app)}
    assert {f"{prefix}{path}" for path in ours} <= {path for _, path in walked}
    for method, path in walked:
        own_path = path.removeprefix(prefix)
        is_shut = own_path in ours and own_path not in PROBES
        assert is_refused(client.request(method, path)) == is_shut, (method, path)
        response = client.request(method, path, headers=bearer("right"))
        assert response.status_code != 401


def test_a_route_with_a_parameter_and_a_websocket_are_guarded_too() -> None:
    router = APIRouter()

    @router.get("/things/{thing}")
    async def one(thing: str) -> str:
        return thing

    @router.websocket("/talk")
    async def talk(websocket: Any) -> None:
        raise AssertionError

    app = FastAPI()
    app.include_router(router)
    guards = Guards(ServerSettings(api_keys=["right"]))
    routes = [r for r in app.routes if isinstance(r, Route | WebSocketRoute)]
    guards.guard_routes(routes)
    guards.authenticate_routes()
    client = TestClient(app)
    assert is_refused(client.get("/things/one"))
    assert client.get("/things/one", headers=bearer("right")).json() == "one"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/talk"):
        pass


def test_a_websocket_without_a_key_is_closed_before_it_is_accepted() -> None:
    client = client_of(**EVERYTHING)
    with pytest.raises(Exception) as caught, client.websocket_connect("/v1/realtime"):  # noqa: PT011  # httpx' denial or a close, as the server can
        pass
    told = getattr(caught.value, "status_code", None) or getattr(caught.value, "code")  # noqa: B009
    assert told in {401, 1008}


ODD = [
    "//v1/models",
    "/v1//models",
    "/V1/models",
    "/v1/models/",
    "/v1/../v1/models",
    "/livez/../v1/models",
    "/livez/%2e%2e/v1/models",
    "/livez%2f..%2fv1%2fmodels",
    "/%76%31/models",
    "/v1%2fmodels",
    "/./v1/models",
    "/livez;/v1/models",
    "/livez%00",
    "/livez%2f",
    "/livez/",
    "/LIVEZ",
    "//livez",
    "/v1/models%20",
    "/v1/models?x=/livez",
    "/v1/models#/livez",
    "/nowhere",
    "*",
]


@pytest.mark.parametrize("root_path", ["", "/llm", "/livez"])
@pytest.mark.parametrize("path", ODD)
async def test_odd_paths_open_no_door(path: str, root_path: str) -> None:
    app = app_with_everything()
    for target in (path, f"{root_path}{path}", f"{root_path}{root_path}{path}"):
        assert await status(app, target, root_path) in {401, 404}, target
        assert await status(app, target, root_path, key="wrong") in {401, 404}, target


@cache
def app_with_everything() -> FastAPI:
    return create_app(settings_of(**EVERYTHING))


async def status(app: Any, target: str, root_path: str, key: str = "") -> int:
    """Status an app answers a target with, as uvicorn would hand it over."""
    raw, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "root_path": root_path,
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {key}".encode())] if key else [],
    }
    statuses: list[int] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]


SEGMENTS = st.sampled_from(
    ["livez", "v1", "models", "..", ".", "", "%2e", "LIVEZ", "static", "x", "llm"]
)
PATHS = st.lists(SEGMENTS, max_size=6).map(lambda parts: "/" + "/".join(parts))


@given(path=PATHS, root_path=st.sampled_from(["", "/llm", "/livez", "/llm/livez"]))
def test_what_needs_no_key_is_routed_to_an_open_path(path: str, root_path: str) -> None:
    """Starlette's own matching is asked what a path that passed would reach."""
    is_open = OpenPaths([*PROBES, "/static/*"])
    scope = {"type": "http", "method": "GET", "path": path, "root_path": root_path}
    if not is_open(scope):
        return
    is_static = routed_path(scope).startswith("/static/")
    assert is_static or routed_path(scope) in PROBES
    secrets_of_ours = ["/v1/models", "/sleep"]
    for secret in secrets_of_ours if is_static else [*secrets_of_ours, "/{all:path}s"]:
        match, _ = Route(secret, lambda _: None).matches(scope)
        assert match.value == 0


@given(path=PATHS)
def test_open_folders_open_nothing_beside_them(path: str) -> None:
    if OpenPaths(["/static/*"]).has(path):
        assert path.startswith("/static/")
        assert ".." not in path.split("/")


def test_admin_routes_want_an_admin_key() -> None:
    client = client_of(**EVERYTHING)
    for path in ADMIN_PATHS:
        assert is_refused(client.post(path))
        refused = client.post(path, headers=bearer("right"))
        assert refused.status_code == 403
        error = refused.json()["error"]
        assert (error["code"], error["type"]) == (403, "PermissionDeniedError")
        assert client.post(path, headers=bearer("mighty"), json={}).status_code != 403


def test_an_admin_key_is_good_for_everything_else_too() -> None:
    response = client_of(**EVERYTHING).get("/v1/models", headers=bearer("mighty"))
    assert response.status_code == 503


def test_admin_keys_alone_leave_the_rest_open() -> None:
    client = client_of(admin_keys=["mighty"])
    assert client.get("/v1/models").status_code == 503
    assert is_refused(client.post("/sleep"))
    assert client.post("/sleep", headers=bearer("mighty")).status_code == 503


def test_without_admin_keys_there_are_no_admin_routes() -> None:
    client = client_of()
    assert client.post("/sleep").status_code == 404
    assert client.post("/v1/load_lora_adapter").status_code == 404


@pytest.mark.parametrize("value", ["1", "true", "True"])
def test_vllms_own_variable_enables_runtime_lora(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ALLOW_RUNTIME_LORA_UPDATING", value)
    assert client_of().post("/v1/load_lora_adapter").status_code != 404
    off = client_of(enable_runtime_lora=False)
    assert off.post("/v1/load_lora_adapter").status_code == 404


def test_every_key_is_compared_and_by_its_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = secrets.compare_digest

    def noting(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return compare(a, b)

    monkeypatch.setattr(keys.secrets, "compare_digest", noting)
    client = client_of(**EVERYTHING)
    for key in ("right", "second", "no"):
        compared.clear()
        client.get("/v1/models", headers=bearer(key))
        assert len(compared) == 3
        assert all(len(a) == len(b) == 32 for a, b in compared)


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(keys, "LOOK_EVERY_S", 0.0)
    path = tmp_path / "keys"
    path.write_text("# ours\n\nplain\nteam-b named\n")
    return path


def lets_in(client: TestClient, key: str) -> bool:
    return client.get("/v1/models", headers=bearer(key)).status_code == 503


def test_keys_come_from_files_and_change_with_them(key_file: Path) -> None:
    client = client_of(api_keys_file=str(key_file), api_keys=["fixed"])
    assert all(lets_in(client, key) for key in ("plain", "named", "fixed"))
    assert not any(lets_in(client, key) for key in ("team-b", "ours", "", "#"))
    replace(key_file, "newest\n")
    assert lets_in(client, "newest")
    assert lets_in(client, "fixed")
    assert not lets_in(client, "plain")


@pytest.mark.parametrize("text", ["", "# nothing\n", "a b c\n", None])
def test_a_key_file_that_goes_bad_changes_nothing(
    key_file: Path, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    client = client_of(api_keys_file=str(key_file))
    assert lets_in(client, "plain")
    if text is None:
        key_file.unlink()
    else:
        replace(key_file, text)
    assert lets_in(client, "plain")
    assert is_refused(client.get("/v1/models"))
    assert "The keys stay as they were" in caplog.text


@pytest.mark.parametrize("text", ["", "# nothing\n", "a b c\n", None, "k\nk\n"])
def test_a_key_file_that_is_bad_from_the_start_is_an_error(
    key_file: Path, text: str | None
) -> None:
    if text is None:
        key_file.unlink()
    else:
        key_file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        client_of(api_keys_file=str(key_file))
    assert caught.value.key.startswith("server")


def test_a_named_key_can_come_from_a_file_of_its_own(key_file: Path) -> None:
    key_file.write_text("of-its-own\n")
    client = client_of(
        api_keys=["right"], admin_keys=[{"name": "ops", "key_file": str(key_file)}]
    )
    assert lets_in(client, "of-its-own")
    assert client.post("/sleep", headers=bearer("of-its-own")).status_code == 503


def replace(path: Path, text: str) -> None:
    """Put another file in its place, as a mounted secret changes."""
    other = path.with_suffix(".new")
    other.write_text(text)
    os.replace(other, path)  # noqa: PTH105  # the very call


def test_each_key_has_its_requests_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("app.middleware.allowance.monotonic", lambda: now[0])
    client = client_of(
        api_keys=[
            "usual",
            {"name": "team-a", "key": "more", "max_requests_per_minute": 3},
        ],
        admin_keys=["mighty"],
        max_requests_per_minute_per_key=2,
    )
    asked = [get(client, "usual") for _ in range(3)]
    assert [each.status_code for each in asked] == [503, 503, 429]
    assert asked[-1].headers["Retry-After"] == "60"
    error = asked[-1].json()["error"]
    assert (error["code"], error["type"]) == (429, "RateLimitError")
    assert [get(client, "more").status_code for _ in range(4)] == [503] * 3 + [429]
    assert [get(client, "mighty").status_code for _ in range(5)] == [503] * 5
    assert client.get("/livez", headers=bearer("usual")).status_code == 200
    now[0] += 59.5
    assert get(client, "usual").headers["Retry-After"] == "1"
    now[0] += 0.6
    assert [get(client, "usual").status_code for _ in range(3)] == [503, 503, 429]


def test_a_key_keeps_what_it_has_used_up_when_its_file_changes(key_file: Path) -> None:
    client = client_of(api_keys_file=str(key_file), max_requests_per_minute_per_key=1)
    assert get(client, "plain").status_code == 503
    replace(key_file, "plain\nanother\n")
    assert get(client, "plain").status_code == 429
    assert get(client, "another").status_code == 503


def get(client: TestClient, key: str) -> httpx.Response:
    return client.get("/v1/models", headers=bearer(key))


async def test_each_key_has_its_requests_at_a_time() -> None:
    app = FastAPI()
    gate, inside = asyncio.Event(), asyncio.Event()

    @app.get("/slow")
    async def slow() -> str:
        inside.set()
        await gate.wait()
        return "done"

    guards = Guards(
        ServerSettings(
            api_keys=[
                "usual",
                {"name": "team-a", "key": "one", "max_concurrent_requests": 1},
            ]
        )
    )
    guards.guard_app(app)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
        first = asyncio.create_task(client.get("/slow", headers=bearer("one")))
        await inside.wait()
        refused = await client.get("/slow", headers=bearer("one"))
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "1"
        others = asyncio.create_task(client.get("/slow", headers=bearer("usual")))
        gate.set()
        assert (await first).json() == (await others).json() == "done"
        assert (await client.get("/slow", headers=bearer("one"))).status_code == 200


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/models", quote("/nowhere ☃")]
)
def test_a_browsers_preflight_passes(path: str) -> None:
    client = client_of(allowed_origins=["https://a.example"], **EVERYTHING)
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    assert client.options(path, headers=asked).status_code == 200
