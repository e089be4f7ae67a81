"""FastAPI dependencies: the only place where routes get loaded objects from.

They are ``async``, so FastAPI runs them on the event loop: a ``def`` dependency costs
each request a hop to a thread. Nothing is started here; before the models are loaded a
dependency raises :class:`~containers.errors.NotReadyError` (503).

With several models in an app, an object is that of the default model, and a serving
object that of the first model which has it; :data:`RegistryDep` gives any of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.injection import readable
from app.service import service_of
from containers.chat_template import ChatTemplate
from containers.lifecycle import Running
from containers.registry import ModelRegistry

if TYPE_CHECKING:
    from containers.serving.chat import ServingChat
    from containers.serving.chat_batch import ServingChatBatch
    from containers.serving.chat_v2 import ServingChatV2
    from containers.serving.classification import ServingClassification
    from containers.serving.completion import ServingCompletion
    from containers.serving.derender import ServingDerender
    from containers.serving.embedding import ServingEmbedding
    from containers.serving.generative_scoring import ServingGenerativeScoring
    from containers.serving.messages import ServingMessages
    from containers.serving.pooling import ServingPooling
    from containers.serving.realtime import ServingRealtime
    from containers.serving.render import ServingRender
    from containers.serving.responses import ServingResponses
    from containers.serving.scores import ServingScores
    from containers.serving.structured_decisions import ServingStructuredDecisions
    from containers.serving.tokenization import ServingTokenization
    from containers.serving.tokens import ServingTokens
    from containers.serving.transcription import ServingTranscription
    from containers.serving.translation import ServingTranslation
else:
    ServingChat = ServingCompletion = ServingTokenization = Any
    ServingMessages = ServingResponses = Any
    ServingEmbedding = ServingPooling = Any
    ServingClassification = ServingScores = Any
    ServingChatBatch = ServingChatV2 = ServingGenerativeScoring = Any
    ServingRender = ServingDerender = ServingTokens = Any
    ServingStructuredDecisions = Any
    ServingTranscription = ServingTranslation = ServingRealtime = Any

Dependency = Callable[[HTTPConnection], Awaitable[Any]]


def _able(models: ModelRegistry) -> ModelRegistry:
    models.require_some()
    return models


@readable(lambda hand: _able(hand.models))
async def registry(connection: HTTPConnection) -> ModelRegistry:
    """Models this app serves."""
    return _able(service_of(connection).registry)


async def default_model(connection: HTTPConnection) -> AsyncIterator[Running]:
    """Loaded objects of the default model, which stays loaded during the request.

    One for all dependencies of a request: a generator costs more than what it gives.
    """
    async with service_of(connection).registry.use() as objects:
        yield objects


def loaded(provider: str) -> Callable[[Running], Awaitable[Any]]:
    """Dependency on a loaded object of the default model, by its provider's name."""

    @readable(lambda hand: getattr(hand.loaded, provider))
    async def dependency(objects: Annotated[Running, Depends(default_model)]) -> Any:
        return getattr(objects, provider)

    dependency.__name__ = provider
    return dependency


def serving(provider: str) -> Dependency:
    """Dependency on a serving object of the first model that has it."""

    @readable(lambda hand: hand.serving(provider))
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
ServingEmbeddingDep = Annotated[ServingEmbedding, Depends(serving("serving_embedding"))]
ServingPoolingDep = Annotated[ServingPooling, Depends(serving("serving_pooling"))]
ServingClassificationDep = Annotated[
    ServingClassification, Depends(serving("serving_classification"))
]
ServingScoresDep = Annotated[ServingScores, Depends(serving("serving_scores"))]
ServingChatBatchDep = Annotated[
    ServingChatBatch, Depends(serving("serving_chat_batch"))
]
ServingChatV2Dep = Annotated[ServingChatV2, Depends(serving("serving_chat_v2"))]
ServingDerenderDep = Annotated[ServingDerender, Depends(serving("serving_derender"))]
ServingGenerativeScoringDep = Annotated[
    ServingGenerativeScoring, Depends(serving("serving_generative_scoring"))
]
ServingRealtimeDep = Annotated[ServingRealtime, Depends(serving("serving_realtime"))]
ServingRenderDep = Annotated[ServingRender, Depends(serving("serving_render"))]
ServingStructuredDecisionsDep = Annotated[
    ServingStructuredDecisions, Depends(serving("serving_structured_decisions"))
]
ServingTokensDep = Annotated[ServingTokens, Depends(serving("serving_tokens"))]
ServingTranscriptionDep = Annotated[
    ServingTranscription, Depends(serving("serving_transcription"))
]
ServingTranslationDep = Annotated[
    ServingTranslation, Depends(serving("serving_translation"))
]
