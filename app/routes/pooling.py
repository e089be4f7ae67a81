"""``POST /pooling``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["pooling"])


@router.post("/pooling", **documented("PoolingRequest", "PoolingResponse", binary=True))
async def create_pooling(raw_request: Request, registry: RegistryDep) -> Response:
    """Give what the model pools for its own task: vectors, classes, rows of tokens.

    Source:
        vllm/entrypoints/pooling/pooling/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "PoolingRequest")
    serving_pooling = registry.serving("serving_pooling", request.model)
    return await answer(raw_request, serving_pooling(request, raw_request))
