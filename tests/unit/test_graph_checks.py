from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import pytest
from dependency_injector import containers, providers

from containers.errors import GraphError
from containers.graph import Graph
from containers.lifecycle import Resource


def accepts_all(*_: Any, **__: Any) -> None:
    """Take anything."""


def engine(tokenizer: object, *, max_model_len: int = 1) -> None:
    """Take exactly these."""


def problem(container: Any, *roots: str) -> GraphError:
    with pytest.raises(GraphError) as caught:
        Graph.of(container).check(roots or None)
    return caught.value


def test_a_right_graph_has_no_problem() -> None:
    container = containers.DynamicContainer()
    container.tokenizer = Resource(accepts_all)
    container.engine = Resource(engine, container.tokenizer, max_model_len=2)
    Graph.of(container).check()


def test_a_cycle_is_printed_along_its_edges() -> None:
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all)
    container.b = providers.Singleton(accepts_all, a=container.a)
    container.c = Resource(accepts_all, b=providers.List(container.b))
    container.a.add_kwargs(c=container.c)
    found = problem(container)
    assert found.providers[0] == found.providers[-1]
    assert " -> ".join(found.providers) in "a -> c -> b -> a -> c -> b -> a"
    assert "circle" in found.reason


def test_a_provider_may_not_use_itself() -> None:
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all)
    container.a.add_kwargs(me=container.a.provided.x)
    assert problem(container).providers == ("a", "a")


def test_a_circle_of_nameless_providers_is_found() -> None:
    inner = providers.Factory(accepts_all)
    inner.add_kwargs(me=providers.List(inner))
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all, x=inner)
    assert "circle" in problem(container).reason


def test_providers_that_override_each_other_are_found() -> None:
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all)
    container.b = Resource(accepts_all)
    container.a.override(container.b)
    container.b.override(container.a)
    assert "circle" in problem(container).reason


def test_a_cycle_outside_of_what_is_wanted_does_not_matter() -> None:
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all)
    container.a.add_kwargs(me=container.a)
    container.b = Resource(accepts_all)
    Graph.of(container).check(["b"])
    assert problem(container, "a").providers == ("a", "a")


def test_an_undefined_dependency_is_named() -> None:
    container = containers.DynamicContainer()
    container.settings = providers.Dependency()
    container.engine = Resource(accepts_all, settings=container.settings.provided.x)
    found = problem(container)
    assert found.providers == ("settings",)
    assert "Container(settings=...)" in found.hint
    container.settings.override(1)
    Graph.of(container).check()


def test_a_nameless_undefined_dependency_is_named_by_its_argument() -> None:
    container = containers.DynamicContainer()
    container.engine = Resource(accepts_all, settings=providers.Dependency())
    assert problem(container).providers == ("engine", "settings")


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_a_provider_hidden_in_a_plain_sequence_is_found(kind: Any) -> None:
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all)
    container.b = Resource(accepts_all, parts=kind([container.a]))
    found = problem(container)
    assert found.providers == ("b", "parts")
    assert kind.__name__ in found.reason
    assert "providers.List" in found.hint


def test_a_provider_hidden_deep_in_plain_dicts_is_found() -> None:
    container = containers.DynamicContainer()
    container.a = Resource(accepts_all)
    container.b = Resource(
        accepts_all, made=providers.Factory(dict, x={"y": [{"z": container.a}]})
    )
    found = problem(container)
    assert found.providers == ("b", "made.x")
    assert "providers.Dict" in found.hint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokenizer": 1, "max_model_length": 2}, "unexpected keyword argument 'max_"),
        ({}, "missing a required argument: 'tokenizer'"),
    ],
)
def test_arguments_that_a_builder_does_not_take_are_named(
    arguments: dict[str, Any], message: str
) -> None:
    container = containers.DynamicContainer()
    container.engine = Resource(engine, **arguments)
    found = problem(container)
    assert found.providers == ("engine",)
    assert message in found.reason
    assert found.reason.startswith("engine(tokenizer")


def test_the_nearest_parameter_is_offered() -> None:
    container = containers.DynamicContainer()
    container.engine = Resource(engine, 1, max_model_length=2)
    assert "Did you mean max_model_len for max_model_length?" in str(problem(container))


def test_a_factory_may_get_the_rest_of_its_arguments_later() -> None:
    container = containers.DynamicContainer()
    container.make = providers.Factory(engine, max_model_len=2)
    Graph.of(container).check()
    container.make.add_kwargs(wrong=1)
    assert "'wrong'" in problem(container).reason


def test_the_signature_of_an_override_is_what_counts() -> None:
    container = containers.DynamicContainer()
    container.engine = Resource(engine, wrong=1)
    container.engine.override(Resource(engine, tokenizer=1))
    Graph.of(container).check()


def test_library_resources_are_checked_too() -> None:
    def generated(*, size: int) -> Any:
        yield size

    container = containers.DynamicContainer()
    container.engine = providers.Resource(generated, size=1, wrong=2)
    assert "'wrong'" in problem(container).reason


@runtime_checkable
class Engine(Protocol):
    name: str


@pytest.mark.parametrize(
    ("given", "is_right"),
    [
        (3, True),
        ("three", False),
        (providers.Factory(int), True),
        (providers.Singleton(dict), False),
        (providers.Callable(str), True),
    ],
)
def test_a_dependency_of_the_wrong_type_is_found(given: Any, is_right: bool) -> None:
    container = containers.DynamicContainer()
    container.size = providers.Dependency(instance_of=int)
    container.size.override(given)
    if is_right:
        Graph.of(container).check()
    else:
        assert "it must be an int" in problem(container).reason


def test_a_protocol_with_attributes_is_asked_about_objects_only() -> None:
    container = containers.DynamicContainer()
    container.engine = providers.Dependency(instance_of=Engine)
    container.engine.override(providers.Factory(dict))
    Graph.of(container).check()
    container.engine.override({})
    assert "it must be an Engine" in problem(container).reason
