"""LoRA adapters: static ones, and those that come and go while the model serves."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dependency_injector import providers
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import create_app
from containers import ApplicationContainer, ModelContainer, ModelSettings, Settings
from containers.errors import SettingsError, StartError
from containers.testing import FakeEngine, tiny_model
from tests.adapters import adapter, write_config
from tests.http.in_process import InProcess, eventually

CHAT = "/v1/chat/completions"
LOAD, UNLOAD = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 8}
LORA = {"enforce_eager": True, "enable_lora": True, "max_lora_rank": 16}


class Engine(FakeEngine):
    """A double that refuses or delays an adapter when it is told to."""

    refusal: Exception | None = None
    delay_s = 0.0

    async def add_lora(self, lora_request: Any) -> bool:
        await asyncio.sleep(self.delay_s)
        await super().add_lora(lora_request)
        if self.refusal is not None:
            raise self.refusal
        return True


class Served:
    """Models by name, the first of which takes adapters, each with a double."""

    def __init__(self, folder: str, *names: str, lora: Any = (), **server: Any) -> None:
        entries = [
            ModelSettings.model_validate(
                {
                    "name": name,
                    "source": folder,
                    "engine": LORA if name == names[0] else {"enforce_eager": True},
                    "lora": {"modules": list(lora) if name == names[0] else []},
                }
            )
            for name in names
        ]
        self.engines = {name: Engine(f"{name}.") for name in names}
        containers = {each.name: ModelContainer(settings=each) for each in entries}
        for name, double in self.engines.items():
            containers[name].engine.override(double)
        settings = Settings.model_validate(
            {"models": entries, "server": {"enable_runtime_lora": True} | server}
        )
        self.app: FastAPI = create_app(
            ApplicationContainer(settings=settings, models=providers.Object(containers))
        )


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model(tmp_path_factory.mktemp("lora")))


@pytest.fixture(scope="session")
def sql(folder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(adapter(tmp_path_factory.mktemp("sql"), folder))


@pytest.fixture
def served(folder: str) -> Served:
    return Served(folder, "paris", "rome")


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    with TestClient(served.app) as client:
        yield client


def load(client: TestClient, path: str, name: str = "sql", **more: Any) -> Any:
    body = {"lora_name": name, "lora_path": path, "model": "paris"} | more
    return client.post(LOAD, json=body)


def unload(client: TestClient, name: str = "sql") -> Any:
    return client.post(UNLOAD, json={"lora_name": name})


def cards(client: TestClient) -> dict[str, str | None]:
    return {
        card["id"]: card["parent"] for card in client.get("/v1/models").json()["data"]
    }


def error_of(response: Any) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    assert error["code"] == response.status_code
    return error


def test_a_static_adapter_is_listed_with_its_parent_when_the_app_is_ready(
    folder: str, sql: str
) -> None:
    served = Served(folder, "paris", lora=[{"name": "sql", "path": sql}])
    with TestClient(served.app) as client:
        assert client.get("/readyz").status_code == 200
        assert cards(client) == {"paris": None, "sql": "paris"}
        answer = client.post(CHAT, json=QUESTION | {"model": "sql"})
        assert answer.json()["model"] == "sql"
        (request,) = served.engines["paris"].requests
        assert request.lora_request.lora_name == "sql"


@pytest.mark.parametrize(
    "modules",
    [
        [{"name": "sql"}],
        [{"name": "sql", "path": 1}],
        [{"name": "sql", "path": "/x"}, {"name": "sql", "path": "/y"}],
        [{"name": "paris", "path": "/x"}],
        [{"name": "sql", "path": "/x", "rank": 8}],
        "sql=/x",
    ],
)
def test_a_static_adapter_that_is_malformed_or_clashes_is_no_setting(
    folder: str, modules: Any
) -> None:
    with pytest.raises(SettingsError) as caught:
        ModelSettings.model_validate(
            {
                "name": "paris",
                "source": folder,
                "engine": LORA,
                "lora": {"modules": modules},
            }
        )
    assert "lora.modules" in caught.value.key


def test_a_static_adapter_that_cannot_be_loaded_ends_the_start(folder: str) -> None:
    served = Served(folder, "paris", lora=[{"name": "sql", "path": "org/x"}])
    served.engines["paris"].refusal = RuntimeError("no adapter there")
    with pytest.raises(StartError, match="no adapter there"), TestClient(served.app):
        pass


def test_an_adapter_comes_and_goes(
    client: TestClient, served: Served, sql: str
) -> None:
    assert client.post(CHAT, json=QUESTION | {"model": "sql"}).status_code == 404
    loaded = load(client, sql)
    assert loaded.status_code == 200
    assert loaded.text == "Success: LoRA adapter 'sql' added successfully."
    assert cards(client) == {"paris": None, "rome": None, "sql": "paris"}
    assert client.post(CHAT, json=QUESTION | {"model": "sql"}).status_code == 200
    gone = unload(client)
    assert gone.text == "Success: LoRA adapter 'sql' removed successfully."
    assert client.post(CHAT, json=QUESTION | {"model": "sql"}).status_code == 404
    assert "sql" not in cards(client)


def test_twice_is_one_success_and_one_clear_error(client: TestClient, sql: str) -> None:
    assert load(client, sql).status_code == 200
    again = load(client, sql)
    assert again.status_code == 400
    assert "has already been loaded" in error_of(again)["message"]
    assert load(client, sql, load_inplace=True).status_code == 200
    assert unload(client).status_code == 200
    absent = unload(client)
    assert absent.status_code == 404
    assert "'sql' cannot be found" in error_of(absent)["message"]


@pytest.fixture
async def together(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    served.engines["paris"].delay_s = 0.05
    transport = httpx.ASGITransport(served.app)
    async with (
        served.app.router.lifespan_context(served.app),
        httpx.AsyncClient(transport=transport, base_url="http://a") as client,
    ):
        yield client


async def test_at_the_same_time_too(together: httpx.AsyncClient, sql: str) -> None:
    body = {"lora_name": "sql", "lora_path": sql, "model": "paris"}
    for _ in range(2):
        loads = await asyncio.gather(
            *(together.post(LOAD, json=body) for _ in range(3))
        )
        assert sorted(each.status_code for each in loads) == [200, 400, 400]
        gone = await asyncio.gather(
            *(together.post(UNLOAD, json={"lora_name": "sql"}) for _ in range(3))
        )
        assert sorted(each.status_code for each in gone) == [200, 404, 404]


async def test_loads_and_unloads_of_one_name_never_end_in_between(
    together: httpx.AsyncClient, sql: str
) -> None:
    load_body = {"lora_name": "sql", "lora_path": sql, "model": "paris"}
    answers = await asyncio.gather(
        *(
            together.post(UNLOAD, json={"lora_name": "sql"})
            if number % 2
            else together.post(LOAD, json=load_body)
            for number in range(10)
        )
    )
    assert {each.status_code for each in answers} <= {200, 400, 404}
    successes = [each.text for each in answers if each.status_code == 200]
    n_added = sum("added" in text for text in successes)
    n_removed = len(successes) - n_added
    listed = (await together.get("/v1/models")).json()["data"]
    assert n_added - n_removed == ("sql" in [card["id"] for card in listed])


@pytest.mark.parametrize("name", ["paris", "rome", ""])
def test_a_name_that_is_taken_is_refused(
    client: TestClient, sql: str, name: str
) -> None:
    assert load(client, sql, name).status_code == 400
    assert cards(client) == {"paris": None, "rome": None}


def test_another_models_adapter_keeps_its_name(folder: str, sql: str) -> None:
    served = Served(folder, "paris", "rome", lora=[{"name": "sql", "path": sql}])
    with TestClient(served.app) as client:
        refused = load(client, sql, model="rome")
        assert refused.status_code == 400
        assert "paris answers to that name" in error_of(refused)["message"]


def test_a_model_that_takes_no_adapters_says_so(client: TestClient, sql: str) -> None:
    refused = load(client, sql, model="rome")
    assert refused.status_code == 400
    assert "engine.enable_lora" in error_of(refused)["message"]


def no_rank(config: Path, _: Path) -> None:
    write_config(config.parent, r="eight")


def high_rank(config: Path, _: Path) -> None:
    write_config(config.parent, r=32)


BROKEN: dict[str, tuple[Callable[[Path, Path], Any], int]] = {
    "no json": (lambda config, _: config.write_text("{bad"), 400),
    "a list": (lambda config, _: config.write_text("[]"), 400),
    "no rank": (no_rank, 400),
    "too high a rank": (high_rank, 400),
    "cut off": (lambda _, weights: os.truncate(weights, 1000), 400),
    "garbage": (lambda _, weights: weights.write_bytes(b"\xff" * 1000), 400),
    "empty": (lambda _, weights: weights.write_bytes(b""), 400),
    "no config": (lambda config, _: config.unlink(), 404),
    "no weights": (lambda _, weights: weights.unlink(), 404),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_adapter_never_reaches_the_engine(
    client: TestClient, served: Served, folder: str, tmp_path: Path, kind: str
) -> None:
    path = adapter(tmp_path, folder)
    spoil, status = BROKEN[kind]
    spoil(path / "adapter_config.json", path / "adapter_model.safetensors")
    refused = load(client, str(path))
    assert refused.status_code == status
    error_of(refused)
    assert served.engines["paris"].loras == {}
    assert client.post(CHAT, json=QUESTION).status_code == 200


def test_another_models_adapter_never_reaches_the_engine(
    client: TestClient, served: Served, folder: str, tmp_path: Path
) -> None:
    config = json.loads((Path(folder) / "config.json").read_text())
    config["hidden_size"] //= 2
    (tmp_path / "config.json").write_text(json.dumps(config))
    refused = load(client, str(adapter(tmp_path / "adapter", tmp_path)))
    assert refused.status_code == 400
    assert "hidden size" in error_of(refused)["message"]
    assert served.engines["paris"].loras == {}


def test_a_folder_that_is_not_there_is_404(client: TestClient, served: Served) -> None:
    for path in ("/no/such/folder", "./no", "~/no-such-adapter"):
        assert load(client, path).status_code == 404
    assert served.engines["paris"].loras == {}


def test_what_the_engine_refuses_is_400_and_leaves_nothing_there(
    client: TestClient, served: Served, sql: str
) -> None:
    engine = served.engines["paris"]
    engine.refusal = RuntimeError("a shape does not fit")
    refused = load(client, sql)
    assert refused.status_code == 400
    assert "a shape does not fit" in error_of(refused)["message"]
    assert engine.loras == {}
    engine.refusal = None
    assert load(client, sql).status_code == 200


def test_an_engine_that_dies_of_it_is_503(
    client: TestClient, served: Served, sql: str
) -> None:
    engine = served.engines["paris"]
    engine.refusal = RuntimeError("gone")
    engine.die()
    refused = load(client, sql)
    assert refused.status_code == 503


@pytest.mark.parametrize(
    "body", [b"{bad", b"[]", b"null", b"", b'{"lora_name": 1}', b'{"lora_path": "/x"}']
)
@pytest.mark.parametrize("path", [LOAD, UNLOAD])
def test_a_bad_body_is_400(client: TestClient, path: str, body: bytes) -> None:
    as_json = {"Content-Type": "application/json"}
    refused = client.post(path, content=body, headers=as_json)
    assert refused.status_code == 400
    error_of(refused)


def test_with_several_models_the_one_is_named(client: TestClient, sql: str) -> None:
    unnamed = client.post(LOAD, json={"lora_name": "sql", "lora_path": sql})
    assert unnamed.status_code == 400
    assert "paris, rome" in error_of(unnamed)["message"]
    query = {"lora_name": "sql", "lora_path": sql}
    assert client.post(f"{LOAD}?model=paris", json=query).status_code == 200


def test_the_openapi_document_shows_what_is_sent(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    body = document["paths"][LOAD]["post"]["requestBody"]["content"]
    reference = body["application/json"]["schema"]["$ref"]
    assert reference.endswith("LoadLoRAAdapterRequest")
    schema = document["components"]["schemas"]["LoadLoRAAdapterRequest"]
    assert json.dumps(schema["required"]) == '["lora_name", "lora_path"]'


class Reloaded(InProcess):
    """One model whose adapters are looked at over its generations."""

    def __init__(self, folder: str, *modules: dict[str, str], **server: Any) -> None:
        self.folder, self.engines = folder, list[Engine]()
        self.server = {"enable_runtime_lora": True, **server}
        settings = self.settings(*modules)
        container = ModelContainer(settings=settings.models[0])
        container.engine.override(providers.Callable(self.new_engine))
        models = providers.Object({"paris": container})
        self.app = create_app(ApplicationContainer(settings=settings, models=models))

    def new_engine(self) -> Engine:
        self.engines.append(Engine("Paris."))
        return self.engines[-1]

    def settings(self, *modules: dict[str, str], **more: Any) -> Settings:
        entry = {"name": "paris", "source": self.folder, "engine": LORA}
        entry |= {"lora": {"modules": list(modules)}, **more}
        return Settings.model_validate({"models": [entry], "server": self.server})

    def ids(self) -> dict[str, int]:
        """Names and numbers of the adapters in the newest engine."""
        loras = self.engines[-1].loras
        return {request.lora_name: number for number, request in loras.items()}


async def test_over_one_engine_no_two_adapters_have_one_number(
    folder: str, sql: str, tmp_path: Path
) -> None:
    other = str(adapter(tmp_path / "other", folder))
    first, second = {"name": "a", "path": sql}, {"name": "b", "path": other}
    served = Reloaded(folder, first)
    async with served.client() as client:
        body = {"lora_name": "mine", "lora_path": other}
        assert (await client.post(LOAD, json=body)).status_code == 200
        assert served.ids() == {"a": 1, "mine": 2}

        await served.service.reload(served.settings(second, first))
        assert served.ids() == {"a": 1, "mine": 2, "b": 3}, "none is loaded twice"
        await served.service.reload(served.settings(second))
        await eventually(lambda: served.ids() == {"mine": 2, "b": 3})
        for name in ("mine", "b"):
            answer = await client.post(CHAT, json=QUESTION | {"model": name})
            assert answer.json()["model"] == name
            request = served.engines[-1].requests[-1].lora_request
            assert request.lora_int_id == served.ids()[name]
        assert (
            await client.post(CHAT, json=QUESTION | {"model": "a"})
        ).status_code == 404
        assert len(served.engines) == 1

        gone = await client.post(UNLOAD, json={"lora_name": "mine"})
        assert gone.status_code == 200
        await eventually(lambda: served.ids() == {"b": 3})


async def test_a_reload_that_fails_leaves_no_adapter_behind(
    folder: str, sql: str, tmp_path: Path
) -> None:
    other = str(adapter(tmp_path / "other", folder))
    served = Reloaded(folder, {"name": "a", "path": sql})
    async with served.client():
        bad = served.settings(
            {"name": "b", "path": other}, {"name": "c", "path": str(tmp_path / "no")}
        )
        served.engines[0].refusal = RuntimeError("no adapter there")
        with pytest.raises(StartError):
            await served.service.reload(bad)
        assert served.ids().keys() - {"b", "c"} == {"a"}
        served.engines[0].refusal = None
        await served.service.reload(served.settings({"name": "b", "path": other}))
        await eventually(lambda: "a" not in served.ids())
        assert "b" in served.ids()


@pytest.mark.parametrize("how", ["death", "new engine", "idle"])
async def test_an_adapter_survives_its_engine(folder: str, sql: str, how: str) -> None:
    served = Reloaded(folder, {"name": "a", "path": sql}, heal_attempts=1)
    async with served.client() as client:
        for name in ("x", "mine"):
            body = {"lora_name": name, "lora_path": sql}
            assert (await client.post(LOAD, json=body)).status_code == 200
        assert (await client.post(UNLOAD, json={"lora_name": "x"})).status_code == 200
        more: dict[str, Any] = {}
        if how == "death":
            served.engines[0].die()
        elif how == "new engine":
            more = {"engine": LORA | {"max_model_len": 128}}
        else:
            more = {"idle_timeout_s": 0.05}
        module = {"name": "a", "path": sql}
        if more:
            await served.service.reload(served.settings(module, **more))
        (model,) = served.service.models
        if how == "idle":
            await eventually(lambda: model.state == "unloaded")
        else:
            await eventually(lambda: len(served.engines) == 2 and model.is_ready)
        answer = await client.post(CHAT, json=QUESTION | {"model": "mine"})
        assert answer.json()["model"] == "mine"
        assert served.ids() == {"a": 1, "mine": 2}
        assert len(served.engines) == 2
