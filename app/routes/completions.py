"""``POST /v1/completions``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["completions"])


@router.post(
    "/v1/completions",
    **documented("CompletionRequest", "CompletionResponse", streams=True),
)
async def create_completion(raw_request: Request, registry: RegistryDep) -> Response:
    """Continue a prompt.

    Source:
        https://platform.openai.com/docs/api-reference/completions/create
    """
    request = await read_body(raw_request, "CompletionRequest")
    serving_completion = registry.serving("serving_completion", request.model)
    return await answer(
        raw_request,
        serving_completion.create_completion(request, raw_request),
        reports_load=True,
    )
