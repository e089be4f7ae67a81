import json
import time
from pathlib import Path
from typing import Any

import pytest

from containers.errors import InjectionError
from containers.testing import CHATML, STRICT, TOOL_USE, tiny_model

pytestmark = pytest.mark.heavy
transformers = pytest.importorskip("transformers")

USER = {"role": "user", "content": "Hi"}
ASSISTANT = {"role": "assistant", "content": "Hello."}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def rendered(folder: Path, messages: list[dict[str, Any]], **kwargs: Any) -> str:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, **kwargs
    )


def test_a_model_is_written_in_under_two_seconds(tmp_path: Path) -> None:
    started = time.perf_counter()
    tiny_model(tmp_path)
    assert time.perf_counter() - started < 2


def test_the_same_arguments_write_the_same_bytes(tmp_path: Path) -> None:
    one, two = tiny_model(tmp_path / "one"), tiny_model(tmp_path / "two")
    names = sorted(file.name for file in one.iterdir())
    assert names == [
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()


@pytest.mark.parametrize(
    "text", ["Hello world.", "Ça va? 東京 🗼", "  tabs\tand\nlines"]
)
def test_any_text_survives_the_tokenizer(tokenizer: Any, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_its_merges_make_words_into_single_tokens(tokenizer: Any) -> None:
    assert len(tokenizer.encode(" capital of France", add_special_tokens=False)) == 3


def test_no_token_is_outside_the_configured_vocabulary(
    folder: Path, tokenizer: Any
) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert len(tokenizer) <= config["vocab_size"]


def test_a_vocabulary_smaller_than_the_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InjectionError, match="vocab_size"):
        tiny_model(tmp_path, vocab_size=256)
    assert list(tmp_path.iterdir()) == []


def test_special_tokens_are_one_token_each(tokenizer: Any) -> None:
    for text in ("<s>", "</s>", "<|im_start|>", "<|im_end|>"):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert ids == [tokenizer.convert_tokens_to_ids(text)]
        assert tokenizer.decode(ids, skip_special_tokens=True) == ""
    assert tokenizer.decode(tokenizer.eos_token_id) == "<|im_end|>"


def test_the_template_is_chatml_unless_told_otherwise(folder: Path) -> None:
    assert rendered(folder, [USER]) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_model_may_have_no_template(tmp_path: Path) -> None:
    model = tiny_model(tmp_path, chat_template=None)
    assert transformers.AutoTokenizer.from_pretrained(model).chat_template is None


def test_the_strict_template_refuses_two_user_turns(tmp_path: Path) -> None:
    model = tiny_model(tmp_path, chat_template=STRICT)
    system = {"role": "system", "content": "Be brief."}
    assert rendered(model, [system, USER, ASSISTANT, USER]) == (
        "<|im_start|>user\nBe brief.\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    with pytest.raises(Exception, match="must alternate"):
        rendered(model, [USER, USER])


def test_a_model_may_have_several_named_templates(tmp_path: Path) -> None:
    named = {"default": CHATML, "tool_use": TOOL_USE}
    model = tiny_model(tmp_path, chat_template=named)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    assert tokenizer.chat_template == named


def test_the_tool_template_lists_tools_and_writes_calls(tmp_path: Path) -> None:
    model = tiny_model(tmp_path, chat_template=TOOL_USE)
    call = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
    text = rendered(
        model,
        [USER, {"role": "assistant", "content": None, "tool_calls": [call]}],
        tools=[tool],
    )
    assert '"name": "add", "parameters": {}' in text
    assert '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>' in text
