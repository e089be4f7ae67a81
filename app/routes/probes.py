"""Probes that tell the truth: ``/livez``, ``/readyz``, ``/startupz``, ``/health``."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.dependencies import RegistryDep
from app.errors import RETRY_AFTER_S, ServingRoute
from app.service import service_of
from containers.lifecycle import lifecycle_of
from containers.masks import masked
from containers.registry.states import ON_DEMAND
from containers.vllm_api.error_response import is_engine_death

router = APIRouter(route_class=ServingRoute, tags=["probes"])


@router.get("/livez")
async def livez() -> dict[str, str]:
    """Tell that the process answers: 200 from its first second, whatever loads."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz(raw_request: Request) -> Response:
    """Tell whether to send traffic here: 200 only when a model answers."""
    service = service_of(raw_request)
    trouble = service.trouble
    content = {
        "status": trouble or "ready",
        "models": {m.name: service.trouble_of(m) or m.state for m in service.models},
    }
    return _probe(content, ok=not trouble)


@router.get("/startupz")
async def startupz(raw_request: Request) -> Response:
    """Show how far the start is: its phase, each resource, seconds, what failed.

    200 once the start is over and has succeeded, also after that; 503 before.
    """
    service = service_of(raw_request)
    content = {
        "phase": service.state,
        "elapsed_s": round(service.elapsed_s, 3),
        "models": {model.name: model.state for model in service.models},
        "resources": [
            {
                "model": model.name,
                "name": record.name,
                "state": record.state,
                "seconds": record.seconds,
            }
            for model in service.models
            for record in lifecycle_of(model.container).records.values()
        ],
        "error": None if service.error is None else masked(service.error),
    }
    started = service.state not in ("not started", "starting", "failed", "stopped")
    return _probe(content, ok=started)


@router.get("/health")
async def health(raw_request: Request, registry: RegistryDep) -> Response:
    """Ask the engines: 200 when they live, 503 when one is dead, stuck or loading.

    Source:
        vllm/entrypoints/serve/instrumentator/health.py (0.32.0).
    """
    try:
        for model in registry:
            if model.state in ON_DEMAND:
                continue
            await model.loaded.engine.check_health()
    except Exception as error:
        if not is_engine_death(error):
            raise
        return Response(status_code=HTTPStatus.SERVICE_UNAVAILABLE)
    service = service_of(raw_request)
    is_stuck = any(service.trouble_of(model) for model in registry)
    return Response(
        status_code=HTTPStatus.SERVICE_UNAVAILABLE if is_stuck else HTTPStatus.OK
    )


def _probe(content: dict[str, Any], *, ok: bool) -> JSONResponse:
    if ok:
        return JSONResponse(content)
    return JSONResponse(
        content,
        status_code=HTTPStatus.SERVICE_UNAVAILABLE,
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )
