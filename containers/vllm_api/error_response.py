"""vLLM's own error answers, for exceptions that reach a route."""

from __future__ import annotations

import sys
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from containers import vllm_api

# vLLM's handler reads one option from its app's state and nothing else of the request.
_STAND_IN = SimpleNamespace(
    app=SimpleNamespace(
        state=SimpleNamespace(args=SimpleNamespace(log_error_stack=False))
    )
)


async def validation_response(error: RequestValidationError) -> Response:
    """Answer to a request whose body does not fit vLLM's model of it: 400.

    Source:
        vllm/entrypoints/serve/exception_handling/handlers/validation.py (0.32.0).
    """
    response: Response = await vllm_api.validation_exception_handler(_STAND_IN, error)
    return response


def error_content(error: Exception) -> tuple[dict[str, Any], int]:
    """Body and HTTP status of the answer to an exception from a serving object.

    Source:
        vllm/entrypoints/serve/exception_handling/error_response.py (0.32.0).
    """
    answer = vllm_api.create_error_response(error)
    if answer.error.code == HTTPStatus.NOT_IMPLEMENTED:
        # A request asked for it: vLLM's 501 would count as a fault of the server.
        answer.error.code = int(HTTPStatus.BAD_REQUEST)
        answer.error.type = "BadRequestError"
    return answer.model_dump(), int(answer.error.code)


def is_engine_death(error: BaseException) -> bool:
    """Whether an exception says that the engine is dead for good."""
    # Without vLLM loaded there is no such error, and a request must not load it.
    return "vllm.v1.engine.exceptions" in sys.modules and isinstance(
        error, vllm_api.EngineDeadError
    )
