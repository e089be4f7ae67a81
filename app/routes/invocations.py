"""``POST /invocations``: one path for every kind of request, as SageMaker asks."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from app.body import read_json, validate
from app.dependencies import RegistryDep
from app.errors import ServingRoute, error_response
from app.routes.chat import create_chat_completion
from app.routes.classify import classify
from app.routes.completions import create_completion
from app.routes.embeddings import create_embedding
from app.routes.pooling import create_pooling
from app.routes.rerank import do_rerank
from app.routes.score import create_score
from containers.registry import ModelRegistry

router = APIRouter(route_class=ServingRoute, tags=["invocations"])


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request.

    Attributes:
        request: Name of vLLM's model of it.
        provider: Provider of the serving object that answers it.
        route: Route that does.
    """

    request: str
    provider: str
    route: Callable[[Request, ModelRegistry], Awaitable[Response]]


KINDS = (
    Kind("ChatCompletionRequest", "serving_chat", create_chat_completion),
    Kind("CompletionRequest", "serving_completion", create_completion),
    Kind("EmbeddingRequest", "serving_embedding", create_embedding),
    Kind("ClassificationRequest", "serving_classification", classify),
    Kind("RerankRequest", "serving_scores", do_rerank),
    Kind("ScoreRequest", "serving_scores", create_score),
    Kind("PoolingRequest", "serving_pooling", create_pooling),
)
"""Kinds in the order in which they are tried."""


@router.post("/invocations")
async def invocations(raw_request: Request, registry: RegistryDep) -> Response:
    """Answer a request of whatever kind its body is and its model can answer.

    Source:
        vllm/entrypoints/serve/sagemaker/api_router.py (0.32.0).
    """
    body = await read_json(raw_request)
    kinds = [kind for kind in KINDS if registry.can(kind.provider, _model(body))]
    for kind in kinds:
        try:
            validate(body, kind.request)
        except RequestValidationError:
            continue
        return await kind.route(raw_request, registry)
    return error_response(
        "Cannot find suitable handler for request. Expected one of: "
        f"{[kind.request for kind in kinds]}",
        HTTPStatus.BAD_REQUEST,
        kind="BadRequestError",
    )


def _model(body: Any) -> str | None:
    name = body.get("model") if isinstance(body, dict) else None
    return name if isinstance(name, str) else None
