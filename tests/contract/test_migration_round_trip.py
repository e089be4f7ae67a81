"""Every option with a key comes back as it was, by way of vLLM's own parser."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from containers import vllm_api
from containers.errors import SettingsError
from containers.settings.migration import exported, imported, line_of_words
from containers.settings.migration.keys import option_of
from tests.contract.test_command_lines import compared, load, parse, round_trip

ALONE: dict[str, list[str]] = {
    "enable_auto_tool_choice": ["--tool-call-parser", "hermes"],
    "enable_log_outputs": ["--enable-log-requests"],
    "lora_modules": ["--enable-lora"],
    "allow_credentials": ["--allowed-origins", '["https://a.example"]'],
    "fingerprint_value": ["--fingerprint-mode", "custom"],
    "ssl_cert_reqs": ["--ssl-certfile", "/c.pem", "--ssl-ca-certs", "/ca.pem"],
    "ssl_keyfile": ["--ssl-certfile", "/c.pem"],
    "ssl_ca_certs": ["--ssl-certfile", "/c.pem"],
    "ssl_ciphers": ["--ssl-certfile", "/c.pem"],
    "enable_ssl_refresh": ["--ssl-certfile", "/c.pem"],
}
"""Options that mean nothing without another."""

ELSEWHERE = {
    "help": "prints a text",
    "model": "exported as the first word: test_the_model_comes_back_as_the_first_word",
    "cohere_format": "exported as the template variable that vLLM makes of it:"
    " test_coheres_format_comes_back_as_a_variable_of_the_template",
}
"""Options that come back in another way."""

VALUES = {
    "fingerprint_mode": "hash",
    "lora_modules": "one=example/one",
    "ssl_cert_reqs": "1",
    "root_path": "/llm",
    "middleware": "example.first.One",
    "api_key": "key",
    "hf_token": "key",
    "attention_backend": "TRITON_ATTN",
    "mamba_backend": "triton",
    "data_parallel_backend": "ray",
    "kv_transfer_config": '{"engine_id": "one"}',
    "ec_transfer_config": '{"engine_id": "one"}',
    "uds": "/run/vllm.sock",
    "chat_template": "{{ messages }}",
    "tool_parser_plugin": "/srv/parser.py",
    "ssl_certfile": "/c.pem",
    "ssl_keyfile": "/k.pem",
    "ssl_ca_certs": "/ca.pem",
}


def candidates(action: Any) -> list[str]:
    """Texts one of which the option takes."""
    if action.dest in VALUES:
        return [VALUES[action.dest]]
    if action.choices:
        default = str(action.default)
        return [str(each) for each in action.choices if str(each) != default]
    return ["3", "0.5", "word", '{"a": 1}', '["x"]', "{}"]


def written(action: Any) -> list[list[str]]:
    """Ways to write the option so that it differs from its default."""
    flag = next(each for each in action.option_strings if each.startswith("--"))
    if action.nargs == 0:
        is_on = action.default is True and len(action.option_strings) > 1
        return [[f"--no-{flag[2:]}" if is_on else flag]]
    return [[flag, value] for value in candidates(action)]


@pytest.mark.timeout(600)  # 300 options, each there and back
@pytest.mark.filterwarnings("ignore:--log-config-file is deprecated")
@pytest.mark.soak
def test_every_option_with_a_key(tmp_path: Path, subtests: Any) -> None:
    parser = vllm_api.make_arg_parser(
        vllm_api.FlexibleArgumentParser(exit_on_error=False)
    )
    tried = 0
    for action in parser._actions:
        name = action.dest
        if not action.option_strings or name in ELSEWHERE:
            continue
        if not option_of(name).key:
            continue
        with subtests.test(name):
            tried += one(action, tmp_path)
    assert tried > 200


def test_nested_secrets_go_through_variables(tmp_path: Path) -> None:
    extra = (
        '{"kv_connector_extra_config": {"password": "it\'s", "l": [{"token": "x"}]}}'
    )
    line = ["serve", "example/model", "--kv-transfer-config", extra]
    found = imported(line_of_words(line))
    values = dict(zip(found.variables, ["it's", "x"], strict=True))
    settings = load(found.text, tmp_path, values)
    assert "it's" not in exported(settings).text
    again = parse(round_trip(settings, values))
    there = parse(line)
    for each in (again, there):
        each.kv_transfer_config.engine_id = None
    assert again.kv_transfer_config == there.kv_transfer_config


def test_a_model_is_exported_by_any_of_its_names(tmp_path: Path) -> None:
    document = "models: [{name: a, source: s}, {names: [b, c], source: t}]"
    settings = load(document, tmp_path, {})
    assert exported(settings).words[0] == "vllm serve s"
    found = exported(settings, "c")
    assert found.words[:2] == ["vllm serve t", "--served-model-name b c"]
    assert "left out, a server each: a" in found.notes
    with pytest.raises(SettingsError, match="has none that is named d"):
        exported(settings, "d")


@pytest.mark.parametrize(
    "words",
    [["serve", "--model", "example/model"], ["--model", "example/model", "--seed=3"]],
)
def test_the_model_comes_back_as_the_first_word(
    tmp_path: Path, words: list[str]
) -> None:
    settings = load(imported(line_of_words(words)).text, tmp_path, {})
    again = round_trip(settings, {})
    assert again[:2] == ["serve", "example/model"]
    assert compared(parse(again)) == compared(parse(words))


def test_coheres_format_comes_back_as_a_variable_of_the_template(
    tmp_path: Path,
) -> None:
    cli_args = sys.modules[vllm_api.make_arg_parser.__module__]
    line = ["serve", "example/model", "--cohere-format", "cmd3"]
    line += ["--default-chat-template-kwargs", '{"tools_first": true}']
    settings = load(imported(line_of_words(line)).text, tmp_path, {})
    again, there = parse(round_trip(settings, {})), parse(line)
    resolved = cli_args.resolve_default_chat_template_kwargs
    assert resolved(again) == resolved(there)
    assert resolved(there) == {"cohere_format": "cmd3", "tools_first": True}


def one(action: Any, folder: Path) -> int:
    reasons = []
    for words in written(action):
        line = ["serve", "example/model", *ALONE.get(action.dest, []), *words]
        try:
            there = parse(line)
            found = imported(line_of_words(line))
        except (SystemExit, ValueError, TypeError, AttributeError) as error:
            reasons.append(str(error))
            continue
        except Exception as error:  # noqa: BLE001  # vLLM's own, of another value
            reasons.append(repr(error))
            continue
        if any("left out" in note for note in found.notes):
            reasons.append(json.dumps(found.notes))
            continue
        environment = dict.fromkeys(found.variables, "key")
        settings = load(found.text, folder, environment)
        again_words = round_trip(settings, environment)
        again = compared(parse(again_words))
        assert again == compared(there)
        second = load(imported(line_of_words(again_words)).text, folder, environment)
        assert second == settings
        return 1
    pytest.fail(f"no value fits: {reasons}")
