"""Secrets in texts: those that are known, and what looks like one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.masks import (
    MASK,
    MIN_CHARS,
    Secrets,
    masked,
    masked_where_known,
    of_environment,
)

KNOWN = "pa'ss \"wörd\\/%1"


def test_a_known_secret_is_masked_however_it_is_written() -> None:
    secrets = Secrets()
    secrets.add([KNOWN])
    forms = (KNOWN, quote(KNOWN, safe=""), quote(KNOWN), repr(KNOWN))
    with secrets.masked():
        for form in (*forms, json.dumps(KNOWN), str({"key": KNOWN})):
            assert "wörd" not in masked(form)
            assert quote("wörd") not in masked(form)
            assert MASK in masked_where_known(form)
    assert masked_where_known(KNOWN) == KNOWN


def test_secrets_of_settings_before_stay_secret() -> None:
    secrets = Secrets()
    with secrets.masked():
        secrets.add(["first-one"])
        secrets.add(["second-one"])
        assert masked("first-one second-one") == f"{MASK} {MASK}"


def test_one_that_is_within_another_uncovers_nothing_of_it() -> None:
    secrets = Secrets()
    secrets.add(["long", "longer-secret"])
    with secrets.masked(), secrets.masked():
        assert masked("longer-secret") == MASK
    assert masked("longer-secret") == "longer-secret"


def test_what_is_too_short_to_protect_is_left_alone() -> None:
    secrets = Secrets()
    secrets.add(["", "a", "*" * MIN_CHARS])
    with secrets.masked():
        assert masked("a model ****") == f"a model {MASK}"
        assert masked("as is") == "as is"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GET https://user:p@ss-w@hub/x gave 401", "p@ss-w"),
        ("s3://AKIAX:abc@bucket", "abc"),
        ("amqp://guest:guest1@h", "guest1"),
        ("https://h/x?token=abcd1234&y=1 gave 401", "abcd1234"),
        ("https://h/x?X-Amz-Signature=abcd1234", "abcd1234"),
        ("https://h/x?y=1&sig=abcd1234", "abcd1234"),
        ("Authorization: Bearer abcd1234efgh", "abcd1234efgh"),
        ("{'authorization': b'Bearer abcd1234efgh'}", "abcd1234efgh"),
        ("invalid token hf_abcdefghijklmnopqrstuvwx", "hf_abcdefghij"),
        ("key sk-proj-abcdefghijklmnop", "sk-proj-abcdef"),
        ("Config(hf_token='abcdef', x=1)", "abcdef"),
        ("{'api_key': 'abcdef'}", "abcdef"),
        ('{"password": "abcdef"}', "abcdef"),
        ("AWS_SECRET_ACCESS_KEY=abcdef", "abcdef"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in masked(text)
    assert MASK in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "unexpected token: endfor",
        "max_tokens=4096 is above max_model_len=2048",
        "prompt_tokens=33 completion_tokens=17",
        "eos_token='</s>' pad_token='<pad>'",
        "Config(hf_token=None, model='x')",
        "no key 'chat_template' in tokenizer_config.json",
        "https://host:8000/v1/models gave 404",
        "send Authorization: Bearer KEY or X-Api-Key",
        "Expecting property name: line 1 column 2",
    ],
)
def test_what_only_sounds_like_one_stays(text: str) -> None:
    assert masked(text) == text


def test_variables_that_libraries_read_are_secrets_too() -> None:
    found = of_environment(
        {"HF_TOKEN": "abcdefgh", "HOME": "/home/somebody", "USE_AUTH": "basic"}
    )
    assert found == ["abcdefgh"]


@given(st.text(min_size=MIN_CHARS), st.text(), st.text())
def test_nothing_of_a_known_secret_is_left_in_any_text(
    secret: str, before: str, after: str
) -> None:
    secrets = Secrets()
    secrets.add([secret])
    with secrets.masked():
        text = masked(before + secret + after)
    assert secret not in text or secret in MASK * 3


@pytest.mark.heavy
def test_it_is_light_to_import() -> None:
    program = "import sys, containers.log_format; print('pydantic' in sys.modules)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "part", ["a", "token", "sk-", "'=", "://a", "Bearer 1", "key="]
)
def test_a_long_text_takes_no_longer_than_its_length(part: str) -> None:
    text = part * (200_000 // len(part))
    began_s = time.process_time()
    masked(text)
    assert time.process_time() - began_s < 2
