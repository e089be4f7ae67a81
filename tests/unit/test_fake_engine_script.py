import itertools
import subprocess
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.errors import InjectionError
from containers.testing import RecordedRequest, Token
from containers.testing.requests import prompt_parts
from containers.testing.script import (
    END_TOKEN_ID,
    cut,
    open_script,
    require_script,
    resolve,
)

REQUEST = RecordedRequest(request_id="r", prompt="Where?", prompt_token_ids=(1, 2))


@pytest.mark.heavy
def test_importing_the_kit_loads_neither_vllm_nor_torch_nor_tokenizers() -> None:
    heavy = ["vllm", "torch", "transformers", "tokenizers"]
    code = f"import sys, containers.testing; print(sys.modules.keys() & {heavy})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@given(st.text())
def test_tokens_of_a_string_give_the_string_back(text: str) -> None:
    assert "".join(token.text for token in cut(text)) == text


def test_a_string_is_cut_into_words_that_keep_their_space() -> None:
    assert [t.text for t in cut("Paris is fine.")] == ["Paris", " is", " fine", "."]


def test_the_empty_string_is_one_end_of_sequence_token() -> None:
    assert cut("") == [Token("", token_id=END_TOKEN_ID)]


@given(st.text())
def test_token_ids_depend_on_the_text_alone(text: str) -> None:
    token = resolve(text, None)
    assert token == resolve(Token(text), None)
    assert token.token_id in range(300, 556)


def test_a_token_keeps_its_own_id() -> None:
    assert resolve(Token("x", token_id=7), None) == Token("x", token_id=7)


@pytest.mark.parametrize(
    "script",
    [
        "Paris.",
        "",
        ["a", Token("b"), ValueError("c")],
        itertools.cycle("ab"),
        ValueError("no"),
        lambda request: "x",
    ],
)
def test_every_kind_of_script_is_taken(script: Any) -> None:
    require_script(script)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (None, "None"),
        (7, "7"),
        (b"Paris", "b'Paris'"),
        ({"a": 1}, "{'a': 1}"),
        (ValueError, "<class 'ValueError'>"),
        ([], "an empty list"),
        (["a", 7], "7 among its tokens"),
    ],
)
def test_what_is_no_script_is_refused_at_once(script: Any, found: str) -> None:
    with pytest.raises(InjectionError, match="script") as caught:
        require_script(script)
    assert caught.value.found == found
    assert caught.value.hint


async def opened(script: Any) -> list[Any]:
    items = await open_script(script, REQUEST, None)
    if hasattr(items, "__anext__"):
        return [item async for item in items]
    return list(items)


async def test_a_callable_gets_the_request() -> None:
    def echo(request: Any) -> list[str]:
        return [request.prompt, str(len(request.prompt_token_ids))]

    assert await opened(echo) == ["Where?", "2"]


async def test_a_callable_may_be_asynchronous() -> None:
    async def answer(request: Any) -> list[str]:
        return ["a"]

    assert await opened(answer) == ["a"]


async def test_a_callable_may_be_an_asynchronous_generator() -> None:
    async def answer(request: Any) -> AsyncIterator[str]:
        yield "a"
        yield "b"

    assert await opened(answer) == ["a", "b"]


async def test_an_exception_that_a_callable_returns_is_raised() -> None:
    with pytest.raises(KeyError, match="gone"):
        await opened(lambda request: KeyError("gone"))


async def test_a_callable_that_returns_nothing_playable_is_named() -> None:
    with pytest.raises(InjectionError, match="a callable that returned None"):
        await opened(lambda request: None)


async def test_a_list_is_played_anew_for_every_answer() -> None:
    script = ["a", "b"]
    assert await opened(script) == await opened(script) == ["a", "b"]


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ({"type": "token", "prompt_token_ids": [1, 2], "prompt": "ab"}, ("ab", (1, 2))),
        ({"type": "token", "prompt_token_ids": [1]}, (None, (1,))),
        ({"type": "embeds", "prompt_embeds": [[0.1], [0.2]]}, (None, (0, 0))),
        (
            {
                "type": "enc_dec",
                "encoder_prompt": {"prompt_token_ids": [9]},
                "decoder_prompt": {"prompt_token_ids": [1]},
            },
            (None, (1,)),
        ),
        ({"prompt": "é"}, ("é", (195, 169))),
        ("ab", ("ab", (97, 98))),
        ([5, 6], (None, (5, 6))),
        (SimpleNamespace(prompt_token_ids=[4], prompt_embeds=None), (None, (4,))),
    ],
)
def test_the_prompt_is_read_from_every_form_an_engine_takes(
    prompt: Any, parts: Any
) -> None:
    assert prompt_parts(prompt, None) == parts


def test_a_stream_of_prompts_is_refused() -> None:
    async def stream() -> AsyncIterator[str]:
        yield "x"

    with pytest.raises(TypeError, match="not a stream"):
        prompt_parts(stream(), None)
