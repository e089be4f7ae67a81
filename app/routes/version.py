"""``GET /version``."""

from fastapi import APIRouter

from app.errors import ServingRoute
from containers.version import __version__
from containers.vllm_api import installed_version

router = APIRouter(route_class=ServingRoute, tags=["version"])


@router.get("/version")
async def show_version() -> dict[str, str | None]:
    """Versions of vLLM, under the key its own server uses, and of vllm-di."""
    return {"version": installed_version(), "vllm_di": __version__}
