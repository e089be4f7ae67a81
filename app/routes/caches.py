"""``POST /reset_prefix_cache`` and its like, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.chosen_model import chosen_model
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.middleware import ADMIN
from app.service import service_of

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

Flag = Annotated[bool, Query()]


@router.post("/reset_prefix_cache")
async def reset_prefix_cache(
    raw_request: Request,
    registry: RegistryDep,
    *,
    reset_running_requests: Flag = False,
    reset_external: Flag = False,
) -> dict[str, bool]:
    """Forget the prefixes a model has computed; tells whether it could.

    It cannot while requests hold them, unless ``reset_running_requests`` is true.

    Source:
        vllm/entrypoints/serve/dev/cache/api_router.py (0.32.0).
    """
    model = await chosen_model(raw_request, registry)
    success = await model.loaded.engine.reset_prefix_cache(
        reset_running_requests, reset_external
    )
    return {"success": bool(success)}


@router.post("/reset_mm_cache")
async def reset_mm_cache(raw_request: Request, registry: RegistryDep) -> Response:
    """Forget the images, sounds and videos a model has read, in every front end."""
    model = await chosen_model(raw_request, registry)
    await model.loaded.engine.reset_mm_cache()
    await service_of(raw_request).others.reset_mm_cache()
    return Response()


@router.post("/reset_encoder_cache")
async def reset_encoder_cache(raw_request: Request, registry: RegistryDep) -> Response:
    """Forget what a model's encoder has computed."""
    model = await chosen_model(raw_request, registry)
    await model.loaded.engine.reset_encoder_cache()
    return Response()
