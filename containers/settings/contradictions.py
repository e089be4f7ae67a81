"""Options of a model that cannot be meant together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from containers.settings.chat import ChatSettings
from containers.settings.engine import SHARED_WITH_CHAT
from containers.settings.lora import LoraSettings
from containers.settings.problems import Problems, refuse

_OF_GENERATION = (
    "response_role",
    "enable_auto_tool_choice",
    "tool_call_parser",
    "tool_parser_plugin",
    "tool_strict_level",
    "exclude_tools_when_tool_choice_none",
    "reasoning_parser",
    "enable_prompt_tokens_details",
    "enable_force_include_usage",
    "enable_per_request_metrics",
    "return_tokens_as_token_ids",
    "enable_log_outputs",
    "tool_server",
    "anthropic_disabled_thinking_effort",
)
"""Chat options that say how generated text is answered."""


def contradictions(
    names: Sequence[str],
    engine: Mapping[str, Any],
    chat: ChatSettings,
    lora: LoraSettings,
) -> Problems:
    """What is wrong between the sections of one model."""
    return {
        **_said_twice(engine, chat),
        **_pooling_with_chat(engine, chat),
        **_metrics_without_stats(engine, chat),
        **_adapters(names, engine, lora),
    }


def _said_twice(engine: Mapping[str, Any], chat: ChatSettings) -> Problems:
    return {
        ("engine", key): refuse(f"contradicts chat.{key}", "Set only one of them.")
        for key in SHARED_WITH_CHAT
        if key in engine
        and key in chat.model_fields_set
        and (engine[key] or None) != (getattr(chat, key) or None)
    }


def _pooling_with_chat(engine: Mapping[str, Any], chat: ChatSettings) -> Problems:
    if engine.get("runner") != "pooling":
        return {}
    fields = ChatSettings.model_fields
    return {
        ("chat", key): refuse(
            "has no meaning with engine.runner: pooling, which generates no text",
            "Leave out one of the two.",
        )
        for key in _OF_GENERATION
        if getattr(chat, key) != fields[key].default
    }


def _metrics_without_stats(engine: Mapping[str, Any], chat: ChatSettings) -> Problems:
    if not (chat.enable_per_request_metrics and engine.get("disable_log_stats")):
        return {}
    return {
        ("chat", "enable_per_request_metrics"): refuse(
            "needs the statistics that engine.disable_log_stats turns off",
            "Leave out one of the two.",
        )
    }


def _adapters(
    names: Sequence[str], engine: Mapping[str, Any], lora: LoraSettings
) -> Problems:
    problems: Problems = {
        ("lora", "modules", index, "name"): refuse(
            "is {value}, which the model itself answers to",
            "Rename the adapter.",
            value=module.name,
        )
        for index, module in enumerate(lora.modules)
        if module.name in names
    }
    for index, module in enumerate(lora.modules):
        if module.base_model_name is not None and module.base_model_name not in names:
            problems["lora", "modules", index, "base_model_name"] = refuse(
                "is {value}, which is none of the model's names",
                "Leave it out, or write one of them.",
                value=module.base_model_name,
            )
    if lora.modules and not engine.get("enable_lora"):
        problems["lora", "modules"] = refuse(
            "are given, but engine.enable_lora is not true",
            "Set engine.enable_lora: true.",
        )
    return problems
