"""What the scale-out routes answer where the settings do not enable them: 403."""

from http import HTTPStatus

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.responses import Response

from app.errors import ServingRoute, error_response
from app.routes import derender, render, tokens

MESSAGE = (
    "Scale-out endpoints are disabled. Restart the server with "
    "server.enable_scale_out: true to enable them."
)

router = APIRouter(route_class=ServingRoute)


async def refuse() -> Response:
    """Refuse, whatever the body.

    Source:
        vllm/entrypoints/scale_out/factories.py (0.32.0).
    """
    return error_response(MESSAGE, HTTPStatus.FORBIDDEN, kind="PermissionDeniedError")


for _noun in (render, derender, tokens):
    for _route in _noun.router.routes:
        if isinstance(_route, APIRoute):
            router.add_api_route(
                _route.path, refuse, methods=["POST"], include_in_schema=False
            )
