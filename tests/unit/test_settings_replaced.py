"""What a later layer replaces is not needed, and so cannot be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from containers.errors import SettingsError
from containers.settings import Settings

BASE = """
server:
  host: ${HOST:?say where to listen}
  port: ${PORT}
  api_keys: ["${KEY:?the key of the clients}"]
models:
- name: m
  source: org/m
  engine: {seed: "${SEED}", max_model_len: "${LENGTH:-long}"}
"""
SET = ("server.host=h", "server.port=1", "server.api_keys=[k]")
SET += ("models.0.engine.seed=3", "models.0.engine.max_model_len=4")
OVERLAY = """
server: {host: h, port: 1, api_keys: [k]}
models: [{name: m, engine: {seed: 3, max_model_len: 4}}]
"""
VARIABLES = {
    "VLLM_DI__SERVER__HOST": "h",
    "VLLM_DI__SERVER__PORT": "1",
    "VLLM_DI__SERVER__API_KEYS": '["k"]',
    "VLLM_DI__MODELS__0__ENGINE__SEED": "3",
    "VLLM_DI__MODELS__0__ENGINE__MAX_MODEL_LEN": "4",
}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(BASE)
    return tmp_path / "base.yaml"


def problems(error: SettingsError) -> set[str]:
    return {each.key for each in (error, *error.others)}


def load(*paths: Path, overrides: tuple[str, ...] = (), **variables: str) -> Settings:
    return Settings.load(*paths, environment=variables, overrides=overrides)


@pytest.mark.parametrize("layer", ["file", "variables", "--set"])
def test_a_replaced_placeholder_needs_no_variable(base: Path, layer: str) -> None:
    overlay = base.with_name("overlay.yaml")
    overlay.write_text(OVERLAY)
    made = {
        "file": lambda: load(base, overlay),
        "variables": lambda: load(base, **VARIABLES),
        "--set": lambda: load(base, overrides=SET),
    }[layer]()
    assert (made.server.host, made.server.port) == ("h", 1)
    assert [key.get_secret_value() for key in made.server.api_keys or ()] == ["k"]
    assert made.models[0].engine == {"seed": 3, "max_model_len": 4}


def test_what_is_not_replaced_is_still_an_error(base: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(base, overrides=SET[1:4])
    assert problems(caught.value) == {"server.host", "models.0.engine.max_model_len"}
    assert "HOST is not set: say where to listen" in str(caught.value)


@pytest.mark.parametrize("bare", ["server:", "server: {api_keys: }"])
def test_a_bare_section_replaces_nothing(base: Path, bare: str) -> None:
    overlay = base.with_name("overlay.yaml")
    overlay.write_text(bare)
    with pytest.raises(SettingsError) as caught:
        load(base, overlay, overrides=(*SET[:2], *SET[3:]))
    assert problems(caught.value) == {"server.api_keys.0"}


def test_a_variable_that_does_not_fit_may_be_replaced_too(base: Path) -> None:
    wrong = {**VARIABLES, "VLLM_DI__SERVER__PORT": "hunter2"}
    assert load(base, overrides=("server.port=5",), **wrong).server.port == 5
    with pytest.raises(SettingsError) as caught:
        load(base, **wrong)
    assert str(caught.value) == (
        "VLLM_DI__SERVER__PORT: server.port: takes a whole number, "
        "which its value is not."
    )


def test_a_key_set_inside_of_what_is_wrong_does_not_mend_it(base: Path) -> None:
    wrong = {**VARIABLES, "VLLM_DI__SERVER__ALLOWED_ORIGINS": "hunter2"}
    with pytest.raises(SettingsError) as caught:
        load(base, overrides=("server.allowed_origins.0=a",), **wrong)
    assert caught.value.key == "server.allowed_origins"
    assert "hunter2" not in str(caught.value)
