"""What the tests of one session share, and what they must not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import create_app
from containers import ChatTemplate, ModelSettings, Running, running
from containers.errors import SourceError
from containers.testing import FakeEngine, override
from containers.testing.session import SharedSession
from tests.conftest import tiny_settings


@pytest.fixture(scope="module")
def session() -> Iterator[SharedSession]:
    session = SharedSession()
    yield session
    session.close()


async def started(
    session: SharedSession, settings: ModelSettings, **doubles: object
) -> Running:
    """The loaded objects of a container that has been started, and stopped again."""
    container = session.container(settings)
    with override(container, engine=FakeEngine(), **doubles):
        async with running(container) as model:
            return model


async def test_config_and_template_are_built_once_for_the_same_settings(
    session: SharedSession, tiny_folder: Path
) -> None:
    settings = tiny_settings(tiny_folder)
    one, other = [await started(session, settings) for _ in range(2)]
    assert one.vllm_config is other.vllm_config
    assert one.chat_template is other.chat_template
    assert one.renderer is not other.renderer
    assert one.serving_chat is not other.serving_chat
    fingerprints = {each.serving_chat.system_fingerprint for each in (one, other)}
    assert len(fingerprints) == 1
    assert None not in fingerprints


async def test_other_settings_get_others(
    session: SharedSession, tiny_folder: Path
) -> None:
    plain = await started(session, tiny_settings(tiny_folder))
    text = "{{ messages[0]['content'] }}"
    other = await started(session, tiny_settings(tiny_folder, template=text))
    assert other.vllm_config is not plain.vllm_config
    assert other.chat_template.explicit == text


async def test_a_double_is_never_shared(
    session: SharedSession, tiny_folder: Path
) -> None:
    settings = tiny_settings(tiny_folder)
    template = ChatTemplate.literal("{{ messages[0]['content'] }}")
    doubled = await started(session, settings, chat_template=template)
    assert doubled.chat_template is template
    assert (await started(session, settings)).chat_template is not template


def test_recording_a_model_without_weights_says_what_to_define(
    session: SharedSession, tiny_folder: Path
) -> None:
    with pytest.raises(SourceError, match="Define a fixture serving_settings"):
        session.real_engine(tiny_settings(tiny_folder))


def test_a_builder_that_a_test_wraps_is_called_as_it_always_was(
    session: SharedSession, tiny_folder: Path
) -> None:
    container = session.container(tiny_settings(tiny_folder))
    seen = []
    for name in ("tokenizer", "serving_chat"):
        container.providers[name].set_provides(
            noting(container.providers[name].provides, seen)
        )
    with override(container, engine=FakeEngine()):
        app = create_app(container)
        with session.serving(app, container) as (transport, left):
            client = httpx.AsyncClient(transport=transport, base_url="http://test")
            assert asyncio.run(client.get("/health")).is_success
            assert seen == [type(container.tokenizer()), type(container.serving_chat())]
    assert left == []


def noting(build: Any, seen: list[type]) -> Any:
    def built(**injected: Any) -> Any:
        value = build(**injected)
        seen.append(type(value))
        return value

    return built
