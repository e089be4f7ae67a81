"""``GET /metrics``: vLLM's metrics in Prometheus' text format."""

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from starlette.responses import Response

from app.errors import ServingRoute
from app.metrics import own_metrics
from app.service import service_of
from containers import vllm_api

router = APIRouter(route_class=ServingRoute, tags=["metrics"])


@router.get("/metrics")
async def metrics(raw_request: Request) -> Response:
    """Show what vLLM measures, and what happens here, from the first second on."""
    service = service_of(raw_request)
    is_imported = any(model.history for model in service.models)
    registry = vllm_api.get_prometheus_registry() if is_imported else REGISTRY
    content = generate_latest(registry) + own_metrics(service)
    content = await service.others.measured(content)
    return Response(content, media_type=CONTENT_TYPE_LATEST)
