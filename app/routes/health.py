"""``GET /health``: what the engine itself says."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.responses import Response

from app.dependencies import EngineDep
from app.errors import ServingRoute
from containers.vllm_api.error_response import is_engine_death

router = APIRouter(route_class=ServingRoute, tags=["health"])


@router.get("/health")
async def health(engine: EngineDep) -> Response:
    """Ask the engine: 200 when it lives, 503 when it is dead or still loading.

    Source:
        vllm/entrypoints/serve/instrumentator/health.py (0.32.0).
    """
    try:
        await engine.check_health()
    except Exception as error:
        if not is_engine_death(error):
            raise
        return Response(status_code=HTTPStatus.SERVICE_UNAVAILABLE)
    return Response(status_code=HTTPStatus.OK)
