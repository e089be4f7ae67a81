"""What new settings of a model mean: which of its objects are built anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dependency_injector import providers
from dependency_injector.containers import Container

from containers.chat_template import ChatTemplate
from containers.graph import Graph
from containers.lifecycle import lifecycle_of
from containers.settings import ModelSettings
from containers.settings.engine import SHARED_WITH_CHAT, revealed

ENGINE = frozenset({"vllm_config", "engine_core", "renderer", "engine"})
"""An engine writes into its configuration and ends processes and renderer: all go."""

KEPT_OVER_DEATH = frozenset({"model", "tokenizer", "chat_template"})
"""The same for an engine of the same settings, and what they cost is not paid again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of each loaded object of a model.

    Attributes:
        model: The model's name.
        rebuilt: Names of the providers whose objects are built anew, lowest first.
        borrowed: Names of those whose objects go on as they are.
        restarts_engine: Whether a new engine is started.
    """

    model: str
    rebuilt: tuple[str, ...]
    borrowed: tuple[str, ...]
    restarts_engine: bool


def plan_of(old: Container, new: Container, *, engine_died: bool = False) -> Plan:
    """Compare a loaded container with its successor.

    Args:
        old: A container that is loaded.
        new: One of the same class with the new settings, not started.
        engine_died: Whether its engine has to be replaced whatever the settings say.
    """
    graph, before = Graph.of(new), _settings_by_name(old, lifecycle_of(old).graph)
    changed = {
        name
        for name, settings in _settings_by_name(new, graph).items()
        if settings != before.get(name)
    }
    if _reads_otherwise(old):
        changed.add("chat_template")
    rebuilt = set(graph.downstream(changed))
    if engine_died or "engine" in rebuilt:
        rebuilt |= graph.downstream(ENGINE)
        if not changed & {"model", *ENGINE}:
            rebuilt -= KEPT_OVER_DEATH - graph.downstream(changed)
    loaded = lifecycle_of(old).objects
    order = [name for level in graph.levels(graph.roots) for name in level]
    names = [name for name in order if graph.nodes[name].is_resource]
    return Plan(
        model=new.settings().name,
        rebuilt=tuple(n for n in names if n in rebuilt or n not in loaded),
        borrowed=tuple(n for n in names if n not in rebuilt and n in loaded),
        restarts_engine="engine" in rebuilt,
    )


def _reads_otherwise(container: Container) -> bool:
    """Whether the file of a loaded chat template has another text by now."""
    template = lifecycle_of(container).objects.get("chat_template")
    if not isinstance(template, ChatTemplate) or template.file is None:
        return False
    try:
        return template.file.read_text("utf-8") != template.explicit
    except (OSError, UnicodeDecodeError):
        return True  # building it anew will tell


def _settings_by_name(container: Container, graph: Graph) -> dict[str, dict[str, Any]]:
    """What each builder is given of the settings, and nothing of loaded objects."""
    given = {name: _given(graph.nodes[name].chain[0]) for name in graph.resources}
    of_the_engine = _of_the_engine(container.settings())
    return given | dict.fromkeys(ENGINE & given.keys(), of_the_engine)


def _given(declared: Any) -> dict[str, Any]:
    if not isinstance(declared, providers.Resource):
        return {}
    return {
        argument: value()
        for argument, value in declared.kwargs.items()
        if isinstance(value, providers.AttributeGetter)
    }


def _of_the_engine(settings: ModelSettings) -> dict[str, Any]:
    """What an engine is started with; a reasoning parser is the front end's."""
    engine = revealed(settings.engine)
    return {
        **{key: engine[key] for key in engine if key not in SHARED_WITH_CHAT},
        "source": settings.source,
        "enable_log_requests": settings.chat.enable_log_requests,
        "tool_parser_plugin": settings.chat.tool_parser_plugin,
    }
