"""``POST /admin/drain``, for administrators."""

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.errors import ServingRoute
from app.middleware import ADMIN
from app.service import service_of
from containers.errors import NotReadyError

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

_draining: set[asyncio.Task[None]] = set()
"""Kept, since an event loop keeps its tasks by weak references alone."""


@router.post("/admin/drain")
async def drain(raw_request: Request) -> Response:
    """Take no new requests from now on; it is over only with the process.

    Requests in flight may go on for ``server.drain_timeout_s``, as at SIGTERM, and
    ``/readyz`` is 503. The answer does not wait for them.
    """
    service = service_of(raw_request)
    if service.state != "ready":
        hint = "Only a server that is ready can be drained."
        raise NotReadyError(provider="the model", state=service.state, hint=hint)
    timeout_s = service.container.settings().server.drain_timeout_s
    draining = asyncio.create_task(service.drain(timeout_s=timeout_s), name="drain")
    _draining.add(draining)
    draining.add_done_callback(_draining.discard)
    content = {"status": "draining", "in_flight": service.flights.n}
    return JSONResponse(content, status_code=HTTPStatus.ACCEPTED)
