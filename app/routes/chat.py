"""``POST /v1/chat/completions`` and ``POST /v1/chat/completions/batch``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["chat"])


@router.post(
    "/v1/chat/completions",
    **documented("ChatCompletionRequest", "ChatCompletionResponse", streams=True),
)
async def create_chat_completion(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Answer a conversation.

    Source:
        https://platform.openai.com/docs/api-reference/chat/create
    """
    request = await read_body(raw_request, "ChatCompletionRequest")
    serving_chat = registry.serving("serving_chat", request.model)
    return await answer(
        raw_request,
        serving_chat.create_chat_completion(request, raw_request),
        reports_load=True,
    )


@router.post(
    "/v1/chat/completions/batch",
    **documented("BatchChatCompletionRequest", "ChatCompletionResponse"),
)
async def create_batch_chat_completion(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Answer several conversations, each as one choice.

    Source:
        vllm/entrypoints/openai/chat_completion/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "BatchChatCompletionRequest")
    serving_chat_batch = registry.serving("serving_chat_batch", request.model)
    return await answer(
        raw_request,
        serving_chat_batch.create_batch_chat_completion(request, raw_request),
    )
