"""``GET /version``."""

from fastapi import APIRouter

from app.errors import ServingRoute
from containers.version import __version__
from containers.vllm_api import installed_version, is_supported

router = APIRouter(route_class=ServingRoute, tags=["version"])


@router.get("/version")
async def show_version() -> dict[str, str | bool | None]:
    """Versions of vLLM, under the key its own server uses, and of vllm-di.

    ``vllm_supported: false`` is there where an unsupported vLLM was allowed.
    """
    versions = {"version": installed_version(), "vllm_di": __version__}
    return {**versions, **({} if is_supported() else {"vllm_supported": False})}
