"""What several front ends over one engine cannot be with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.frontends.checks import STORE, refuse_by_environment
from app.frontends.settings import of_front_end
from app.lora_switch import VARIABLE
from app.ray.checks import refuse_what_cannot_work
from app.restart import refuse_what_needs_a_restart
from containers import Settings
from containers.errors import SettingsError
from containers.vllm_api.sharing import Place, Places

MODEL = {"name": "a", "source": "x"}


def load(tmp_path: Path, server: dict[str, Any], *models: dict[str, Any]) -> Settings:
    path = tmp_path / "config.yaml"
    content = {
        "server": {"frontends": 2, **server},
        "models": [{**MODEL, **each} for each in models or ({},)],
    }
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return Settings.load(path, environment={})


@pytest.mark.parametrize(
    ("server", "model", "key"),
    [
        ({"uds": "/tmp/x"}, {}, "server.uds"),  # noqa: S108  # not made
        ({"heal_attempts": 1}, {}, "server.heal_attempts"),
        ({"enable_runtime_lora": True}, {}, "server.enable_runtime_lora"),
        ({"enable_scale_out": True}, {}, "server.enable_scale_out"),
        ({}, {"load": "lazy"}, "models.0.load"),
        ({}, {"idle_timeout_s": 5}, "models.0.idle_timeout_s"),
        ({}, {"canary": {"max_failures": 1}}, "models.0.canary.max_failures"),
        (
            {},
            {"engine": {"data_parallel_size": 2}},
            "models.0.engine.data_parallel_size",
        ),
        (
            {},
            {"engine": {"data_parallel_rank": 1}},
            "models.0.engine.data_parallel_rank",
        ),
        (
            {},
            {"engine": {"data_parallel_external_lb": True}},
            "models.0.engine.data_parallel_external_lb",
        ),
        (
            {},
            {"engine": {"max_num_queued_reqs": 9}},
            "models.0.engine.max_num_queued_reqs",
        ),
        (
            {},
            {"engine": {"distributed_executor_backend": "ray"}},
            "models.0.engine.distributed_executor_backend",
        ),
    ],
)
def test_it_is_refused_by_its_key_file_and_line(
    tmp_path: Path, server: dict[str, Any], model: dict[str, Any], key: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, server, model)
    assert caught.value.key == key
    assert caught.value.file == str(tmp_path / "config.yaml")
    assert caught.value.line is not None
    assert "server.frontends" in str(caught.value)
    assert load(tmp_path, {**server, "frontends": 1}, model).server.frontends == 1


def test_two_models_are_refused_where_the_front_ends_are_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, {}, {}, {"name": "b"})
    assert (caught.value.key, caught.value.line) == ("server.frontends", 2)


@pytest.mark.parametrize("name", [VARIABLE, STORE])
def test_what_the_environment_asks_for_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    server = load(tmp_path, {}).server
    refuse_by_environment(server)
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError, match=name):
        refuse_by_environment(server)
    refuse_by_environment(server.model_copy(update={"frontends": 1}))


def test_a_front_end_leaves_to_the_owner_what_is_done_once(tmp_path: Path) -> None:
    settings = load(tmp_path, {"reload_on_change": True}, {"canary": {}})
    own = of_front_end(settings)
    assert (own.models[0].canary, own.server.reload_on_change) == (None, False)
    assert own.performance.fast_start is False
    assert own.server.frontends == 2


def test_adapters_and_the_number_of_front_ends_stay_as_they_were(
    tmp_path: Path,
) -> None:
    old = load(tmp_path, {})
    more = load(tmp_path, {"frontends": 3})
    lora = {"modules": [{"name": "l", "path": str(tmp_path)}]}
    other = load(tmp_path, {}, {"lora": lora, "engine": {"enable_lora": True}})
    for new, key in ((more, "server.frontends"), (other, "models.0.lora")):
        with pytest.raises(SettingsError) as caught:
            refuse_what_needs_a_restart(old, new)
        assert caught.value.key == key


def test_ray_serve_has_replicas_instead(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        refuse_what_cannot_work(load(tmp_path, {}))
    assert caught.value.key == "server.frontends"


def test_what_no_client_has_come_to_is_a_place_still(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}"
    places = Places([Place(n, f"{address}/i{n}", f"{address}/o{n}") for n in (1, 2)])
    first = places.take()
    assert first is not None
    assert not first.was_taken
    places.give_back(first)
    assert places.take() == first
    (tmp_path / "i1").touch()
    assert first.was_taken
    assert places.take() is not None
    assert places.take() is None
