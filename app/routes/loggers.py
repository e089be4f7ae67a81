"""``GET`` and ``PUT /admin/loggers``, for administrators: who logs how much."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.body import read_json
from app.errors import ServingRoute, error_response
from app.logs import OWN, are_ours, set_levels
from app.middleware import ADMIN
from app.service import service_of

router = APIRouter(route_class=ServingRoute, tags=[ADMIN])

ROOT = "root"
LEVELS = ("critical", "error", "warning", "info", "debug")
IN_A_HOST = (*OWN, "vllm")
"""What may be changed in an app of somebody else's, whose logs are its own."""


@router.get("/admin/loggers")
async def show_loggers() -> Response:
    """Show the loggers that have a level of their own; below them it counts too."""
    return JSONResponse({"loggers": _levels()})


@router.put("/admin/loggers")
async def set_loggers(raw_request: Request) -> Response:
    """Set levels by logger name, such as ``{"vllm": "debug", "app.routes": null}``.

    With ``null`` a logger follows the one above it again. It counts until the server
    ends, for every front end; engine processes log as they did when they started.
    """
    wanted = await read_json(raw_request)
    problem = _problem(wanted)
    if problem:
        return error_response(problem, HTTPStatus.BAD_REQUEST, kind="BadRequestError")
    set_levels(wanted)
    await service_of(raw_request).others.set_levels(wanted)
    return JSONResponse({"loggers": _levels()})


def _levels() -> dict[str, str]:
    known = logging.root.manager.loggerDict
    own = {
        name: logging.getLevelName(each.level).lower()
        for name, each in sorted(known.items())
        if isinstance(each, logging.Logger) and each.level
    }
    return {ROOT: logging.getLevelName(logging.root.level).lower(), **own}


def _problem(wanted: Any) -> str:
    if not isinstance(wanted, dict) or not wanted:
        return "Send an object of logger names and levels."
    for name, level in wanted.items():
        if level not in LEVELS and (level is not None or name == ROOT):
            return f"The level of {name!r} has to be one of {', '.join(LEVELS)}."
        if not are_ours() and not f"{name}.".startswith(_below(IN_A_HOST)):
            return f"{name!r} is the app's own; there are {', '.join(IN_A_HOST)}."
    return ""


def _below(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}." for name in names)
