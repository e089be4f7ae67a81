"""vLLM's own error answers, for exceptions that reach a route."""

from __future__ import annotations

import sys
from http import HTTPStatus
from traceback import walk_tb
from types import SimpleNamespace
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from containers import vllm_api
from containers.errors import NotReadyError

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
    if isinstance(error, NotReadyError):
        return _unavailable(error), int(HTTPStatus.SERVICE_UNAVAILABLE)
    own = getattr(error, "error_response", None)
    answer = own or vllm_api.create_error_response(_culprit(error))
    if answer.error.code == HTTPStatus.NOT_IMPLEMENTED:
        # A request asked for it: vLLM's 501 would count as a fault of the server.
        answer.error.code = int(HTTPStatus.BAD_REQUEST)
        answer.error.type = "BadRequestError"
    return answer.model_dump(), int(answer.error.code)


def _unavailable(error: NotReadyError) -> dict[str, Any]:
    """What vLLM has no words for: a model that is not loaded now."""
    status = HTTPStatus.SERVICE_UNAVAILABLE
    told = {"message": str(error), "type": "ServiceUnavailableError", "param": None}
    return {"error": {**told, "code": int(status)}}


def _culprit(error: Exception) -> Exception:
    """What is to be told: the engine's client hides why it refuses parameters.

    It tells an error of its own from what it finds before the engine sees the request.
    """
    cause = error.__cause__
    is_hiding = isinstance(error, vllm_api.EngineGenerateError)
    if is_hiding and isinstance(cause, ValueError) and _is_about_inputs(cause):
        return cause
    return error


def _is_about_inputs(error: ValueError) -> bool:
    frames = walk_tb(error.__traceback__)
    return any(frame.f_code.co_name == "process_inputs" for frame, _ in frames)


def is_engine_death(error: BaseException) -> bool:
    """Whether an exception says that the engine is dead for good."""
    # Without vLLM loaded there is no such error, and a request must not load it.
    return "vllm.v1.engine.exceptions" in sys.modules and isinstance(
        error, vllm_api.EngineDeadError
    )
