from __future__ import annotations

from typing import Any

import pytest
from dependency_injector import containers, providers

from containers.errors import GraphError
from containers.graph import Edge, Graph
from containers.lifecycle import Resource


def never(*_: Any, **__: Any) -> Any:
    """A builder that must not be called while the graph is read."""
    raise AssertionError("the graph was read by calling")


class Declared(containers.DeclarativeContainer):
    settings = providers.Dependency(default=providers.Callable(never))
    config = providers.Configuration()
    device = Resource(never)
    tokenizer = Resource(never, chat=settings.provided.chat)
    engine = Resource(
        never,
        device,
        path=config.model.path,
        size=config.model.size.as_int(),
        tokenizer=tokenizer,
    )
    renderer = providers.Singleton(
        never, engine.provided.renderers["main"].get.call(tokenizer)
    )
    chat = Resource(
        never,
        all=providers.List(engine, providers.Dict(deep=renderer)),
        made=providers.Factory(
            never, x=providers.Singleton(never, device)
        ).add_attributes(extra=tokenizer),
        ref=engine.provider,
    )
    lonely = Resource(never)


def edges(graph: Graph, name: str) -> list[str]:
    return [str(edge) for edge in graph.nodes[name].edges]


def test_edges_tell_the_argument_and_what_is_taken() -> None:
    graph = Graph.of(Declared())
    assert graph.nodes["tokenizer"].edges == (
        Edge("chat", "settings", ".provided.chat"),
    )
    assert edges(graph, "engine") == [
        "[0]=device",
        "path=config.model.path",
        "size=config.model.size.as_()",
        "tokenizer=tokenizer",
    ]


def test_edges_are_found_through_whatever_lies_between() -> None:
    graph = Graph.of(Declared())
    assert edges(graph, "renderer") == [
        "[0]=engine.provided.renderers['main'].get.call()",
        "[0][0]=tokenizer",
    ]
    assert edges(graph, "chat") == [
        "all[0]=engine",
        "all[1]['deep']=renderer",
        "made.x[0]=device",
        "made.extra=tokenizer",
        "ref=engine.provider",
    ]


def test_every_branch_of_a_selector_counts() -> None:
    container = containers.DynamicContainer()
    container.kind = providers.Object("a")
    container.a = Resource(never)
    container.b = Resource(never)
    container.either = providers.Selector(container.kind, a=container.a, b=container.b)
    container.many = providers.Aggregate(one=container.a)
    container.user = Resource(never, x=container.either, y=container.many)
    graph = Graph.of(container)
    assert edges(graph, "either") == [
        "selector=kind",
        "selector['a']=a",
        "selector['b']=b",
    ]
    assert edges(graph, "many") == ["aggregate['one']=a"]
    assert graph.resources_under("user") == ("a", "b")


def test_a_resource_declared_inside_an_argument_has_a_node_of_its_own() -> None:
    container = containers.DynamicContainer()
    container.base = Resource(never)
    container.top = Resource(
        never, parts=providers.List(Resource(never, x=container.base))
    )
    graph = Graph.of(container)
    assert list(graph.nodes) == ["base", "top", "top.parts[0]"]
    assert edges(graph, "top.parts[0]") == ["x=base"]
    assert graph.resources == ("base", "top", "top.parts[0]")


def test_upstream_and_downstream() -> None:
    graph = Graph.of(Declared())
    assert graph.upstream(["tokenizer"]) == {"tokenizer", "settings"}
    assert graph.downstream(["tokenizer"]) == {
        "tokenizer",
        "engine",
        "renderer",
        "chat",
    }
    assert graph.upstream([]) == set()
    assert graph.resources_under("chat") == ("engine", "device", "tokenizer")


def test_levels_are_in_the_order_of_declaration() -> None:
    graph = Graph.of(Declared())
    assert graph.levels() == (
        ("settings", "config", "device", "lonely"),
        ("tokenizer",),
        ("engine",),
        ("renderer",),
        ("chat",),
    )
    assert graph.levels(["tokenizer"]) == (("settings",), ("tokenizer",))


def test_a_path_leads_from_a_root_down() -> None:
    graph = Graph.of(Declared())
    assert graph.path("chat", "settings") == ("chat", "tokenizer", "settings")
    assert graph.path("chat", "chat") == ("chat",)
    with pytest.raises(GraphError, match="device -> chat"):
        graph.path("device", "chat")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    graph = Graph.of(Declared())
    with pytest.raises(GraphError, match=r"Did you mean engine\?"):
        graph.upstream(["enginee"])
    with pytest.raises(GraphError, match="It has settings, config, device"):
        graph.path("zzz", "chat")


def test_overrides_replace_the_edges() -> None:
    container = Declared()
    container.engine.override(Resource(never, device=container.device))
    graph = Graph.of(container)
    assert edges(graph, "engine") == ["device=device"]
    assert graph.nodes["engine"].replaced == ("device", "config", "tokenizer")
    container.engine.override(container.lonely)
    assert edges(Graph.of(container), "engine") == ["override=lonely"]
    assert edges(graph, "engine") == ["device=device"], "a graph is a snapshot"


def test_roots_leave_out_what_only_overridden_providers_used() -> None:
    container = Declared()
    everything = ("device", "tokenizer", "engine", "chat", "lonely")
    assert Graph.of(container).roots == everything
    container.engine.override(object())
    assert Graph.of(container).roots == everything
    container.chat.override(object())
    assert Graph.of(container).roots == ("chat", "lonely")


def test_nested_containers_have_dotted_names() -> None:
    class Inner(containers.DeclarativeContainer):
        device = providers.Dependency()
        engine = Resource(never, device=device)

    class Outer(containers.DeclarativeContainer):
        device = Resource(never)
        model = providers.Container(Inner, device=device)
        chat = Resource(never, engine=model.engine)

    graph = Graph.of(Outer())
    assert list(graph.nodes) == ["device", "model.device", "model.engine", "chat"]
    assert graph.path("chat", "device") == (
        "chat",
        "model.engine",
        "model.device",
        "device",
    )


def test_two_names_of_one_provider_are_one_resource() -> None:
    class Aliased(containers.DeclarativeContainer):
        engine = Resource(never)
        client = engine

    assert edges(Graph.of(Aliased()), "client") == ["override=engine"]


def test_the_container_itself_is_not_a_node() -> None:
    class Own(containers.DeclarativeContainer):
        __self__ = providers.Self()
        me = __self__
        app = providers.Singleton(never, container=__self__)

    assert list(Graph.of(Own()).nodes) == ["app"]
