"""``POST /cohere/v2/chat``: Cohere's Chat API, where it is enabled."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute, reshaped
from app.openapi import documented
from app.shapes import ChatV2Shape


class ChatV2Route(ServingRoute):
    """A route whose errors have Cohere's shape."""

    async def respond(self, request: Request, error: Exception) -> Response:
        """Answer to an exception of this route."""
        response = await super().respond(request, error)
        return reshaped(response, ChatV2Shape(request))


router = APIRouter(route_class=ChatV2Route, tags=["chat"])


@router.post(
    "/cohere/v2/chat",
    **documented("CohereChatV2Request", "CohereChatV2Response", streams=True),
)
async def create_chat_v2(raw_request: Request, registry: RegistryDep) -> Response:
    """Answer a conversation.

    Source:
        https://docs.cohere.com/reference/chat
    """
    request = await read_body(raw_request, "CohereChatV2Request")
    serving_chat_v2 = registry.serving("serving_chat_v2", request.model)
    return await answer(
        raw_request,
        serving_chat_v2.create_chat_v2(request, raw_request),
        shape=ChatV2Shape(raw_request),
    )
