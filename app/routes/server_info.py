"""``GET /server_info``, for administrators: what a model runs with."""

from typing import Any

from fastapi import APIRouter, Request

from app.chosen_model import chosen_model
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.middleware import ADMIN
from containers.vllm_api.server_info import config_content, variables

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])


@router.get("/server_info")
async def show_server_info(
    raw_request: Request, registry: RegistryDep
) -> dict[str, Any]:
    """Show a model's vLLM configuration and vLLM's variables, secrets masked.

    Source:
        vllm/entrypoints/serve/dev/server_info/api_router.py (0.32.0), of which it is
        the JSON format; what is installed is not told.
    """
    model = await chosen_model(raw_request, registry)
    return {
        "vllm_config": config_content(model.loaded.vllm_config),
        "vllm_env": variables(),
    }
