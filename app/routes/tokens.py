"""``POST /inference/v1/generate`` and ``/inference/v1/abort_requests``."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["scale-out"])


@router.post(
    "/inference/v1/generate",
    **documented("GenerateRequest", "GenerateResponse", streams=True),
)
async def generate(raw_request: Request, registry: RegistryDep) -> Response:
    """Generate token ids from token ids.

    Source:
        vllm/entrypoints/scale_out/token_in_token_out/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "GenerateRequest")
    serving_tokens = registry.serving("serving_tokens", request.model)
    return await answer(raw_request, serving_tokens.serve_tokens(request, raw_request))


@router.post("/inference/v1/abort_requests")
async def abort_requests(raw_request: Request, registry: RegistryDep) -> Response:
    """End generations by their ids, of whichever model; unknown ids are no error.

    Source:
        vllm/entrypoints/scale_out/token_in_token_out/api_router.py (0.32.0).
    """
    request_ids = _request_ids(await _body(raw_request))
    registry.serving("serving_tokens", None)
    for model in registry:
        if model.is_ready and model.loaded.serving_tokens:
            await model.loaded.serving_tokens.abort_requests(request_ids)
    return Response()


async def _body(raw_request: Request) -> Any:
    try:
        return await raw_request.json()
    except (ValueError, RecursionError) as error:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, f"JSON decode error: {error}"
        ) from error


def _request_ids(body: Any) -> list[str]:
    found = body.get("request_ids") if isinstance(body, dict) else None
    if found is None:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, "Missing 'request_ids' in request body"
        )
    ids = [found] if isinstance(found, str) else found
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, "'request_ids' is an id or a list of ids"
        )
    return ids
