"""``POST /v1/.../derender``: answers made of generated token ids."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["scale-out"])


@router.post(
    "/v1/chat/completions/derender",
    **documented("DerenderChatRequestUnion", "ChatCompletionResponse"),
)
async def derender_chat_completion(
    raw_request: Request, registry: RegistryDep
) -> Response:
    """Make a chat answer, or the next piece of one.

    Source:
        vllm/entrypoints/scale_out/derender/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "DerenderChatRequestUnion")
    serving_derender = registry.serving("serving_derender", request.model)
    return await answer(raw_request, serving_derender.derender_chat(request))


@router.post(
    "/v1/completions/derender",
    **documented("DerenderCompletionRequestUnion", "CompletionResponse"),
)
async def derender_completion(raw_request: Request, registry: RegistryDep) -> Response:
    """Make a completion, or the next piece of one."""
    request = await read_body(raw_request, "DerenderCompletionRequestUnion")
    serving_derender = registry.serving("serving_derender", request.model)
    return await answer(raw_request, serving_derender.derender_completion(request))
