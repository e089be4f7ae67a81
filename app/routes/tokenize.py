"""``POST /tokenize`` and ``POST /detokenize``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["tokenize"])


@router.post("/tokenize", **documented("TokenizeRequest", "TokenizeResponse"))
async def tokenize(raw_request: Request, registry: RegistryDep) -> Response:
    """Turn a prompt or a conversation into token ids."""
    request = await read_body(raw_request, "TokenizeRequest")
    serving_tokenization = registry.serving("serving_tokenization", request.model)
    return await answer(
        raw_request, serving_tokenization.create_tokenize(request, raw_request)
    )


@router.post("/detokenize", **documented("DetokenizeRequest", "DetokenizeResponse"))
async def detokenize(raw_request: Request, registry: RegistryDep) -> Response:
    """Turn token ids into text."""
    request = await read_body(raw_request, "DetokenizeRequest")
    serving_tokenization = registry.serving("serving_tokenization", request.model)
    return await answer(
        raw_request, serving_tokenization.create_detokenize(request, raw_request)
    )
