"""``/v1/realtime``: a WebSocket on which speech goes in and text comes out."""

from contextlib import AsyncExitStack

from fastapi import APIRouter, WebSocket
from starlette.status import WS_1008_POLICY_VIOLATION

from app.conversation import converse
from app.errors import serving_error_response
from app.service import service_of
from containers.errors import ServingError

router = APIRouter(tags=["audio"])

DENIAL = "websocket.http.response"
"""Extension of ASGI by which a server can answer to a handshake over HTTP."""


@router.websocket("/v1/realtime")
async def realtime(websocket: WebSocket, model: str | None = None) -> None:
    """Write down what is being said.

    Source:
        vllm/entrypoints/speech_to_text/realtime/api_router.py (0.32.0); the parameter
        ``model`` is OpenAI's.
    """
    async with AsyncExitStack() as stack:
        try:
            service = service_of(websocket)
            using = service.registry.use(model, provider="serving_realtime")
            loaded = await stack.enter_async_context(using)
        except ServingError as error:
            await _deny(websocket, error)
        else:
            connection = loaded.serving_realtime.connect(websocket)
            await converse(connection, service.flights)


async def _deny(websocket: WebSocket, error: ServingError) -> None:
    if DENIAL in websocket.scope.get("extensions", {}):
        await websocket.send_denial_response(serving_error_response(error))
    else:
        await websocket.close(WS_1008_POLICY_VIOLATION, "the model cannot do this")
