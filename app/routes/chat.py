"""``POST /v1/chat/completions``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import ServingChatDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["chat"])


@router.post(
    "/v1/chat/completions",
    **documented("ChatCompletionRequest", "ChatCompletionResponse", streams=True),
)
async def create_chat_completion(
    raw_request: Request, serving_chat: ServingChatDep
) -> Response:
    """Answer a conversation.

    Source:
        https://platform.openai.com/docs/api-reference/chat/create
    """
    request = await read_body(raw_request, "ChatCompletionRequest")
    return await answer(
        raw_request, serving_chat.create_chat_completion(request, raw_request)
    )
