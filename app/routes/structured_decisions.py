"""``POST /v1/systemone``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["decisions"])


@router.post(
    "/v1/systemone",
    **documented("StructuredDecisionRequest", "StructuredDecisionResponse"),
)
async def create_structured_decision(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Answer questions that have few possible answers, with their probabilities.

    Source:
        vllm/entrypoints/generate/structured_decisions/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "StructuredDecisionRequest")
    serving = registry.serving("serving_structured_decisions", request.model)
    return await answer(raw_request, serving.create_decision(request, raw_request))
