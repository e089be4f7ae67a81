"""``GET /metrics``: vLLM's metrics in Prometheus' text format."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from app.dependencies import RegistryDep
from app.errors import ServingRoute
from containers import vllm_api

router = APIRouter(route_class=ServingRoute, tags=["metrics"])


@router.get("/metrics")
async def metrics(_: RegistryDep) -> Response:
    """Show what vLLM measures: running and waiting requests, tokens, latencies."""
    registry = vllm_api.get_prometheus_registry()
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
