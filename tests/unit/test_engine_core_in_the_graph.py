"""What the engine's processes start beside, and what replaces them."""

from __future__ import annotations

from dependency_injector import containers, providers

from containers import ModelContainer
from containers.graph import Graph
from containers.registry.plan import ENGINE
from containers.testing import FakeEngine


def test_processes_start_beside_tokenizer_template_and_renderer() -> None:
    graph = Graph.of(ModelContainer())
    needed = {"engine_processes", "vllm_config"}
    assert set(graph.resources_under("engine_core")) == needed
    above = graph.downstream(["engine_core"])
    assert not above & {"tokenizer", "chat_template", "renderer", "online_renderer"}
    assert {"engine_core", "renderer"} <= set(graph.resources_under("engine"))


def test_a_double_of_the_engine_has_no_processes() -> None:
    container = ModelContainer()
    container.engine.override(FakeEngine("Paris."))
    graph = Graph.of(container)
    assert "engine_core" not in graph.upstream(graph.roots)


def test_a_class_with_another_engine_has_no_processes() -> None:
    @containers.copy(ModelContainer)
    class Doubled(ModelContainer):
        engine = providers.Object(FakeEngine("Paris."))

    graph = Graph.of(Doubled())
    assert "engine_core" in graph.resources
    assert not {"engine_core", "engine_processes"} & set(graph.roots)
    assert "renderer" in graph.roots


def test_what_replaces_an_engine_replaces_its_processes() -> None:
    graph = Graph.of(ModelContainer())
    users = {"engine_core", "engine", "renderer"}
    assert users <= ENGINE
    assert graph.downstream(["vllm_config"]) >= ENGINE
