"""Probes that tell the truth: ``/livez``, ``/readyz``, ``/startupz``, ``/health``."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.dependencies import EngineDep
from app.errors import RETRY_AFTER_S, ServingRoute
from app.service import service_of
from containers.vllm_api.error_response import is_engine_death

router = APIRouter(route_class=ServingRoute, tags=["probes"])


@router.get("/livez")
async def livez() -> dict[str, str]:
    """Tell that the process answers: 200 from its first second, whatever loads."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz(raw_request: Request) -> Response:
    """Tell whether to send traffic here: 200 only when the model answers."""
    service = service_of(raw_request)
    return _probe({"status": service.trouble or "ready"}, ok=not service.trouble)


@router.get("/startupz")
async def startupz(raw_request: Request) -> Response:
    """Show how far the start is: its phase, each resource, seconds, what failed.

    200 once the start is over and has succeeded, also after that; 503 before.
    """
    service = service_of(raw_request)
    content = {
        "phase": service.state,
        "elapsed_s": round(service.elapsed_s, 3),
        "resources": [
            {"name": record.name, "state": record.state, "seconds": record.seconds}
            for record in service.records
        ],
        "error": None if service.error is None else str(service.error),
    }
    started = service.state not in ("not started", "starting", "failed", "stopped")
    return _probe(content, ok=started)


@router.get("/health")
async def health(raw_request: Request, engine: EngineDep) -> Response:
    """Ask the engine: 200 when it lives, 503 when it is dead, stuck or loading.

    Source:
        vllm/entrypoints/serve/instrumentator/health.py (0.32.0).
    """
    try:
        await engine.check_health()
    except Exception as error:
        if not is_engine_death(error):
            raise
        return Response(status_code=HTTPStatus.SERVICE_UNAVAILABLE)
    stuck = service_of(raw_request).trouble
    return Response(
        status_code=HTTPStatus.SERVICE_UNAVAILABLE if stuck else HTTPStatus.OK
    )


def _probe(content: dict[str, Any], *, ok: bool) -> JSONResponse:
    if ok:
        return JSONResponse(content)
    return JSONResponse(
        content,
        status_code=HTTPStatus.SERVICE_UNAVAILABLE,
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )
