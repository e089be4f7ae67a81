"""Variables in values: filled in after parsing, by declared type, never shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from containers.errors import SettingsError
from containers.settings import Settings

Load = Callable[..., Settings]

ODD_TEXTS = [
    "0123456",
    "abc #secret",
    "x\ntrust_remote_code: true",
    "@x",
    "{x",
    "a: b",
    "no",
    "null",
    "~",
    "2024-01-01",
    "${HOME}",
    "$$",
    "'\"",
    " blank ",
]


def document(**keys: Any) -> dict[str, Any]:
    """A config file's data; ``server`` in ``keys`` is its server section."""
    server = keys.pop("server", {})
    return {"server": server, "models": [{"name": "m", "source": "org/m", **keys}]}


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes data to a file and loads it with these variables and nothing else."""
    file = tmp_path / "config.yaml"

    def load(
        data: Any, environment: Mapping[str, str] | None = None, *overrides: str
    ) -> Settings:
        text = data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False)
        file.write_text(text, encoding="utf-8")
        return Settings.load(file, environment=environment or {}, overrides=overrides)

    return load


def refused(load: Load, *arguments: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(*arguments)
    return caught.value


def keys_of(settings: Settings) -> list[str]:
    keys = settings.server.api_keys or ()
    assert all(isinstance(key, SecretStr) for key in keys)
    return [key.get_secret_value() for key in keys]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_key_is_the_variables_text_exactly(load: Load, text: str) -> None:
    data = document(server={"api_keys": ["${K}", "b-${K}"]})
    settings = load(data, {"K": text})
    assert keys_of(settings) == [text, f"b-{text}"]
    assert settings.models[0].engine == {}


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("key", ["revision", "tokenizer"])
def test_so_is_any_text_of_the_engine(load: Load, key: str, text: str) -> None:
    settings = load(document(engine={key: "${T}"}), {"T": text})
    assert settings.models[0].engine == {key: text}


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("false", False), ("0", False)]
)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_truth_values_are_four(load: Load, text: str, value: bool, quote: str) -> None:
    engine = f"{{trust_remote_code: {quote}${{T}}{quote}}}" if quote else ""
    data = f"models: [{{name: m, source: s, engine: {engine}}}]"
    if not quote:
        data = document(engine={"trust_remote_code": "${T}"})
    assert load(data, {"T": text}).models[0].engine == {"trust_remote_code": value}


@pytest.mark.parametrize("text", ["yes", "True", "on", "no", "", "2", "null", "1.0"])
def test_nothing_else_is(load: Load, text: str) -> None:
    error = refused(load, document(engine={"trust_remote_code": "${T}"}), {"T": text})
    assert error.key == "models.0.engine.trust_remote_code"
    assert "the value of ${T} is" in error.reason
    assert "true, false, 1 or 0" in error.hint


@pytest.mark.parametrize(
    ("section", "key", "text", "value"),
    [
        ("server", "port", "8080", 8080),
        ("server", "drain_timeout_s", "2.5", 2.5),
        ("server", "drain_timeout_s", "2", 2.0),
        ("server", "drain_timeout_s", "1e2", 100.0),
        ("server", "uvicorn_log_level", "debug", "debug"),
        ("server", "ssl_cert_reqs", "0", 0),
        ("server", "uds", "/tmp/s", "/tmp/s"),  # noqa: S108  # nothing is made there
        ("chat", "max_log_len", "0", 0),
        ("chat", "content_format", "openai", "openai"),
        ("engine", "max_model_len", "4096", 4096),
        ("engine", "max_model_len", "-1", -1),
        ("engine", "gpu_memory_utilization", "0.5", 0.5),
        ("engine", "runner", "generate", "generate"),
        ("engine", "max_lora_rank", "64", 64),
        ("engine", "optimization_level", "2", 2),
        ("engine", "enable_prefix_caching", "false", False),
        ("engine", "hf_overrides", "{}", "{}"),
    ],
)
def test_a_text_becomes_what_its_key_takes(
    load: Load, section: str, key: str, text: str, value: Any
) -> None:
    if (section, key) == ("engine", "hf_overrides"):
        error = refused(load, document(engine={key: "${V}"}), {"V": text})
        assert "A variable gives one value" in error.hint
        return
    settings = load(document(**{section: {key: "${V}"}}), {"V": text})
    model = settings.models[0]
    found = {"server": settings.server, "chat": model.chat}.get(section)
    made = model.engine[key] if found is None else getattr(found, key)
    assert (made, type(made)) == (value, type(value))


def test_a_nested_configuration_has_types_too(load: Load) -> None:
    engine = {
        "speculative_config": {"num_speculative_tokens": "${N}", "model": "${M}"},
        "compilation_config": {"cudagraph_capture_sizes": ["${N}"]},
    }
    settings = load(document(engine=engine), {"N": "3", "M": "3"})
    assert settings.models[0].engine == {
        "speculative_config": {"num_speculative_tokens": 3, "model": "3"},
        "compilation_config": {"cudagraph_capture_sizes": [3]},
    }


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("port", "08000", "takes a whole number, which the value of ${V} is not"),
        ("port", "8_000", "takes a whole number"),
        ("port", "٣", "takes a whole number"),
        ("port", "0x1", "takes a whole number"),
        ("port", "8000\n", "takes a whole number"),
        ("port", "", "takes a whole number, and the value of ${V} is empty"),
        ("port", "65536", "is the value of ${V}, must be at most 65535"),
        ("port", "9" * 5000, "takes a whole number"),
        ("drain_timeout_s", "nan", "takes a number"),
        ("drain_timeout_s", "1e999", "takes a number"),
        ("drain_timeout_s", "-7", "is the value of ${V}, must be 0.0 or more"),
        ("uvicorn_log_level", "loud", "which the value of ${V} is not"),
        ("root_path", "secret/", "is the value of ${V}, but a root path begins"),
        ("host", "", "is empty"),
        ("allowed_origins", "a", "takes a list"),
        ("workers", "4321", "is the value of ${V}, but each worker"),
        ("middleware", "4321", "takes a list"),
    ],
)
def test_what_does_not_fit_is_refused_without_showing_it(
    load: Load, key: str, text: str, words: str
) -> None:
    error = refused(load, document(server={key: "${V}"}), {"V": text})
    assert words in str(error)
    assert error.key == f"server.{key}"
    assert error.line == 2
    if len(text) > 3:
        assert text.strip() not in str(error)


@pytest.mark.parametrize(
    ("text", "environment", "value"),
    [
        ("${A}", {"A": "x"}, "x"),
        ("pre-${A}-post", {"A": "x"}, "pre-x-post"),
        ("${A}${B}", {"A": "x", "B": "y"}, "xy"),
        ("${A:-d}", {}, "d"),
        ("${A:-d}", {"A": "x"}, "x"),
        ("p${A:-d}", {"A": ""}, "p"),
        ("p${A:-}", {}, "p"),
        ("${A:-{{ m }}}", {}, "{{ m }}"),
        ("${A:-${B}}", {"B": "y"}, "y"),
        ("${A:-${B:-z}}", {}, "z"),
        ("${A:-a:-b:?c}", {}, "a:-b:?c"),
        ("${A:?say}", {"A": "x"}, "x"),
        ("$$", {}, "$"),
        ("$${A}", {}, "${A}"),
        ("$$${A}", {"A": "x"}, "$x"),
        ("$A", {"A": "x"}, "$A"),
        ("cost $5", {}, "cost $5"),
        ("${A}", {"A": "${B}", "B": "no"}, "${B}"),
    ],
)
def test_the_forms_of_a_placeholder(
    load: Load, text: str, environment: dict[str, str], value: str
) -> None:
    settings = load(document(engine={"revision": text}), environment)
    assert settings.models[0].engine["revision"] == value


@pytest.mark.parametrize(
    ("text", "environment", "reason"),
    [
        ("${A}", {}, "the environment variable A is not set"),
        ("${A:?give one}", {}, "the environment variable A is not set: give one"),
        ("${A:?give one}", {"A": ""}, "the environment variable A is empty: give one"),
        ("${A:?}", {}, "the environment variable A is not set"),
        ("${}", {}, "has a ${ without a variable's name after it"),
        ("${1}", {}, "has a ${ without a variable's name after it"),
        ("${ A}", {"A": "x"}, "has a ${ without a variable's name after it"),
        ("${A", {"A": "x"}, "has a ${ without its closing }"),
        ("${A-x}", {"A": "x"}, "has a placeholder that goes wrong after ${A"),
        ("${A:x}", {"A": "x"}, "has a placeholder that goes wrong after ${A"),
        ("${m.role}", {}, "has a placeholder that goes wrong after ${m"),
        ("${A:-" * 20 + "}" * 20, {}, "has placeholders inside one another, too deep"),
    ],
)
def test_what_cannot_be_filled_in_names_variable_key_file_and_line(
    load: Load, text: str, environment: dict[str, str], reason: str, tmp_path: Path
) -> None:
    error = refused(load, document(engine={"revision": text}), environment)
    assert error.reason == reason
    assert (error.key, error.line) == ("models.0.engine.revision", 6)
    assert error.file == str(tmp_path / "config.yaml")


def test_everything_that_is_not_set_is_told_at_once(load: Load) -> None:
    error = refused(load, document(source="${A}", server={"host": "${B}"}))
    assert [error.key, *(each.key for each in error.others)] == [
        "server.host",
        "models.0.source",
    ]


def test_names_of_keys_are_never_filled_in(load: Load) -> None:
    error = refused(load, document(engine={"${A}": 1}), {"A": "seed"})
    assert error.key == "models.0.engine.${A}"
    assert error.reason == "unknown key"


FREE = "${m.role}{{ m.content }} $$ ${HOME:-x} ${"


@pytest.mark.parametrize(
    "keys",
    [
        {"chat": {"template": FREE}},
        {"chat": {"default_chat_template_kwargs": {"a": {"b": [FREE]}}}},
        {"engine": {"override_generation_config": {"stop": [FREE]}}},
        {"engine": {"reasoning_config": {"reasoning_start_str": FREE}}},
    ],
)
def test_free_text_is_never_touched(load: Load, keys: dict[str, Any]) -> None:
    model = load(document(**keys), {"HOME": "y"}).models[0]
    assert FREE in repr(model)


@pytest.mark.parametrize("keys", [[], [""], [" "], None, ["ok", ""]])
def test_an_empty_key_or_list_of_keys_is_refused(load: Load, keys: Any) -> None:
    error = refused(load, document(server={"api_keys": keys}))
    assert error.key.startswith("server.api_keys")
    assert "empty" in error.reason


def test_a_key_whose_variable_is_not_set_or_empty_is_refused(load: Load) -> None:
    data = document(server={"api_keys": ["${KEY}"]})
    assert "KEY is not set" in refused(load, data).reason
    assert refused(load, data, {"KEY": ""}).reason == "is empty"
    data = document(server={"api_keys": ["${KEY:-}"]})
    assert refused(load, data).reason == "is empty"


def test_vllms_own_key_variable_is_not_passed_over(load: Load) -> None:
    error = refused(load, document(), {"VLLM_API_KEY": "hunter2"})
    assert error.key == "server.api_keys"
    assert "VLLM_API_KEY" in error.reason
    assert "hunter2" not in str(error)
    data = document(server={"api_keys": ["${VLLM_API_KEY}"]})
    assert keys_of(load(data, {"VLLM_API_KEY": "hunter2"})) == ["hunter2"]
    load(document(), {"VLLM_API_KEY": ""})


def test_a_secret_is_in_no_dump_and_no_repr(load: Load) -> None:
    secret = "hunter2-hunter2"  # noqa: S105  # the very thing to look for
    data = document(
        server={"api_keys": ["${K}", f"{secret}-2"]}, engine={"hf_token": secret}
    )
    settings = load(data, {"K": secret})
    shown = [
        repr(settings),
        str(settings),
        repr(settings.model_dump()),
        settings.model_dump_json(),
        repr(settings.models[0].engine),
    ]
    assert not [text for text in shown if "hunter2" in text]
    again = Settings.model_validate(settings.model_dump())
    assert again == settings
    assert keys_of(again) == [secret, f"{secret}-2"]


@pytest.mark.parametrize(
    ("data", "environment"),
    [
        (document(server={"api_keys": "hunter2"}), {}),
        (document(server={"api_keys": 7654321}), {}),
        (document(server={"api_keys": [7654321]}), {}),
        (document(server={"api_keys": [{"hunter2": 1}]}), {}),
        (document(server={"api_keys": {"hunter2": 1}}), {}),
        (document(engine={"hf_token": 7654321}), {}),
        (document(engine={"hf_token": ["hunter2"]}), {}),
        (document(server={"api_key": "hunter2"}), {}),
        (document(server={"port": "${P}"}), {"P": "hunter2"}),
        (document(server={"uvicorn_log_level": "${P}"}), {"P": "hunter2"}),
        (document(engine={"runner": "${P}"}), {"P": "hunter2"}),
        (document(engine={"seed": "${P}"}), {"P": "hunter2"}),
        (document(name=" ${P}"), {"P": "hunter2"}),
        (document(names=["a", "${P}"], name="${P}"), {"P": "hunter2"}),
        (document(chat={"fingerprint_mode": "${P}"}), {"P": "hunter2"}),
        (document(), {"VLLM_DI__SERVER__PORT": "hunter2"}),
        (document(), {"VLLM_DI__SERVER__API_KEYS": "hunter2"}),
        (document(), {"VLLM_DI__SERVER__API_KEYS": "[7654321]"}),
        (document(), {"VLLM_DI__SERVER__ROOT_PATH": "hunter2"}),
        (document(), {"VLLM_DI__MODELS__0__ENGINE__DEVICE_IDS": "[7654321.5]"}),
        (document(chat={"content_format": ["${P}"]}), {"P": "hunter2"}),
        (document(chat={"max_log_len": {"a": "${P}"}}), {"P": "hunter2"}),
        (document(), {"VLLM_DI__NOTHING__HERE": "hunter2"}),
        (document(), {"VLLM_DI__SERVER": "hunter2"}),
    ],
)
def test_an_error_shows_no_secret_and_no_variables_value(
    load: Load, data: Any, environment: dict[str, str]
) -> None:
    error = refused(load, data, environment)
    problems = [error, *error.others]
    shown = [*map(str, problems), *map(repr, problems), repr(error.args)]
    assert not [text for text in shown if "hunter2" in text or "7654321" in text]
