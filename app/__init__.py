"""HTTP: what turns a container into a FastAPI app.

What is taken from it is imported then, so the ``vllm-di`` command can have its engines'
processes import vLLM before it imports what it needs itself.
"""

from typing import TYPE_CHECKING, Any

from containers.exports import exported

if TYPE_CHECKING:
    from app.dependencies import (
        ChatTemplateDep,
        EngineDep,
        ModelsDep,
        RegistryDep,
        ServingChatBatchDep,
        ServingChatDep,
        ServingChatV2Dep,
        ServingClassificationDep,
        ServingCompletionDep,
        ServingDerenderDep,
        ServingEmbeddingDep,
        ServingGenerativeScoringDep,
        ServingMessagesDep,
        ServingPoolingDep,
        ServingRealtimeDep,
        ServingRenderDep,
        ServingResponsesDep,
        ServingScoresDep,
        ServingStructuredDecisionsDep,
        ServingTokenizationDep,
        ServingTokensDep,
        ServingTranscriptionDep,
        ServingTranslationDep,
        TokenizerDep,
    )
    from app.main import create_app, include_serving

__all__ = [
    "ChatTemplateDep",
    "EngineDep",
    "ModelsDep",
    "RegistryDep",
    "ServingChatBatchDep",
    "ServingChatDep",
    "ServingChatV2Dep",
    "ServingClassificationDep",
    "ServingCompletionDep",
    "ServingDerenderDep",
    "ServingEmbeddingDep",
    "ServingGenerativeScoringDep",
    "ServingMessagesDep",
    "ServingPoolingDep",
    "ServingRealtimeDep",
    "ServingRenderDep",
    "ServingResponsesDep",
    "ServingScoresDep",
    "ServingStructuredDecisionsDep",
    "ServingTokenizationDep",
    "ServingTokensDep",
    "ServingTranscriptionDep",
    "ServingTranslationDep",
    "TokenizerDep",
    "create_app",
    "include_serving",
]

_OF_THE_APP = ("create_app", "include_serving")


def __getattr__(name: str) -> Any:
    """Import a name's module when the name is asked for the first time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "main" if name in _OF_THE_APP else "dependencies"
    globals()[name] = value = exported(name, f"{__name__}.{module}")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
