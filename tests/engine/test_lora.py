"""Real adapters in a real engine: static, loaded while it serves, and bad ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.adapters import adapter, write_config
from tests.engine.servers import CONFIG, Server, serve
from tests.engine.test_engine_death import engine_process

pytestmark = pytest.mark.engine

LOAD, UNLOAD = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
PROMPT = {"prompt": "The capital of France is", "max_tokens": 8, "temperature": 0}
KEYS = {
    "api_keys": ["k"],
    "admin_keys": ["mighty"],
    "enable_runtime_lora": True,
    "heal_attempts": 2,
}
ADMIN = {"Authorization": "Bearer mighty"}
CLIENT = {"Authorization": "Bearer k"}


@pytest.fixture(scope="module")
def folders(model_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("adapters")
    adapter(root / "strong", model_folder, strength=0.1)
    adapter(root / "other", model_folder, strength=0.2)
    adapter(root / "nothing", model_folder, strength=0)
    return root


@pytest.fixture(scope="module")
def server(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    model = yaml.safe_load(CONFIG.read_text())["models"][0]
    model["engine"] |= {
        "enable_lora": True,
        "max_lora_rank": 16,
        "max_loras": 2,
        "max_cpu_loras": 4,
    }
    model["lora"] = {"modules": [{"name": "strong", "path": str(folders / "strong")}]}
    made = serve(
        tmp_path_factory.mktemp("lora"), models=[model], server={"port": 0} | KEYS
    )
    try:
        made.wait_until_ready()
        yield made
        assert made.stop() == 0, made.log
    finally:
        made.kill()
        left = made.left_behind()
    assert not left


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers=ADMIN, timeout=120) as client:
        yield client


def said(client: httpx.Client, model: str) -> str:
    response = client.post("/v1/completions", json=PROMPT | {"model": model})
    assert response.status_code == 200, response.text
    text: str = response.json()["choices"][0]["text"]
    return text


def load(client: httpx.Client, path: Path, name: str) -> httpx.Response:
    return client.post(LOAD, json={"lora_name": name, "lora_path": str(path)})


def test_a_static_adapter_is_there_at_once_and_answers_otherwise(
    client: httpx.Client,
) -> None:
    cards = {each["id"]: each for each in client.get("/v1/models").json()["data"]}
    assert cards["strong"]["parent"] == "smollm2"
    assert said(client, "strong") != said(client, "smollm2")


def test_adapters_come_and_go_while_it_serves(
    client: httpx.Client, folders: Path
) -> None:
    base = said(client, "smollm2")
    assert load(client, folders / "nothing", "nothing").status_code == 200
    assert load(client, folders / "other", "other").status_code == 200
    assert said(client, "nothing") == base
    assert said(client, "other") not in {base, said(client, "strong")}
    assert load(client, folders / "other", "other").status_code == 400
    for name in ("nothing", "other"):
        assert client.post(UNLOAD, json={"lora_name": name}).status_code == 200
        body = PROMPT | {"model": name}
        assert client.post("/v1/completions", json=body).status_code == 404
    assert said(client, "smollm2") == base


def misfit(folder: Path, model_folder: str, **config: Any) -> Path:
    """An adapter whose files are in order, and whose matrices fit no layer."""
    small = folder / "small"
    small.mkdir()
    shapes = json.loads((Path(model_folder) / "config.json").read_text())
    shapes |= {"hidden_size": 64, "head_dim": 8}
    (small / "config.json").write_text(json.dumps(shapes | config))
    return adapter(folder / "misfit", small)


def test_bad_adapters_are_refused_and_the_engine_goes_on(
    client: httpx.Client, model_folder: str, folders: Path, tmp_path: Path
) -> None:
    base = said(client, "smollm2")
    wrong = adapter(tmp_path / "wrong", model_folder)
    write_config(wrong, use_dora=True)
    ranks = adapter(tmp_path / "ranks", model_folder, rank=32)
    lying = adapter(tmp_path / "lying", model_folder, rank=32)
    write_config(lying, r=8)
    bad = {
        "wrong": (wrong, 400),
        "ranks": (ranks, 400),
        "lying": (lying, 400),
        "misfit": (misfit(tmp_path, model_folder), 400),
        "absent": (tmp_path / "absent", 404),
        "hub": (Path("org/no-such-adapter"), 404),
    }
    for name, (path, status) in bad.items():
        refused = load(client, path, name)
        assert refused.status_code == status, (name, refused.text)
        assert refused.json()["error"]["code"] == status
        assert client.get("/health").status_code == 200
        assert said(client, "smollm2") == base, name
    assert load(client, folders / "other", "ranks").status_code == 200
    assert said(client, "ranks") != base
    assert client.post(UNLOAD, json={"lora_name": "ranks"}).status_code == 200


def test_only_administrators_change_adapters(
    client: httpx.Client, folders: Path
) -> None:
    body = {"lora_name": "x", "lora_path": str(folders / "other")}
    assert client.post(LOAD, json=body, headers=CLIENT).status_code == 403
    nobody = client.post(LOAD, json=body, headers={"Authorization": ""})
    assert nobody.status_code == 401


def test_it_sleeps_and_wakes_up(client: httpx.Client) -> None:
    assert client.post("/sleep").status_code == 400, "a CPU gives no memory back"
    assert client.post("/sleep?level=0").status_code == 200
    assert client.get("/is_sleeping").json() == {"is_sleeping": True}
    assert client.get("/readyz").status_code == 503
    assert client.post("/wake_up").json()["status"] == "awake"
    assert client.get("/readyz").status_code == 200
    assert said(client, "smollm2")
    assert client.post("/start_profile").status_code == 400
    assert client.post("/reset_prefix_cache").json() == {"success": True}
    info = client.get("/server_info").json()
    assert info["vllm_config"]["lora_config"]["max_lora_rank"] == 16


@pytest.mark.soak
def test_adapters_survive_a_new_engine(
    client: httpx.Client, server: Server, folders: Path
) -> None:
    assert load(client, folders / "other", "survivor").status_code == 200
    before = {name: said(client, name) for name in ("smollm2", "strong", "survivor")}
    assert len(set(before.values())) == len(before)
    engine_process(server, "VLLM::EngineCore").kill()
    server.wait_for(lambda: client.get("/readyz").status_code == 503)
    server.wait_for(lambda: client.get("/readyz").status_code == 200)
    assert {name: said(client, name) for name in before} == before
    assert client.post(UNLOAD, json={"lora_name": "survivor"}).status_code == 200
