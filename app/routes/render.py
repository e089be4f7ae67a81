"""``POST /v1/.../render``: what a request would ask the engine for, as token ids."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["scale-out"])


@router.post(
    "/v1/chat/completions/render",
    **documented("ChatCompletionRequest", "GenerateRequest"),
)
async def render_chat_completion(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Render a chat.

    Source:
        vllm/entrypoints/scale_out/render/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "ChatCompletionRequest")
    serving_render = registry.serving("serving_render", request.model)
    work = serving_render.render_chat_request(request, raw_request=raw_request)
    return await answer(raw_request, work)


@router.post(
    "/v1/messages/render",
    **documented("AnthropicMessagesRequest", "GenerateRequest"),
)
async def render_messages(raw_request: Request, registry: RegistryDep) -> Response:
    """Render a conversation of Anthropic's API."""
    request = await read_body(raw_request, "AnthropicMessagesRequest")
    serving_render = registry.serving("serving_render", request.model)
    work = serving_render.render_messages_request(request, raw_request=raw_request)
    return await answer(raw_request, work)


@router.post(
    "/v1/completions/render",
    **documented("CompletionRequest", "GenerateRequest[]"),
)
async def render_completion(raw_request: Request, registry: RegistryDep) -> Response:
    """Render the prompts of a completion, each by itself."""
    request = await read_body(raw_request, "CompletionRequest")
    serving_render = registry.serving("serving_render", request.model)
    work = serving_render.render_completion_request(request, raw_request=raw_request)
    return await answer(raw_request, work)


@router.post(
    "/v1/responses/render", **documented("ResponsesRequest", "GenerateRequest")
)
async def render_responses(raw_request: Request, registry: RegistryDep) -> Response:
    """Render the input of a response."""
    request = await read_body(raw_request, "ResponsesRequest")
    serving_render = registry.serving("serving_render", request.model)
    work = serving_render.render_responses_request(request)
    return await answer(raw_request, work)
