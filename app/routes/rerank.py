"""``POST /rerank``, also as ``/v1/rerank`` and ``/v2/rerank``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["scores"])


@router.post("/rerank", **documented("RerankRequest", "RerankResponse"))
@router.post("/v1/rerank", **documented("RerankRequest", "RerankResponse"))
@router.post("/v2/rerank", **documented("RerankRequest", "RerankResponse"))
async def do_rerank(raw_request: Request, registry: RegistryDep) -> Response:
    """Order documents by how well they answer a query.

    Source:
        vllm/entrypoints/pooling/scoring/api_router.py (0.32.0), after the APIs of Jina
        and Cohere.
    """
    request = await read_body(raw_request, "RerankRequest")
    serving_scores = registry.serving("serving_scores", request.model)
    return await answer(raw_request, serving_scores(request, raw_request))
