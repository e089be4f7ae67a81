"""A model's container in which all is fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dependency_injector import providers
from dependency_injector.containers import Container

from containers.chat_template import ChatTemplate
from containers.graph import Graph
from containers.lifecycle import Resource
from containers.model import ModelContainer
from containers.settings import ModelSettings
from containers.testing.serving.chat import FakeServingChat
from containers.testing.serving.completion import FakeServingCompletion
from containers.testing.serving.embedding import FakeServingEmbedding
from containers.testing.serving.idle import Absent, FakeModels, IdleEngine
from containers.testing.serving.tokenization import (
    ByteTokenizer,
    FakeServingTokenization,
)
from containers.testing.templates import CHATML


def fake_container(
    *,
    name: str = "fake",
    container_class: Callable[..., Container] = ModelContainer,
    **doubles: Any,
) -> Container:
    """A ``ModelContainer`` that starts in no time and needs no vLLM.

    It serves through ``create_app`` and ``include_serving``, and injects into routes as
    any other. Where vLLM is not installed, ``containers.vllm_api`` has stand-ins of
    vLLM's request models from then on.

    Args:
        name: Name it serves.
        container_class: ``ModelContainer``, or one of yours that extends it.
        doubles: What is injected, by provider name, such as ``serving_chat``. By
            default the serving fakes there are, a tokenizer of bytes, a ChatML
            template and an engine that is healthy and does nothing; the rest is absent
            and says so when it is used.

    Raises:
        GraphError: A double has the name of no provider, or is of a wrong type.
    """
    container = container_class(settings=ModelSettings(name=name, source=name))
    _check(container, doubles)
    doubles.setdefault("models", FakeModels([name]))
    wanted = (container.providers.keys() & _DEFAULTS.keys()) - doubles.keys()
    made = {each: _DEFAULTS[each]() for each in wanted}
    for each, double in (made | doubles).items():
        container.providers[each].override(_given_with(each, double, container))
    graph = Graph.of(container)
    for each in graph.upstream(graph.roots):
        if graph.nodes[each].is_resource and each not in made | doubles:
            container.providers[each].override(Resource(_given, double=Absent(each)))
    return container


def _check(container: Container, doubles: Mapping[str, Any]) -> None:
    for name, double in doubles.items():
        Graph.of(container).require(name)
        with container.providers[name].override(providers.Object(double)):
            Graph.of(container).check([name])


def _given_with(name: str, double: Any, container: Container) -> Resource[Any]:
    """A provider of the double whose edges let the rest start as well."""
    needs = {}
    if name.startswith("serving_"):
        below = container.providers.keys() & _BELOW
        needs = {each: container.providers[each] for each in below}
    return Resource(_given, double=double, **needs)


async def _given(*, double: Any, **_: Any) -> Any:
    return double


_BELOW = frozenset(
    {
        "settings",
        "models",
        "tokenizer",
        "chat_template",
        "engine",
        "supported_tasks",
    }
)
_DEFAULTS: dict[str, Callable[[], Any]] = {
    "serving_chat": FakeServingChat,
    "serving_completion": FakeServingCompletion,
    "serving_embedding": FakeServingEmbedding,
    "serving_tokenization": FakeServingTokenization,
    "supported_tasks": lambda: ("generate", "embed"),
    "tokenizer": ByteTokenizer,
    "chat_template": lambda: ChatTemplate.literal(CHATML),
    "engine": IdleEngine,
}
