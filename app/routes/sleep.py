"""``POST /sleep``, ``POST /wake_up`` and ``GET /is_sleeping``, for administrators."""

from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException

from app.chosen_model import chosen_model
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.middleware import ADMIN
from app.service import service_of
from containers import vllm_api
from containers.registry import ServedModel

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

CANNOT_SLEEP = "cannot give its memory back: set engine.enable_sleep_mode: true for it."


@router.post("/sleep")
async def sleep(
    raw_request: Request,
    registry: RegistryDep,
    level: Annotated[int, Query(ge=0, le=2)] = 1,
    mode: Annotated[Literal["abort", "wait", "keep"], Query()] = "abort",
) -> dict[str, Any]:
    """Put a model to sleep, so that it gives its memory back.

    It is not ready meanwhile; requests that come wait until it wakes up. Level 0 only
    holds its requests, 1 moves the weights to main memory, 2 drops them.

    Source:
        vllm/entrypoints/serve/dev/sleep/api_router.py (0.32.0).
    """
    model = await chosen_model(raw_request, registry)
    if level and not _gives_memory_back(model):
        detail = f"The model {model.name} {CANNOT_SLEEP}"
        raise HTTPException(HTTPStatus.BAD_REQUEST, detail)
    if level:  # what other front ends have read goes, too
        await service_of(raw_request).others.reset_mm_cache()
    with _measured("sleep"):
        await model.loaded.engine.sleep(level, mode)
    model.generation.is_asleep = True
    return {"status": "sleeping", "level": level}


@router.post("/wake_up")
async def wake_up(
    raw_request: Request,
    registry: RegistryDep,
    tags: Annotated[list[str] | None, Query()] = None,
) -> dict[str, Any]:
    """Wake a model up; with ``tags`` (``weights``, ``kv_cache``) only in part.

    Source:
        vllm/entrypoints/serve/dev/sleep/api_router.py (0.32.0).
    """
    model = await chosen_model(raw_request, registry)
    with _measured("wake"):
        await model.loaded.engine.wake_up(tags)
    # Not every release says whether it is awake now; woken in part, it still sleeps.
    is_asleep = await model.loaded.engine.is_sleeping()
    model.generation.is_asleep = is_asleep
    return {"status": "sleeping" if is_asleep else "awake", "tags": tags}


@router.get("/is_sleeping")
async def is_sleeping(raw_request: Request, registry: RegistryDep) -> dict[str, bool]:
    """Tell whether a model sleeps."""
    model = await chosen_model(raw_request, registry)
    return {"is_sleeping": await model.loaded.engine.is_sleeping()}


def _gives_memory_back(model: ServedModel) -> bool:
    config = model.loaded.vllm_config.model_config
    return bool(getattr(config, "enable_sleep_mode", False))


def _measured(operation: str) -> AbstractContextManager[Any]:
    """vLLM's own metrics of an operation, where this vLLM has them."""
    if not vllm_api.offers("sleep_mode_operation_metrics"):
        return nullcontext()
    metrics = vllm_api.sleep_mode_operation_metrics()
    measured: AbstractContextManager[Any] = metrics.record(operation)
    return measured
