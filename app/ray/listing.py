"""``GET /v1/models`` of several models, each asked by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.exchange import Asked
from app.json_response import JsonAnswer
from app.ray.backend import STATE_TIMEOUT_S, Backend
from containers.errors import NotReadyError

PATH = "/v1/models"


async def model_list(backends: Sequence[Backend], request: Request) -> Response:
    """The models that have a replica, or get one when they are asked for.

    Raises:
        NotReadyError: None has.
    """
    del request
    found = await asyncio.gather(*(_cards(each) for each in backends))
    cards = [card for each in found for card in each]
    if not cards:
        raise NotReadyError(
            provider="the model", state="starting", hint="Wait until one is loaded."
        )
    return JsonAnswer({"object": "list", "data": cards})


async def _cards(backend: Backend) -> list[Any]:
    asked = Asked("GET", PATH, b"", [], b"")
    body = b""
    try:
        async for part in backend.parts(asked, wait_s=STATE_TIMEOUT_S):
            body += part[2]
        backend.cards = json.loads(body)["data"]
    except (NotReadyError, ValueError, KeyError):
        return backend.cards if backend.may_be_none else []
    return backend.cards
