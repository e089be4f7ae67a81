"""``GET`` and ``POST /ping``: ``/health`` by the name SageMaker asks for."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.routes.probes import health

router = APIRouter(route_class=ServingRoute, tags=["probes"])


@router.get("/ping")
@router.post("/ping")
async def ping(raw_request: Request, registry: RegistryDep) -> Response:
    """Ask the engines.

    Source:
        vllm/entrypoints/serve/sagemaker/api_router.py (0.32.0).
    """
    return await health(raw_request, registry)
