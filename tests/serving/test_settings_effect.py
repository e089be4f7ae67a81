"""What a model's settings say reaches vLLM and shows in answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dependency_injector.containers import Container

from containers import ModelContainer, ModelSettings, Running, resources, running
from containers.errors import SettingsError, StartError
from containers.testing import FakeEngine
from containers.vllm_api.effective import effective_arguments

PLUGIN = '''
from vllm.tool_parsers import ToolParser, ToolParserManager


@ToolParserManager.register_module("mine")
class Mine(ToolParser):
    """A parser that a file brings."""
'''

SettingsOf = Callable[..., ModelSettings]


@pytest.fixture
def settings_of(tiny_folder: Path) -> SettingsOf:
    def settings_of(
        engine: dict[str, Any] | None = None, **sections: Any
    ) -> ModelSettings:
        base = {"max_model_len": 256, "enforce_eager": True}
        return ModelSettings.model_validate(
            {
                "name": "tiny",
                "source": str(tiny_folder),
                "engine": base | (engine or {}),
                **sections,
            }
        )

    return settings_of


def container_of(settings: ModelSettings) -> Container:
    container = ModelContainer(settings=settings)
    container.engine.override(FakeEngine("Paris."))
    return container


async def answer(model: Running, **keys: Any) -> Any:
    from containers.vllm_api import ChatCompletionRequest

    messages = [{"role": "user", "content": "hello"}]
    request = ChatCompletionRequest(model="tiny", messages=messages, **keys)
    return await model.serving_chat.create_chat_completion(request)


@pytest.mark.parametrize(
    ("chat", "shown"),
    [
        ({"fingerprint_mode": "none"}, None),
        ({"fingerprint_mode": "custom", "fingerprint_value": "mine"}, "mine"),
        ({}, "vllm-"),
    ],
)
async def test_the_fingerprint_is_the_one_asked_for(
    settings_of: SettingsOf, chat: dict[str, Any], shown: str | None
) -> None:
    async with running(container_of(settings_of(chat=chat)), "serving_chat") as model:
        found = (await answer(model)).system_fingerprint
    assert found == shown or (shown and found.startswith(shown))


async def test_options_of_the_chat_section_reach_vllm(settings_of: SettingsOf) -> None:
    chat = {
        "tool_strict_level": "parameter",
        "trust_request_mm_kwargs": True,
        "enable_log_deltas": False,
        "enable_per_request_metrics": True,
    }
    async with running(container_of(settings_of(chat=chat))) as model:
        assert model.online_renderer.trust_request_mm_kwargs
        assert not model.serving_chat.enable_log_deltas
        assert model.serving_chat.enable_per_request_metrics
        assert model.serving_completion.enable_per_request_metrics
        assert model.serving_chat.parser_cls is None
    chat |= {"tool_call_parser": "hermes", "enable_auto_tool_choice": True}
    async with running(container_of(settings_of(chat=chat)), "serving_chat") as model:
        parser = model.serving_chat.parser_cls
        levels = {key: repr(value) for key, value in vars(parser).items()}
        assert any("PARAMETER" in level.upper() for level in levels.values()), levels


async def test_a_plugin_brings_its_parser(
    settings_of: SettingsOf, tmp_path: Path
) -> None:
    plugin = tmp_path / "brings_mine.py"
    plugin.write_text(PLUGIN)
    chat = {
        "tool_call_parser": "mine",
        "tool_parser_plugin": str(plugin),
        "enable_auto_tool_choice": True,
    }
    async with running(container_of(settings_of(chat=chat)), "online_renderer"):
        pass


@pytest.mark.parametrize(
    ("section", "key"),
    [("chat", "tool_parser_plugin"), ("engine", "reasoning_parser_plugin")],
)
def test_a_plugin_that_cannot_be_imported_is_refused(
    settings_of: SettingsOf, section: str, key: str, tmp_path: Path
) -> None:
    plugin = tmp_path / "broken.py"
    plugin.write_text("1 / 0")
    settings = settings_of(**{section: {key: str(plugin)}})
    with pytest.raises(SettingsError, match="cannot be imported") as caught:
        resources.vllm_config(settings=settings, model=settings.source)
    assert caught.value.key == f"{section}.{key}"


def adapter(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    config = {"r": 8, "lora_alpha": 8, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return str(folder)


async def test_adapters_are_loaded_before_the_model_is_ready(
    settings_of: SettingsOf, tmp_path: Path
) -> None:
    modules = [
        {"name": "sql", "path": adapter(tmp_path / "sql")},
        {"name": "de", "path": adapter(tmp_path / "de"), "base_model_name": "b"},
    ]
    engine = {"enable_lora": True, "max_lora_rank": 8}
    settings = settings_of(engine, names=["tiny", "b"], lora={"modules": modules})
    async with running(container_of(settings), "models") as model:
        listed = await model.models.show_available_models()
        shown = {card.id: (card.parent, card.root) for card in listed.data}
        assert shown["sql"] == ("tiny", modules[0]["path"])
        assert shown["de"] == ("b", modules[1]["path"])
        assert len(model.engine.loras) == 2


async def test_an_adapter_that_cannot_be_loaded_fails_the_start(
    settings_of: SettingsOf, tmp_path: Path
) -> None:
    class Refusing(FakeEngine):
        async def add_lora(self, lora_request: Any) -> bool:
            raise ValueError("no adapter_config.json there")

    engine = {"enable_lora": True}
    modules = [{"name": "sql", "path": str(tmp_path)}]
    container = ModelContainer(settings=settings_of(engine, lora={"modules": modules}))
    container.engine.override(Refusing())
    with pytest.raises(StartError, match="cannot be loaded"):
        async with running(container, "models"):
            pass


def test_nested_configurations_and_false_reach_vllm(settings_of: SettingsOf) -> None:
    settings = settings_of(
        {
            "enable_prefix_caching": False,
            "structured_outputs_config": {"backend": "outlines"},
            "compilation_config": {"cudagraph_num_of_warmups": 3},
            "logging_config": None,
        }
    )
    config = resources.vllm_config(settings=settings, model=settings.source)
    assert config.cache_config.enable_prefix_caching is False
    assert config.structured_outputs_config.backend == "outlines"
    assert config.compilation_config.cudagraph_num_of_warmups == 3


def test_what_vllm_refuses_shows_no_secret(settings_of: SettingsOf) -> None:
    import traceback

    settings = settings_of({"hf_token": "hunter2", "max_model_len": 10**9})
    with pytest.raises(SettingsError) as caught:
        resources.vllm_config(settings=settings, model=settings.source)
    shown = "".join(traceback.format_exception(caught.value))
    assert "max_model_len (1000000000) is greater than" in shown
    assert "hunter2" not in shown


def test_the_token_reaches_vllm_in_clear(settings_of: SettingsOf) -> None:
    settings = settings_of({"hf_token": "hunter2"})
    config = resources.vllm_config(settings=settings, model=settings.source)
    assert config.model_config.hf_token == "hunter2"  # noqa: S105  # made up


def test_effective_arguments_are_what_vllm_resolved(settings_of: SettingsOf) -> None:
    settings = settings_of({"hf_token": "hunter2"})
    config = resources.vllm_config(settings=settings, model=settings.source)
    found = effective_arguments(config)
    assert found["max_model_len"] == 256
    assert found["dtype"] in {"float32", "bfloat16", "float16"}
    assert found["runner"] == "generate"
    assert found["kv_cache_dtype"] == "auto"
    assert found["max_num_seqs"] > 0
    assert "hf_token" not in found
    assert "hunter2" not in repr(found)
