"""FastAPI dependencies: the only place where routes get loaded objects from.

They are ``async``, so FastAPI runs them on the event loop: a ``def`` dependency costs
each request a hop to a thread. Nothing is started here; before the models are loaded a
dependency raises :class:`~containers.errors.NotReadyError` (503).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.service import service_of
from containers.chat_template import ChatTemplate
from containers.registry import ModelRegistry

if TYPE_CHECKING:
    from containers.serving.chat import ServingChat
    from containers.serving.completion import ServingCompletion
    from containers.serving.tokenization import ServingTokenization
else:
    ServingChat = ServingCompletion = ServingTokenization = Any


async def registry(connection: HTTPConnection) -> ModelRegistry:
    """Models this app serves."""
    return service_of(connection).registry


async def engine(connection: HTTPConnection) -> Any:
    """Engine client of the default model."""
    return service_of(connection).registry.default.engine


async def tokenizer(connection: HTTPConnection) -> Any:
    """Loaded tokenizer of the default model; copy it before using it in threads."""
    return service_of(connection).registry.default.tokenizer


async def chat_template(connection: HTTPConnection) -> Any:
    """Loaded chat template of the default model."""
    return service_of(connection).registry.default.chat_template


async def models(connection: HTTPConnection) -> Any:
    """vLLM's list of served models of the default model."""
    return service_of(connection).registry.default.models


async def serving_chat(connection: HTTPConnection) -> Any:
    """Chat serving object of the default model."""
    return service_of(connection).registry.default.serving_chat


async def serving_completion(connection: HTTPConnection) -> Any:
    """Completion serving object of the default model."""
    return service_of(connection).registry.default.serving_completion


async def serving_tokenization(connection: HTTPConnection) -> Any:
    """Tokenization serving object of the default model."""
    return service_of(connection).registry.default.serving_tokenization


RegistryDep = Annotated[ModelRegistry, Depends(registry)]
EngineDep = Annotated[Any, Depends(engine)]
TokenizerDep = Annotated[Any, Depends(tokenizer)]
ChatTemplateDep = Annotated[ChatTemplate, Depends(chat_template)]
ModelsDep = Annotated[Any, Depends(models)]
ServingChatDep = Annotated[ServingChat, Depends(serving_chat)]
ServingCompletionDep = Annotated[ServingCompletion, Depends(serving_completion)]
ServingTokenizationDep = Annotated[ServingTokenization, Depends(serving_tokenization)]
