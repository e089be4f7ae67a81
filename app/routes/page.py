"""``GET /ui``: the status page. Its files are open; what it shows is not."""

from http import HTTPStatus

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.errors import ServingRoute
from app.service import service_of
from app.ui import INDEX, page_files

router = APIRouter(route_class=ServingRoute, tags=["status page"])

HEADERS = {
    # Nothing of others, nothing inline, no frame around it.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src "
    "'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

WANTS_NO_KEY = b'data-wants-key="no"'
WANTS_KEY = b'data-wants-key="yes"'


@router.get("/ui", include_in_schema=False)
async def page(raw_request: Request) -> Response:
    """Show the status page."""
    content, media_type = page_files()[INDEX]
    server = service_of(raw_request).container.settings().server
    if server.has_admin_keys:
        content = content.replace(WANTS_NO_KEY, WANTS_KEY)
    return Response(content, media_type=media_type, headers=HEADERS)


@router.get("/ui/{name}", include_in_schema=False)
async def page_file(name: str) -> Response:
    """Give a file of the status page."""
    found = page_files().get(name)
    if found is None or name == INDEX:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    content, media_type = found
    return Response(content, media_type=media_type, headers=HEADERS)
