"""``POST /cohere/v2/chat/render``, where Cohere's API and scale-out are enabled."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.openapi import documented
from app.routes.chat_v2 import ChatV2Route
from app.shapes import ChatV2RenderShape

router = APIRouter(route_class=ChatV2Route, tags=["scale-out"])


@router.post(
    "/cohere/v2/chat/render", **documented("CohereChatV2Request", "GenerateRequest")
)
async def render_chat_v2(raw_request: Request, registry: RegistryDep) -> Response:
    """Render a conversation of Cohere's API to token ids.

    Source:
        vllm/entrypoints/cohere/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "CohereChatV2Request")
    serving_chat_v2 = registry.serving("serving_chat_v2", request.model)
    serving_render = registry.serving("serving_render", request.model)
    work = serving_chat_v2.render_chat_v2(request, serving_render)
    return await answer(raw_request, work, shape=ChatV2RenderShape(raw_request))
