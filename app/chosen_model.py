"""Which of several models an administrator means."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import Request
from starlette.exceptions import HTTPException

from containers.errors import UnknownModelError
from containers.registry import ModelRegistry, ServedModel


async def chosen_model(request: Request, registry: ModelRegistry) -> ServedModel:
    """The model a request is about.

    Args:
        request: It names the model as ``?model=NAME``, or as ``model`` of a JSON body.
            It need not where only one is served.
        registry: The models.

    Raises:
        HTTPException: Several are served, and none is named.
        UnknownModelError: None has that name.
    """
    name = request.query_params.get("model") or _model_of(await request.body())
    if name is None and len(registry.models) == 1:
        return registry.models[0]
    if name is None:
        names = ", ".join(model.name for model in registry.models)
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, f"Say which model, as ?model=NAME: {names}."
        )
    for model in registry.models:
        if name in (*model.settings.names, *model.adapters):
            return model
    raise UnknownModelError(model=name, names=registry.names)


def _model_of(body: bytes) -> str | None:
    try:
        content: Any = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None
    name = content.get("model") if isinstance(content, dict) else None
    return name if isinstance(name, str) and name else None
