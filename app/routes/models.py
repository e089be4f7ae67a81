"""``GET /v1/models``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.dependencies import ModelsDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["models"])


@router.get("/v1/models", **documented(None, "ModelList"))
async def show_available_models(raw_request: Request, models: ModelsDep) -> Response:
    """List the served models and their adapters.

    Source:
        https://platform.openai.com/docs/api-reference/models/list
    """
    return await answer(raw_request, models.show_available_models())
