"""``POST /score``, also as ``/v1/score``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.body import read_body
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.openapi import documented

router = APIRouter(route_class=ServingRoute, tags=["scores"])


@router.post("/score", **documented("ScoreRequest", "ScoreResponse"))
@router.post("/v1/score", **documented("ScoreRequest", "ScoreResponse"))
async def create_score(raw_request: Request, registry: RegistryDep) -> Response:
    """Tell how well texts go together, pair by pair.

    Source:
        vllm/entrypoints/pooling/scoring/api_router.py (0.32.0).
    """
    request = await read_body(raw_request, "ScoreRequest")
    serving_scores = registry.serving("serving_scores", request.model)
    return await answer(raw_request, serving_scores(request, raw_request))
