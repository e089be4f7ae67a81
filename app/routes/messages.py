"""``POST /v1/messages`` and ``POST /v1/messages/count_tokens``: Anthropic's API."""

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute, reshaped
from app.openapi import documented
from app.shapes import MessagesShape


class MessagesRoute(ServingRoute):
    """A route whose errors have Anthropic's shape.

    A body that cannot be read is answered in OpenAI's, as vLLM's server does.
    """

    async def respond(self, request: Request, error: Exception) -> Response:
        """Answer to an exception of this route."""
        response = await super().respond(request, error)
        if isinstance(error, RequestValidationError | HTTPException):
            return response
        return reshaped(response, MessagesShape())


router = APIRouter(route_class=MessagesRoute, tags=["messages"])


@router.post(
    "/v1/messages",
    **documented("AnthropicMessagesRequest", "AnthropicMessagesResponse", streams=True),
)
async def create_messages(raw_request: Request, registry: RegistryDep) -> Response:
    """Answer a conversation.

    Source:
        https://docs.anthropic.com/en/api/messages
    """
    request = await read_body(raw_request, "AnthropicMessagesRequest")
    serving_messages = registry.serving("serving_messages", request.model)
    return await answer(
        raw_request,
        serving_messages.create_messages(request, raw_request),
        shape=MessagesShape(),
    )


@router.post(
    "/v1/messages/count_tokens",
    **documented("AnthropicCountTokensRequest", "AnthropicCountTokensResponse"),
)
async def count_tokens(raw_request: Request, registry: RegistryDep) -> Response:
    """Count the tokens of a conversation's prompt.

    Source:
        https://docs.anthropic.com/en/api/messages-count-tokens
    """
    request = await read_body(raw_request, "AnthropicCountTokensRequest")
    serving_messages = registry.serving("serving_messages", request.model)
    return await answer(
        raw_request,
        serving_messages.count_tokens(request, raw_request),
        shape=MessagesShape(),
    )
