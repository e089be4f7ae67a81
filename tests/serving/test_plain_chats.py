"""Plain conversations are templated the short way, and are what vLLM makes of them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from containers import ModelContainer, running, vllm_api
from containers.settings import PerformanceSettings
from containers.testing import CHATML, FakeEngine
from containers.vllm_api.plain_chats import MAX_KINDS, MAX_SYSTEM_TEXTS, PlainChats
from containers.vllm_api.quick_encoding import quick_encoding
from tests.conftest import tiny_settings

SHOWING = CHATML + "{{ shown }}"
BILLING = "x-anthropic-billing-header: cc_version=1; cch=%s;"


class Chats:
    """vLLM's renderer, and how often it was asked."""

    def __init__(self, renderer: Any) -> None:
        self._stock = type(renderer).render_messages
        self._renderer = renderer
        self.n_asked = 0
        renderer.render_messages = self._asked
        self.short = PlainChats(renderer)

    def _asked(self, messages: Any, params: Any) -> Any:
        self.n_asked += 1
        return self._stock(self._renderer, messages, params)

    def prompt(self, *messages: Any, template: str | None = None, **given: Any) -> Any:
        """The conversation and its prompt, found to be what vLLM makes of it."""
        from vllm.renderers import ChatParams

        params = ChatParams(
            chat_template=template,
            chat_template_kwargs={
                "add_generation_prompt": True,
                "tokenize": False,
                **given,
            },
        )
        made = self.short.render_messages(list(messages), params)
        assert made == self._stock(self._renderer, list(messages), params)
        return made[1]["prompt"]


@pytest.fixture
async def chats(tiny_folder: Path) -> Any:
    container = ModelContainer(
        settings=tiny_settings(tiny_folder),
        performance=PerformanceSettings(short_prompt_max_chars=0),
    )
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as model:
        yield Chats(model.renderer)


def says(role: str, content: Any = "Hello", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def test_vllm_is_asked_once_for_a_kind_and_a_role(chats: Chats) -> None:
    chats.prompt(says("user"))
    assert chats.n_asked == 1
    assert "Bye" in chats.prompt(says("user", "Bye"))
    assert chats.n_asked == 1
    chats.prompt(says("user"), says("assistant"), says("user"))
    assert chats.n_asked == 2, "a new role"
    chats.prompt(says("assistant", "Yes"), says("user", "No"))
    assert chats.n_asked == 2
    chats.prompt(says("user"), add_generation_prompt=False)
    assert chats.n_asked == 3, "another kind"


def test_each_system_message_is_vllms_once(chats: Chats) -> None:
    for n_asked, text in enumerate(("Be brief.", "Be kind.", BILLING % 1), start=1):
        for _ in range(2):
            chats.prompt(says("system", text), says("user"))
        assert chats.n_asked >= n_asked
    before = chats.n_asked
    chats.prompt(says("system", BILLING % 2), says("user"))
    assert chats.n_asked == before + 1, "one like it is another one"
    chats.prompt(says("system", "Be kind."), says("user"))
    assert chats.n_asked == before + 1


@pytest.mark.parametrize(
    "message",
    [
        says("user", ""),
        says("user", None),
        says("user", [{"type": "text", "text": "Hello"}]),
        says("user", name="Ann"),
        says("assistant", reasoning="Well"),
        says("tool", tool_call_id="1"),
        says("developer"),
    ],
)
def test_what_is_more_than_text_is_vllms(chats: Chats, message: Any) -> None:
    for role in ("user", "assistant"):
        chats.prompt(says(role))
    before = chats.n_asked
    for _ in range(3):
        chats.prompt(message)
    assert chats.n_asked == before + 3


def test_a_value_that_equals_another_is_told_apart(chats: Chats) -> None:
    shown = {
        chats.prompt(says("user"), template=SHOWING, shown=value)
        for value in (True, 1, 1.0, False, 0, "1", "True")
        for _ in range(2)
    }
    assert len(shown) == 5, "True, 1, 1.0, False and 0"


def test_kinds_without_end_leave_those_that_are_asked_for(chats: Chats) -> None:
    def n_asked(shown: str) -> int:
        before = chats.n_asked
        chats.prompt(says("user"), template=SHOWING, shown=shown)
        return chats.n_asked - before

    assert n_asked("kept") == n_asked("left") == 1
    for number in range(2 * MAX_KINDS):
        assert n_asked(str(number)) == 1
        assert n_asked("kept") == 0
    assert n_asked("left") == 1, "a new one takes the place of the longest unused"
    assert n_asked("left") == 0
    chats.short.forget()
    assert (n_asked("left"), n_asked("left")) == (1, 0), "learnt anew, as asked"


def test_system_texts_without_end_take_each_others_place(chats: Chats) -> None:
    for number in range(MAX_SYSTEM_TEXTS + 2):
        chats.prompt(says("system", f"It is {number}."), says("user"))
    for text, n_asked in ((f"It is {MAX_SYSTEM_TEXTS + 1}.", 0), ("It is 0.", 1)):
        before = chats.n_asked
        chats.prompt(says("system", text), says("user"))
        assert chats.n_asked == before + n_asked, text


def test_a_refusal_is_vllms_each_time(chats: Chats) -> None:
    refusing = "{% if messages[0].content == 'no' %}{{ raise_exception('not so') }}"
    refusing += "{% endif %}{{ messages[0].content }}"
    chats.prompt(says("user", "yes"), template=refusing)
    for _ in range(2):
        with pytest.raises(vllm_api.VLLMValidationError, match="not so"):
            chats.prompt(says("user", "no"), template=refusing)


@pytest.fixture(scope="module")
def both(tiny_folder: Path) -> tuple[Any, Any]:
    """A tokenizer, and the same with a quick way to encode."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    return tokenizer, quick_encoding(tokenizer)


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    asked=st.fixed_dictionaries(
        {},
        optional={
            "truncation": st.booleans(),
            "max_length": st.none() | st.integers(1, 50),
            "add_special_tokens": st.booleans(),
        },
    ),
    before=st.sampled_from([{}, {"truncation": True, "max_length": 3}]),
)
@settings(max_examples=200, deadline=None)
def test_a_text_is_encoded_the_same(
    both: tuple[Any, Any], text: str, asked: dict[str, Any], before: dict[str, Any]
) -> None:
    tokenizer, quick = both
    expected = tokenizer(text, **asked)["input_ids"]
    for each in both:  # what a call has told the one behind it stays told
        each("some words that are many", **before)
    assert quick.encode(text, **asked) == expected


def test_copies_of_it_are_as_quick_and_the_first_one_is_left(
    both: tuple[Any, Any],
) -> None:
    tokenizer, quick = both
    assert not type(tokenizer).__name__.startswith("Quick")
    for made in (copy.copy(quick), copy.deepcopy(quick)):
        assert type(made).__name__ == type(quick).__name__
        assert made.encode("Hello") == tokenizer.encode("Hello")
    assert copy.deepcopy(quick)._tokenizer is not quick._tokenizer
    thawed = pickle.loads(pickle.dumps(quick))  # noqa: S301  # our own
    assert thawed.encode("Hello") == tokenizer.encode("Hello")


def test_one_that_encodes_its_own_way_is_left(tiny_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)

    class Own(type(tokenizer)):
        def encode(self, text: Any, **kw: Any) -> list[int]:
            return [1]

    tokenizer.__class__ = Own
    assert quick_encoding(tokenizer) is tokenizer


@pytest.mark.parametrize("method", ["__call__", "encode"])
async def test_a_tokenizer_with_a_way_of_its_own_is_called_as_vllm_calls_it(
    tiny_folder: Path, method: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)

    class Own(type(tokenizer)):
        pass

    def own(self: Any, text: Any, **kw: Any) -> Any:
        return {"input_ids": [7, 7]} if method == "__call__" else [1]

    setattr(Own, method, own)
    tokenizer.__class__ = Own
    ids = []
    for max_chars in (0, 2000):
        container = ModelContainer(
            settings=tiny_settings(tiny_folder),
            performance=PerformanceSettings(short_prompt_max_chars=max_chars),
        )
        container.tokenizer.override(tokenizer)
        container.engine.override(FakeEngine("Paris."))
        async with running(container) as model:
            prompts = [{"prompt": "Hello"}]
            (made,) = await model.renderer.render_cmpl_async(prompts)
            ids.append(made["prompt_token_ids"])
    assert ids[0] == ids[1]
