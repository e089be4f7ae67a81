"""Request bodies as vLLM's own request models.

vLLM's models are looked up when a request arrives, not when a route is declared, so an
app is up before vLLM is imported. What a bad body is answered equals what FastAPI and
vLLM's server answer.
"""

from __future__ import annotations

import json
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException

from app.headers import header
from containers import vllm_api

UNSUPPORTED_MEDIA_TYPE = "Unsupported Media Type: Only 'application/json' is allowed"
WRONG_TYPE = {
    "type": "type_error",
    "loc": ("body",),
    "msg": "A field has a value of a wrong type",
    "input": None,
}
MISSING = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}


async def read_body(request: Request, model: str) -> Any:
    """Read and validate a JSON body.

    Args:
        request: The request; its body is read.
        model: Name of vLLM's request model, such as ``ChatCompletionRequest``.

    Returns:
        An instance of that model.

    Raises:
        RequestValidationError: It is no JSON, no ``application/json``, or does not
            fit the model.

    Source:
        fastapi/routing.py ``get_request_handler`` (0.136) and
        vllm/entrypoints/serve/utils/api_utils.py ``validate_json_request`` (0.32.0).
    """
    body = await read_json(request)
    if body is None:
        raise RequestValidationError([MISSING])
    return validate(body, model)


def validate(body: Any, model: str) -> Any:
    """Make vLLM's model of a parsed body.

    Args:
        body: What was parsed of the request's body.
        model: Name of vLLM's request model.

    Raises:
        RequestValidationError: It does not fit the model.
    """
    try:
        # As FastAPI calls it, so that what is no object is refused in its words.
        return _adapter(model).validate_python(body, from_attributes=True)
    except ValidationError as error:
        problems: list[Any] = [
            {**problem, "loc": ("body", *problem["loc"])}
            for problem in error.errors(include_url=False)
        ]
        raise RequestValidationError(problems, body=body) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        # vLLM's validators look into fields before these are known to be what they
        # should be; of its own errors none is of these kinds.
        raise RequestValidationError([WRONG_TYPE], body=body) from error


async def read_json(request: Request) -> Any:
    """Read a JSON body; ``None`` for an empty one.

    Raises:
        HTTPException: It cannot be parsed at all.
        RequestValidationError: It is no JSON, or no ``application/json``.
    """
    content = await request.body()
    content_type = header(request.scope, b"content-type")
    media_type = content_type.lower().split(";")[0].strip()
    if media_type != "application/json":
        raise RequestValidationError([UNSUPPORTED_MEDIA_TYPE])
    if not content:
        return None
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise RequestValidationError([_invalid_json(error)], body=error.doc) from None
    except (ValueError, RecursionError) as error:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, "There was an error parsing the body"
        ) from error


def _invalid_json(error: json.JSONDecodeError) -> dict[str, Any]:
    return {
        "type": "json_invalid",
        "loc": ("body", error.pos),
        "msg": "JSON decode error",
        "input": {},
        "ctx": {"error": error.msg},
    }


@cache
def _adapter(model: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(vllm_api, model))
