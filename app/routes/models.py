"""``GET /v1/models``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["models"])


@router.get("/v1/models", **documented(None, "ModelList"))
async def show_available_models(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """List the models that are ready, and their adapters.

    Source:
        https://platform.openai.com/docs/api-reference/models/list
    """
    return await answer(raw_request, registry.show_available_models())
