"""Secrets inside of nested engine arguments are as secret as those with a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from containers.errors import SettingsError
from containers.settings import ModelSettings, Settings
from containers.settings.engine import revealed, without_secrets
from containers.settings.secrets import hidden
from containers.settings.show import shown

SECRET = "hunter2"  # noqa: S105  # the very thing to look for
ENGINE: dict[str, Any] = {
    "hf_token": SECRET,
    "otlp_traces_endpoint": f"https://me:{SECRET}@host:4317",
    "model_loader_extra_config": {"s3": {"secret_access_key": SECRET}, "n": 1},
    "kv_transfer_config": {
        "kv_connector_extra_config": {
            "redisPassword": SECRET,
            "all": [{"token": SECRET}],
        }
    },
    "hf_overrides": {"eos_token": "</s>", "auth": {"api_key": SECRET, "token": None}},
    "override_generation_config": {"stop": ["token"], "max_token": "x"},
}


@pytest.fixture
def model() -> ModelSettings:
    return ModelSettings(name="m", source="s", engine=ENGINE)


def test_no_text_of_the_settings_has_them(model: ModelSettings) -> None:
    settings = Settings(models=[model])
    texts = [shown(settings), repr(settings), str(settings), settings.model_dump_json()]
    assert all(SECRET not in text for text in texts)
    assert "secret_access_key: '**********'" in texts[0]
    assert "eos_token: </s>" in texts[0]


def test_vllm_gets_them(model: ModelSettings) -> None:
    assert revealed(model.engine) == ENGINE
    again = ModelSettings(name="m", source="s", engine=model.engine)
    assert revealed(again.engine) == ENGINE
    assert again == model


def test_what_vllm_says_of_its_arguments_has_none(model: ModelSettings) -> None:
    text = without_secrets(f"cannot parse {ENGINE}", model.engine)
    assert SECRET not in text
    assert "eos_token" in text


def test_what_vllm_resolved_has_none(model: ModelSettings) -> None:
    text = shown(Settings(models=[model]), [{**ENGINE, "max_model_len": 5}])
    assert SECRET not in text
    assert "max_model_len: 5" in text


def test_free_text_is_none(model: ModelSettings) -> None:
    free = model.engine["override_generation_config"]
    assert free == {"stop": ["token"], "max_token": "x"}


@pytest.mark.parametrize(
    "engine",
    [
        {"kv_transfer_config": {"password": SECRET}},
        {"kv_transfer_config": [SECRET]},
        {"hf_token": {"token": SECRET}},
        {"seed": SECRET},
    ],
)
def test_a_refusal_has_none(engine: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        ModelSettings(name="m", source="s", engine=engine)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "model", ["name: '${A}'", "names: ['${A}']", "names: [x, '${A}']"]
)
def test_nor_has_the_refusal_of_a_name_that_two_models_have(
    model: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    entry = f"  - {{{model}, source: org/m}}\n"
    path.write_text(f"models:\n{entry}{entry.replace('x', 'y')}", encoding="utf-8")
    with pytest.raises(SettingsError, match="twice") as caught:
        Settings.load(path, environment={"A": SECRET})
    assert SECRET not in str(caught.value)


def test_they_are_secret_types(model: ModelSettings) -> None:
    config = model.engine["model_loader_extra_config"]
    assert isinstance(config["s3"]["secret_access_key"], SecretStr)
    assert config["n"] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_tokens", ["hunter2"]),
        ("auth", "hunter2"),
        ("headers", ["Authorization: Bearer hunter2"]),
        ("env", ["HF_TOKEN=hunter2"]),
        ("endpoint", "s3://me:hunter2@bucket/x"),
    ],
)
def test_secrets_are_told_by_their_look_too(name: str, value: Any) -> None:
    assert SECRET not in repr(hidden(name, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_num_batched_tokens", 512), ("eos_token", "</s>"), ("path", "a=b/c@d")],
)
def test_what_is_none_is_not_hidden(name: str, value: Any) -> None:
    assert hidden(name, value) == value


def test_an_address_with_a_password_is_masked_wherever_it_stands() -> None:
    model = ModelSettings(name="m", source=f"s3://me:{SECRET}@bucket/x")
    settings = Settings.model_validate(
        {
            "server": {"traces": {"endpoint": f"http://me:{SECRET}@collector"}},
            "models": [model.model_dump()],
        }
    )
    assert SECRET not in shown(settings)
