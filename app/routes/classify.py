"""``POST /classify``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["classification"])


@router.post(
    "/classify", **documented("ClassificationRequest", "ClassificationResponse")
)
async def classify(raw_request: Request, registry: RegistryDep) -> Response:
    """Tell which class each text is of.

    Source:
        vllm/entrypoints/pooling/classify/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "ClassificationRequest")
    serving_classification = registry.serving("serving_classification", request.model)
    return await answer(raw_request, serving_classification(request, raw_request))
