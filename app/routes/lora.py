"""``POST /v1/load_lora_adapter`` and ``POST /v1/unload_lora_adapter``, if enabled."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.body import read_body
from app.chosen_model import chosen_model
from app.dependencies import RegistryDep
from app.errors import ServingRoute, told
from app.middleware import ADMIN
from app.openapi import documented
from app.service import service_of

router = APIRouter(route_class=ServingRoute, tags=["lora", ADMIN])


@router.post("/v1/load_lora_adapter", **documented("LoadLoRAAdapterRequest", None))
async def load_lora_adapter(raw_request: Request, registry: RegistryDep) -> Response:
    """Load an adapter, so that requests can name it as their model.

    Source:
        vllm/entrypoints/serve/lora/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "LoadLoRAAdapterRequest")
    model = await chosen_model(raw_request, registry)
    with service_of(raw_request).flights.one():
        result = await registry.adapters.load(registry.models, model, request)
    return _response(result)


@router.post("/v1/unload_lora_adapter", **documented("UnloadLoRAAdapterRequest", None))
async def unload_lora_adapter(raw_request: Request, registry: RegistryDep) -> Response:
    """Take an adapter away; requests that use it already go on.

    Source:
        vllm/entrypoints/serve/lora/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "UnloadLoRAAdapterRequest")
    with service_of(raw_request).flights.one():
        result = await registry.adapters.unload(registry.models, request)
    return _response(result)


def _response(result: Any) -> Response:
    if isinstance(result, str):
        return PlainTextResponse(result)
    error = told(result.model_dump()["error"])
    return JSONResponse({"error": error}, status_code=int(result.error.code))
