"""``GET /admin/status`` and ``GET /admin/settings``: how the server stands, as JSON."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.errors import ServingRoute
from app.middleware import ADMIN
from app.service import service_of
from app.status.feed import Feed
from app.status.picture import figures, picture
from app.status.settings import settings_content

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

NOT_KEPT = {"Cache-Control": "no-store"}


@router.get("/admin/status")
async def status(raw_request: Request) -> Response:
    """Show the models, their resources, generations and figures, and recent errors."""
    service = service_of(raw_request)
    content = picture(service, figures=figures(service))
    return Response(content, media_type="application/json", headers=NOT_KEPT)


@router.get("/admin/status/events")
async def status_events(raw_request: Request) -> Response:
    """Tell the same as server-sent events: ``status`` after changes, and ``figures``.

    The stream ends after 10 seconds; ask anew then.
    """
    headers = {**NOT_KEPT, "X-Accel-Buffering": "no"}
    return Feed(service_of(raw_request), headers)


@router.get("/admin/settings")
async def settings(raw_request: Request) -> dict[str, Any]:
    """Show every setting with where it came from, secrets masked."""
    return await settings_content(service_of(raw_request))
