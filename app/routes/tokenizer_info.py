"""``GET /tokenizer_info``, where the settings enable it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.dependencies import ServingTokenizationDep
from app.errors import ServingRoute

router = APIRouter(route_class=ServingRoute, tags=["tokenize"])


@router.get("/tokenizer_info")
async def show_tokenizer_info(
    raw_request: Request, serving_tokenization: ServingTokenizationDep
) -> Response:
    """Show the tokenizer's configuration and its chat template.

    Source:
        vllm/entrypoints/serve/tokenize/api_router.py (0.32.0).
    """
    return await answer(raw_request, serving_tokenization.get_tokenizer_info())
