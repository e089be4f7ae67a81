"""Whose a request is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

from app.exchange import Asked
from app.ray.backend import Backend
from containers.errors import (
    ServingError,
    UnknownModelError,
    UnsupportedTaskError,
)

FORM = b"multipart/form-data"
_NAME = re.compile(
    rb'content-disposition:[^\r\n]*;\s*name="?model"?(?=[;\r\n])[^\r\n]*\r\n'
    rb"(?:[^\r\n]+\r\n)*\r\n([^\r\n]*)\r\n--",
    re.IGNORECASE,
)


Choice = tuple[Backend, ServingError | None]
"""A model, and what to tell in place of a 404 of its own, as it knows of no other."""


def chosen(asked: Asked, provider: str | None, backends: Sequence[Backend]) -> Choice:
    """The model that answers a request, as a server with all of them would have it.

    One that cannot is asked all the same: a body that is wrong is told first.

    Args:
        asked: The request.
        provider: What the model has to have; ``None`` where that is not known.
        backends: The models, the default one first.
    """
    if len(backends) == 1:
        return backends[0], None
    name = name_in(asked)
    try:
        backend = (
            _named(name, backends) if name else _first_that_can(provider, backends)
        )
    except UnknownModelError as unknown:
        return _first_that_can(provider, backends), unknown
    if provider is None or backend.can(provider) is not False:
        return backend, None
    able = [each.name for each in backends if each.can(provider)]
    model = name or backend.name
    return backend, UnsupportedTaskError(model=model, provider=provider, able=able)


def chosen_by_admin(asked: Asked, backends: Sequence[Backend]) -> Backend:
    """The model that an administrator means.

    Raises:
        HTTPException: Several are served, and none is named.
        UnknownModelError: None has that name.
    """
    query = parse_qs(asked.query.decode("latin-1")).get("model")
    name = query[0] if query else name_in(asked)
    if name:
        return _named(name, backends)
    if len(backends) == 1:
        return backends[0]
    names = ", ".join(each.name for each in backends)
    raise HTTPException(
        HTTPStatus.BAD_REQUEST, f"Say which model, as ?model=NAME: {names}."
    )


def _named(name: str, backends: Sequence[Backend]) -> Backend:
    for backend in backends:
        if name in backend.settings.names:
            return backend
    for backend in backends:
        if name in backend.adapters:
            return backend
    names = [each for backend in backends for each in backend.settings.names]
    raise UnknownModelError(model=name, names=names)


def _first_that_can(provider: str | None, backends: Sequence[Backend]) -> Backend:
    if provider is not None:
        for answer in (True, None):
            for backend in backends:
                if backend.can(provider) is answer:
                    return backend
    return backends[0]


def name_in(asked: Asked) -> str | None:
    """What a body sends as its ``model``; one that cannot be read is for the model."""
    kinds = [value for key, value in asked.headers if key == b"content-type"]
    if kinds and kinds[0].lower().startswith(FORM):
        found = _NAME.search(asked.body)
        return found.group(1).decode(errors="replace") if found else None
    try:
        content: Any = json.loads(asked.body) if asked.body else None
    except (ValueError, RecursionError):
        return None
    name = content.get("model") if isinstance(content, dict) else None
    return name if isinstance(name, str) else None
