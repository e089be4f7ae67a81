"""``GET /metrics``: vLLM's metrics in Prometheus' text format."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.event_metrics import event_metrics
from containers import vllm_api

router = APIRouter(route_class=ServingRoute, tags=["metrics"])


@router.get("/metrics")
async def metrics(registry: RegistryDep) -> Response:
    """Show what vLLM measures, and what has happened to its models here."""
    measured = generate_latest(vllm_api.get_prometheus_registry())
    content = measured + event_metrics(registry)
    return Response(content, media_type=CONTENT_TYPE_LATEST)
