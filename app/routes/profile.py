"""``POST /start_profile`` and ``POST /stop_profile``, for administrators."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.body import read_body
from app.chosen_model import chosen_model
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.middleware import ADMIN
from containers import vllm_api
from containers.registry import ModelRegistry

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

NO_PROFILER = "has no profiler: set engine.profiler_config for it."


@router.post("/start_profile")
async def start_profile(raw_request: Request, registry: RegistryDep) -> Response:
    """Start to profile a model; a body may limit how much is profiled.

    Source:
        vllm/entrypoints/serve/profile/api_router.py (0.32.0).
    """
    engine = await _profiled(raw_request, registry)
    overrides: dict[str, Any] = {}
    if await raw_request.body() and vllm_api.offers("StartProfileRequest"):
        request = await read_body(raw_request, "StartProfileRequest")
        overrides = request.model_dump(exclude_none=True)
    await engine.start_profile(**overrides)
    return Response()


@router.post("/stop_profile")
async def stop_profile(raw_request: Request, registry: RegistryDep) -> Response:
    """Stop to profile a model, and write what was found."""
    engine = await _profiled(raw_request, registry)
    await engine.stop_profile()
    return Response()


async def _profiled(request: Request, registry: ModelRegistry) -> Any:
    """Engine of the model, which has a profiler: another one's would fail."""
    model = await chosen_model(request, registry)
    config = getattr(model.loaded.vllm_config, "profiler_config", None)
    if getattr(config, "profiler", None) is None:
        detail = f"The model {model.name} {NO_PROFILER}"
        raise HTTPException(HTTPStatus.BAD_REQUEST, detail)
    return model.loaded.engine
