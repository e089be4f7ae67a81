"""``POST /admin/reload``, for administrators."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.errors import ServingRoute, error_response
from app.middleware import ADMIN
from app.service import service_of
from containers.errors import GraphError, SettingsError, StartError
from containers.registry import Change

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

logger = logging.getLogger(__name__)


@router.post("/admin/reload")
async def reload(raw_request: Request, *, dry_run: bool = False) -> Response:
    """Read the settings anew and change to them, all or nothing.

    With ``dry_run`` it only tells what would be built anew, what would go on, and
    which engines would start again. Settings that cannot be changed to are 409, and
    leave everything as it was.
    """
    service = service_of(raw_request)
    try:
        change = await service.reload_from_source(dry_run=dry_run)
    except (SettingsError, StartError, GraphError) as error:
        if not dry_run:
            logger.warning("A reload was refused: %s", error)
        return error_response(str(error), HTTPStatus.CONFLICT, kind="ConflictError")
    return JSONResponse({"dry_run": dry_run, **described(change)})


def described(change: Change) -> dict[str, Any]:
    """A change as JSON has it."""
    return {
        "models": [
            {
                "model": plan.model,
                "restarts_engine": plan.restarts_engine,
                "rebuilt": plan.rebuilt,
                "borrowed": plan.borrowed,
            }
            for plan in change.plans
        ],
        "added": change.added,
        "removed": change.removed,
    }
