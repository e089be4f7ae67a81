"""``POST /generative_scoring``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["scores"])


@router.post(
    "/generative_scoring",
    **documented("GenerativeScoringRequest", "GenerativeScoringResponse"),
)
async def create_generative_scoring(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Score items by how likely the model goes on with given tokens.

    Source:
        vllm/entrypoints/generate/generative_scoring/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "GenerativeScoringRequest")
    serving = registry.serving("serving_generative_scoring", request.model)
    work = serving.create_generative_scoring(request, raw_request)
    return await answer(raw_request, work)
