"""FastAPI dependencies: the only place where routes get loaded objects from.

They are ``async``, so FastAPI runs them on the event loop: a ``def`` dependency costs
each request a hop to a thread. Nothing is started here; before the models are loaded a
dependency raises :class:`~containers.errors.NotReadyError` (503).

With several models in an app, an object is that of the default model, and a serving
object that of the first model which has it; :data:`RegistryDep` gives any of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.service import service_of
from containers.chat_template import ChatTemplate
from containers.registry import ModelRegistry

if TYPE_CHECKING:
    from containers.serving.chat import ServingChat
    from containers.serving.completion import ServingCompletion
    from containers.serving.messages import ServingMessages
    from containers.serving.responses import ServingResponses
    from containers.serving.tokenization import ServingTokenization
else:
    ServingChat = ServingCompletion = ServingTokenization = Any
    ServingMessages = ServingResponses = Any

Dependency = Callable[[HTTPConnection], Awaitable[Any]]


async def registry(connection: HTTPConnection) -> ModelRegistry:
    """Models this app serves."""
    found = service_of(connection).registry
    found.require_some()
    return found


def loaded(provider: str) -> Dependency:
    """Dependency on a loaded object of the default model, by its provider's name."""

    async def dependency(connection: HTTPConnection) -> Any:
        return getattr(service_of(connection).registry.default, provider)

    dependency.__name__ = provider
    return dependency


def serving(provider: str) -> Dependency:
    """Dependency on a serving object of the first model that has it."""

    async def dependency(connection: HTTPConnection) -> Any:
        return service_of(connection).registry.serving(provider, None)

    dependency.__name__ = provider
    return dependency


RegistryDep = Annotated[ModelRegistry, Depends(registry)]
EngineDep = Annotated[Any, Depends(loaded("engine"))]
TokenizerDep = Annotated[Any, Depends(loaded("tokenizer"))]
ChatTemplateDep = Annotated[ChatTemplate, Depends(loaded("chat_template"))]
ModelsDep = Annotated[Any, Depends(loaded("models"))]
ServingChatDep = Annotated[ServingChat, Depends(serving("serving_chat"))]
ServingCompletionDep = Annotated[
    ServingCompletion, Depends(serving("serving_completion"))
]
ServingResponsesDep = Annotated[ServingResponses, Depends(serving("serving_responses"))]
ServingMessagesDep = Annotated[ServingMessages, Depends(serving("serving_messages"))]
ServingTokenizationDep = Annotated[
    ServingTokenization, Depends(serving("serving_tokenization"))
]
