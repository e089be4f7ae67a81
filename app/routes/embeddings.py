"""``POST /v1/embeddings`` and ``POST /v2/embed``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["embeddings"])


@router.post(
    "/v1/embeddings",
    **documented("EmbeddingRequest", "EmbeddingResponse", binary=True),
)
async def create_embedding(raw_request: Request, registry: RegistryDep) -> Response:
    """Turn texts into vectors.

    Source:
        https://platform.openai.com/docs/api-reference/embeddings/create
    """
    request = await read_body(raw_request, "EmbeddingRequest")
    serving_embedding = registry.serving("serving_embedding", request.model)
    return await answer(raw_request, serving_embedding(request, raw_request))


@router.post("/v2/embed", **documented("CohereEmbedRequest", "CohereEmbedResponse"))
async def create_cohere_embedding(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Turn texts or images into vectors of several number formats.

    Source:
        vllm/entrypoints/pooling/embed/api_router.py (0.32.0), after Cohere's API.
    """
    request = await read_body(raw_request, "CohereEmbedRequest")
    serving_embedding = registry.serving("serving_embedding", request.model)
    return await answer(raw_request, serving_embedding(request, raw_request))
