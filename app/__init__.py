"""HTTP: what turns a container into a FastAPI app."""

from app.dependencies import (
    ChatTemplateDep,
    EngineDep,
    ModelsDep,
    RegistryDep,
    ServingChatDep,
    ServingCompletionDep,
    ServingMessagesDep,
    ServingResponsesDep,
    ServingTokenizationDep,
    TokenizerDep,
)
from app.main import create_app, include_serving

__all__ = [
    "ChatTemplateDep",
    "EngineDep",
    "ModelsDep",
    "RegistryDep",
    "ServingChatDep",
    "ServingCompletionDep",
    "ServingMessagesDep",
    "ServingResponsesDep",
    "ServingTokenizationDep",
    "TokenizerDep",
    "create_app",
    "include_serving",
]
