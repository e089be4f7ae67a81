"""``POST /admin/unload``, for administrators."""

from typing import Any

from fastapi import APIRouter, Request

from app.chosen_model import chosen_model
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.middleware import ADMIN

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])


@router.post("/admin/unload")
async def unload(raw_request: Request, registry: RegistryDep) -> dict[str, Any]:
    """Let a model give its memory back; its next request loads it again.

    Requests in flight may go on for ``server.drain_timeout_s``; those that come
    meanwhile wait until it is loaded again.
    """
    model = await chosen_model(raw_request, registry)
    await registry.residency.unload(model)
    return {"model": model.name, "status": model.state}
