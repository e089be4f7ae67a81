"""Every option with a key comes back as it was, by way of vLLM's own parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from containers import vllm_api
from containers.settings.migration import imported, line_of_words
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


@pytest.mark.filterwarnings("ignore:--log-config-file is deprecated")
def test_every_option_with_a_key(tmp_path: Path, subtests: Any) -> None:
    parser = vllm_api.make_arg_parser(
        vllm_api.FlexibleArgumentParser(exit_on_error=False)
    )
    tried = 0
    for action in parser._actions:
        name = action.dest
        if not action.option_strings or name in {"help", "cohere_format", "model"}:
            continue
        if not option_of(name).key:
            continue
        with subtests.test(name):
            tried += one(action, tmp_path)
    assert tried > 200


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
