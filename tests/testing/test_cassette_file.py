"""The file of a cassette: whole lines, come what may."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from containers.errors import CassetteError
from containers.testing.cassettes import tape
from containers.testing.cassettes.near_miss import near_miss
from containers.testing.cassettes.secrets import SCRUBBED, Scrubber

KEY = "sk-abcdefghijklmnopqrstuvwx"


def request(prompt: str = "Where?", **params: Any) -> dict[str, Any]:
    ids = list(prompt.encode(errors="replace"))
    return {
        "call": "generate",
        "prompt": prompt,
        "prompt_token_ids": ids,
        "params": params,
    }


def entry(prompt: str = "Where?", **params: Any) -> dict[str, Any]:
    return {"request": request(prompt, **params), "end": "finished", "outputs": []}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassettes" / "one.jsonl"


def test_what_is_appended_is_read_in_its_order(path: Path) -> None:
    for prompt in ("a", "é\u2028\ud800", "c"):
        tape.append(path, entry(prompt))
    assert [e.request["prompt"] for e in tape.read(path)] == ["a", "é\u2028\ud800", "c"]
    assert [e.line for e in tape.read(path)] == [2, 3, 4]


def test_every_line_is_json_and_the_first_tells_format_and_version(path: Path) -> None:
    tape.append(path, entry("Zoë"))
    heading, line = map(json.loads, path.read_text().splitlines())
    assert heading.keys() == {"format", "version", "vllm"}
    assert (heading["format"], heading["version"]) == ("vllm-di cassette", 1)
    assert line == entry("Zoë")
    assert "Zoë" in path.read_text()


def test_rewriting_leaves_what_was_there_until_all_is_written(path: Path) -> None:
    tape.append(path, entry("old"))
    with pytest.raises(TypeError):
        tape.rewrite(path, {"request": object()})
    assert [e.request["prompt"] for e in tape.read(path)] == ["old"]
    tape.rewrite(path, entry("new"))
    assert [e.request["prompt"] for e in tape.read(path)] == ["new"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("torn", ['{"request": {"pro', "{", '{"é'])
def test_a_torn_last_line_is_passed_over_and_cut_off_before_more_is_written(
    path: Path, torn: str, caplog: pytest.LogCaptureFixture
) -> None:
    tape.append(path, entry("whole"))
    with path.open("ab") as file:
        file.write(torn.encode()[:-1] or b"{")
    with caplog.at_level(logging.WARNING):
        assert [e.request["prompt"] for e in tape.read(path)] == ["whole"]
    assert "torn line" in caplog.text
    tape.append(path, entry("next"))
    assert [e.request["prompt"] for e in tape.read(path)] == ["whole", "next"]


WRITER = """
import sys
from pathlib import Path
from containers.testing.cassettes import tape
outputs = [{"text": "x" * 100}] * 200
for number in range(10_000):
    request = {"call": "generate", "prompt": str(number), "params": {}}
    tape.append(Path(sys.argv[1]), {"request": request, "end": "f", "outputs": outputs})
"""


def test_a_kill_while_writing_loses_no_whole_line(path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    try:
        deadline = time.monotonic() + 20
        while not path.exists() or path.stat().st_size < 200_000:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        writer.kill()
        writer.wait()
    prompts = [episode.request["prompt"] for episode in tape.read(path)]
    assert prompts == [str(number) for number in range(len(prompts))]
    tape.append(path, entry("after"))
    assert len(tape.read(path)) == len(prompts) + 1


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("", 1, "no JSON"),
        ("[]\n", 1, "no JSON object"),
        ('{"format": "vcr"}\n', 1, "does not begin with the format"),
        ('{"format": "vllm-di cassette", "version": 1}\nnonsense\n', 2, "no JSON"),
        ('{"format": "vllm-di cassette", "version": 1}\n{"a": 1}\n', 2, "no recorded"),
        ('{"format": "vllm-di cassette", "version": 2}\n', None, "version is 2"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    path: Path, content: str, line: int | None, reason: str
) -> None:
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(CassetteError, match=reason) as caught:
        tape.read(path)
    assert caught.value.line == line
    assert caught.value.hint
    assert str(path) in str(caught.value)


def test_a_missing_file_says_how_to_record_one(path: Path) -> None:
    with pytest.raises(CassetteError, match="--vllm-di-record"):
        tape.read(path)


def test_a_near_miss_names_the_nearest_request_and_what_differs(path: Path) -> None:
    tape.append(path, entry("What is the capital of Peru?", temperature=0.0))
    tape.append(path, entry("What is the capital of France?", temperature=0.0, seed=1))
    tape.append(path, entry("Count to ten.", temperature=0.7))
    asked = request("What is the capital of Franconia?", temperature=0.7)
    text = str(near_miss(path, asked, tape.read(path)))
    assert f"{path}:3" in text
    assert "params.temperature: recorded 0.0, asked 0.7" in text
    assert "params.seed: recorded 1, asked the default" in text
    assert 'asked "What is the capital of Franconia?"' in text
    assert "token_ids" not in text
    assert "--vllm-di-record=new" in text


def test_a_near_miss_shows_a_long_prompt_where_it_differs(path: Path) -> None:
    tape.append(path, entry("word " * 300 + "north" + " word" * 300))
    asked = request("word " * 300 + "south" + " word" * 300)
    text = str(near_miss(path, asked, tape.read(path)))
    assert "north" in text
    assert "south" in text
    assert len(text) < 800


def test_an_empty_cassette_says_so(path: Path) -> None:
    tape.rewrite(path)
    with pytest.raises(CassetteError, match="it is empty"):
        raise near_miss(path, request(), tape.read(path))


@pytest.mark.parametrize(
    "text",
    [
        f"my key is {KEY}.",
        "Authorization: Bearer abcdefgh12345678",
        "hf_abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrst",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_the_usual_secrets_are_scrubbed(text: str) -> None:
    scrubbed = Scrubber().text(text)
    assert SCRUBBED in scrubbed
    assert not set(text.split()) & {w for w in scrubbed.split() if len(w) > 15}


def test_ordinary_text_is_left_alone() -> None:
    text = "What is task-oriented design? See README.md, the risk-averse user said."
    assert Scrubber().text(text) == text


def test_secrets_of_the_environment_and_of_the_user_are_scrubbed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import re

    monkeypatch.setenv("MY_SERVICE_TOKEN", "correct-horse-battery")
    scrubber = Scrubber(["swordfish", re.compile(r"\d{16}")])
    text = "correct-horse-battery swordfish 1234567812345678 harmless"
    assert scrubber.text(text).split() == [SCRUBBED] * 3 + ["harmless"]


def test_values_under_telling_names_are_scrubbed_and_token_ids_are_not() -> None:
    params = {
        "stop_token_ids": [2],
        "extra_args": {"api_key": "x", "user": {"password": "y"}, "color": "red"},
    }
    assert Scrubber().data(params) == {
        "stop_token_ids": [2],
        "extra_args": {
            "api_key": SCRUBBED,
            "user": {"password": SCRUBBED},
            "color": "red",
        },
    }


def test_token_ids_that_would_spell_a_secret_are_left_out() -> None:
    scrubbed = Scrubber().request(request(f"use {KEY}"))
    assert scrubbed["prompt"] == f"use {SCRUBBED}"
    assert "prompt_token_ids" not in scrubbed
    assert "prompt_token_ids" in Scrubber().request(request("use it"))
