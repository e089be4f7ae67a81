"""Chat templates: found, resolved and tried out before anything expensive starts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from containers import ChatTemplate, resources
from containers.errors import ChatTemplateError, InjectionError
from containers.testing import CHATML, STRICT, TOOL_USE, tiny_model
from tests.conftest import tiny_settings

STRING = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
OPENAI = (
    "{% for m in messages %}{% for part in m['content'] %}"
    "{{ part['text'] }}{% endfor %}{% endfor %}"
)


def load(folder: Path, **chat: Any) -> ChatTemplate:
    """The loaded template of a tiny model with these chat settings."""
    settings = tiny_settings(folder, **chat)
    config = resources.vllm_config(settings=settings, model=settings.source)
    return resources.chat_template(
        settings=settings.chat,
        vllm_config=config,
        tokenizer=resources.tokenizer(vllm_config=config),
    )


def test_the_tokenizers_own_is_the_default(tiny_folder: Path) -> None:
    template = load(tiny_folder)
    assert template == ChatTemplate(explicit=None, text=CHATML, origin="tokenizer")


def test_jinja_text_is_taken_literally(tiny_folder: Path) -> None:
    template = load(tiny_folder, template=STRING + "${NAME} {# a note #}")
    assert template.origin == "literal"
    assert template.explicit == template.text == STRING + "${NAME} {# a note #}"


def test_a_file_is_read(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text(STRING, encoding="utf-8")
    template = load(tiny_folder, template=str(path))
    assert template.text == STRING
    assert template.origin == f"file {path}"


def test_one_of_the_tokenizers_named_templates(tmp_path: Path) -> None:
    folder = tiny_model(
        tmp_path, chat_template={"default": CHATML, "tool_use": TOOL_USE}
    )
    template = load(folder, template="tool_use")
    assert template.explicit == "tool_use"
    assert template.text == TOOL_USE
    assert template.origin == "named tool_use"


@pytest.mark.parametrize(
    ("text", "content_format", "detected"),
    [
        (STRING, "auto", "string"),
        (STRING, "string", "string"),
        (OPENAI, "auto", "openai"),
        (OPENAI, "openai", "openai"),
    ],
)
def test_the_content_format_is_detected(
    tiny_folder: Path, text: str, content_format: str, detected: str
) -> None:
    template = load(tiny_folder, template=text, content_format=content_format)
    assert template.content_format == content_format
    assert template.detected_format == detected


@pytest.mark.parametrize(
    ("text", "content_format"),
    [
        (STRING, "openai"),
        ("{{ messages[0]['role'] + messages[0]['content'] }}", "openai"),
        (OPENAI, "string"),
    ],
)
def test_a_content_format_that_does_not_fit_is_refused(
    tiny_folder: Path, text: str, content_format: str
) -> None:
    with pytest.raises(ChatTemplateError) as caught:
        load(tiny_folder, template=text, content_format=content_format)
    assert "literal" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{% for m in messages %}\n{{ m.content }}", "not valid Jinja, line 2"),
        ("{{ messages[0].content | nofilter }}", "not valid Jinja|cannot render"),
        ("{{ raise_exception('no users here') }}", "no users here"),
        ("{{ messages[7].content }}", "cannot render one user turn"),
        ("{{ 'always the same' }}", "lacks the text of the user's message"),
        ("{% for m in messages %}{% endfor %}", "lacks the text"),
    ],
)
def test_a_template_that_cannot_render_a_user_turn_is_refused(
    tiny_folder: Path, text: str, reason: str
) -> None:
    with pytest.raises(ChatTemplateError, match=reason):
        load(tiny_folder, template=text)


def test_a_file_that_is_not_there_is_refused(tiny_folder: Path) -> None:
    with pytest.raises(ChatTemplateError, match=r"file /absent\.jinja: cannot be read"):
        load(tiny_folder, template="/absent.jinja")


def test_a_file_that_is_no_text_is_refused(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ChatTemplateError, match="cannot be read"):
        load(tiny_folder, template=str(path))


def test_a_model_without_one_loads_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        template = load(tiny_model(tmp_path, chat_template=None))
    assert template.text is None
    assert template.origin == "none"
    assert "no chat template" in caplog.text


def test_a_model_without_one_is_refused_where_one_is_required(tmp_path: Path) -> None:
    with pytest.raises(ChatTemplateError, match="require_chat_template"):
        load(tiny_model(tmp_path, chat_template=None), require_chat_template=True)


def test_default_template_kwargs_are_given_to_the_trial(tiny_folder: Path) -> None:
    text = "{% if mood == 'kind' %}{{ messages[0].content }}{% endif %}"
    load(tiny_folder, template=text, default_chat_template_kwargs={"mood": "kind"})
    with pytest.raises(ChatTemplateError):
        load(tiny_folder, template=text)


def test_a_strict_template_renders_its_user_turn(tmp_path: Path) -> None:
    assert load(tiny_model(tmp_path, chat_template=STRICT)).text == STRICT


def test_it_needs_a_loaded_tokenizer(tiny_folder: Path) -> None:
    settings = tiny_settings(tiny_folder)
    config = resources.vllm_config(settings=settings, model=settings.source)
    with pytest.raises(InjectionError, match=r"tokenizer=.*got None"):
        resources.chat_template(
            settings=settings.chat, vllm_config=config, tokenizer=None
        )
