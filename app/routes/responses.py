"""``POST /v1/responses``, and what becomes of the responses that are stored."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented
from app.shapes import ResponsesShape
from containers.registry import ModelRegistry

router = APIRouter(route_class=ServingRoute, tags=["responses"])


@router.post(
    "/v1/responses",
    **documented("ResponsesRequest", "ResponsesResponse", streams=True),
)
async def create_responses(raw_request: Request, registry: RegistryDep) -> Response:
    """Respond to an input: a text, a conversation, results of tools.

    Source:
        https://platform.openai.com/docs/api-reference/responses/create
    """
    request = await read_body(raw_request, "ResponsesRequest")
    serving_responses = registry.serving("serving_responses", request.model)
    return await answer(
        raw_request,
        serving_responses.create_responses(request, raw_request),
        shape=ResponsesShape(),
    )


@router.get(
    "/v1/responses/{response_id}",
    **documented(None, "ResponsesResponse", streams=True),
)
async def retrieve_responses(
    response_id: str,
    raw_request: Request,
    registry: RegistryDep,
    starting_after: int | None = None,
    stream: bool | None = False,  # noqa: FBT001, FBT002  # a query's
) -> Response:
    """Give a stored response, or the events of one that is made in the background.

    Source:
        https://platform.openai.com/docs/api-reference/responses/get
    """
    serving_responses = _holder(registry, response_id)
    return await answer(
        raw_request,
        serving_responses.retrieve_responses(
            response_id, starting_after=starting_after, stream=stream
        ),
        shape=ResponsesShape(),
    )


@router.post(
    "/v1/responses/{response_id}/cancel", **documented(None, "ResponsesResponse")
)
async def cancel_responses(
    response_id: str, raw_request: Request, registry: RegistryDep
) -> Response:
    """End a response that is made in the background.

    Source:
        https://platform.openai.com/docs/api-reference/responses/cancel
    """
    serving_responses = _holder(registry, response_id)
    return await answer(
        raw_request,
        serving_responses.cancel_responses(response_id),
        shape=ResponsesShape(),
    )


def _holder(registry: ModelRegistry, response_id: str) -> Any:
    """Serving object of the model that has the response, else the default one's."""
    loaded = [model.loaded for model in registry if model.is_ready]
    able = [each.serving_responses for each in loaded if each.serving_responses]
    if len(able) > 1:
        able = [each for each in able if each.holds(response_id)]
    return able[0] if able else registry.serving("serving_responses", None)
