"""``GET /load``, where the settings enable it."""

from fastapi import APIRouter, Request

from app.errors import ServingRoute
from app.service import service_of

router = APIRouter(route_class=ServingRoute, tags=["load"])


@router.get("/load")
async def show_load(raw_request: Request) -> dict[str, int]:
    """Tell how many requests are being answered.

    Source:
        vllm/entrypoints/serve/instrumentator/basic.py (0.32.0).
    """
    service = service_of(raw_request)
    return {"server_load": service.flights.n + await service.others.n_in_flight()}
