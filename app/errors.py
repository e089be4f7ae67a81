"""Every exception of a route as OpenAI's error body and an HTTP status."""

from __future__ import annotations

import json
import logging
from copy import copy
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute, request_response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.direct import Handler, direct_handler
from app.json_response import JsonAnswer
from app.shapes import OPENAI, Error, Shape
from containers.errors import (
    AdapterError,
    NotReadyError,
    ServingError,
    UnknownModelError,
    UnsupportedTaskError,
)
from containers.masks import masked
from containers.request_record import current_request
from containers.vllm_api.error_response import (
    error_content,
    is_engine_death,
    validation_response,
)

logger = logging.getLogger(__name__)

RETRY_AFTER_S = 5
SHUTTING_DOWN = "The server is shutting down; ask another one."

CLIENT_CLOSED_REQUEST = 499
"""Status of an answer nobody reads any more, for logs and metrics."""


def error_response(
    message: str,
    status: int,
    *,
    kind: str | None = None,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> JsonAnswer:
    """Answer with OpenAI's error body.

    Args:
        message: What went wrong, for the client; secrets in it are masked.
        status: HTTP status, also the body's ``code``.
        kind: The body's ``type``; the status' phrase by default.
        param: Request field at fault.
        headers: Further response headers.

    Source:
        vllm/entrypoints/serve/engine/protocol.py ``ErrorResponse`` (0.32.0).
    """
    error = {
        "message": masked(message),
        "type": kind or _phrase(status),
        "param": param,
        "code": int(status),
    }
    return JsonAnswer({"error": error}, status_code=status, headers=headers)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


async def respond(error: Exception) -> Response:
    """Answer to any exception of a route, in OpenAI's shape."""
    if isinstance(error, ServingError):
        return serving_error_response(error)
    if isinstance(error, RequestValidationError):
        return await validation_response(error)
    if isinstance(error, HTTPException):
        return http_response(error)
    if isinstance(error, ClientDisconnect):
        return Response(status_code=CLIENT_CLOSED_REQUEST)
    if is_engine_death(error):
        return unavailable(str(error))
    content, status = error_content(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("A request failed: %s", error, exc_info=error)
    return JsonAnswer({"error": told(content["error"])}, status_code=status)


def told(error: Error) -> Error:
    """An error of vLLM's as a client is told it, without secrets of ours."""
    return {**error, "message": masked(error["message"])}


def serving_error_response(error: ServingError) -> JsonAnswer:
    """Answer to one of our own errors: 503 while models load, 404 for a wrong model."""
    if isinstance(error, NotReadyError):
        return unavailable(str(error))
    if isinstance(error, UnknownModelError | UnsupportedTaskError):
        return error_response(
            str(error), HTTPStatus.NOT_FOUND, kind="NotFoundError", param="model"
        )
    if isinstance(error, AdapterError):
        status = HTTPStatus.NOT_FOUND if error.is_absent else HTTPStatus.BAD_REQUEST
        kind = "NotFoundError" if error.is_absent else "BadRequestError"
        return error_response(str(error), status, kind=kind, param="lora_path")
    logger.error("A request failed: %s", error, exc_info=error)
    return error_response(
        str(error), HTTPStatus.INTERNAL_SERVER_ERROR, kind="InternalServerError"
    )


def unavailability(message: str) -> Error:
    """Error of a server that cannot now, while another one or a later try can."""
    return {
        "message": masked(message),
        "type": "ServiceUnavailableError",
        "param": None,
        "code": int(HTTPStatus.SERVICE_UNAVAILABLE),
    }


def unavailable(message: str, shape: Shape = OPENAI) -> JsonAnswer:
    """Answer 503: this server cannot now, another one or a later try can."""
    return JsonAnswer(
        shape.error(unavailability(message)),
        status_code=HTTPStatus.SERVICE_UNAVAILABLE,
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )


def reshaped(response: Response, shape: Shape) -> Response:
    """An error response as another API writes it.

    Args:
        response: One of this module; one without a body stays as it is.
        shape: How that API writes.
    """
    if not response.body:
        return response
    error = json.loads(bytes(response.body))["error"]
    headers = {
        name: value
        for name, value in response.headers.items()
        if name not in ("content-length", "content-type")
    }
    return JsonAnswer(
        shape.error(error), status_code=response.status_code, headers=headers
    )


def http_response(error: HTTPException) -> JsonAnswer:
    """Answer to a status raised by Starlette or FastAPI, such as an unknown path."""
    return error_response(
        str(error.detail),
        error.status_code,
        headers=dict(error.headers) if error.headers else None,
    )


class ServingRoute(APIRoute):
    """A route whose every error has OpenAI's shape.

    The shape belongs to these routes alone: a host app's own routes keep theirs.

    Attributes:
        is_direct: Whether its endpoint is called without FastAPI's handler, unless a
            dependency is overridden.
    """

    is_direct = False

    def of_app(self, app: FastAPI) -> ServingRoute:
        """The same route in an app, at a fraction of what including it costs."""
        route = copy(self)
        route.dependency_overrides_provider = app
        route.app = request_response(route.get_route_handler())
        direct = direct_handler(route)
        if direct is not None:
            route.app = route._direct_app(direct, app, route.app)  # noqa: SLF001  # its copy
            route.is_direct = True
        return route

    def _direct_app(self, handler: Handler, app: FastAPI, fastapis: ASGIApp) -> ASGIApp:
        handle = self._refusing(handler)

        async def direct(scope: Scope, receive: Receive, send: Send) -> None:
            if app.dependency_overrides:
                await fastapis(scope, receive, send)
                return
            response = await handle(Request(scope, receive, send))
            await response(scope, receive, send)

        return direct

    def get_route_handler(self) -> Handler:
        """Wrap FastAPI's handler."""
        return self._refusing(super().get_route_handler())

    def _refusing(self, handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            record = current_request.get()
            if record is not None:
                record.route = self.path
            try:
                return await handler(request)
            except Exception as error:
                if _is_the_hosts(error, request):
                    raise
                return await self._answer(request, error)

        return handle

    async def _answer(self, request: Request, error: Exception) -> Response:
        try:
            return await self.respond(request, error)
        except ServingError as further:  # such as that there is no vLLM to say it with
            return serving_error_response(further)

    async def respond(self, request: Request, error: Exception) -> Response:
        """Answer to an exception of this route."""
        del request
        return await respond(error)


def _is_the_hosts(error: Exception, request: Request) -> bool:
    """Whether the app has a handler for just this kind of error, and it is not ours."""
    ours = (HTTPException, RequestValidationError, ServingError)
    handlers = request.app.exception_handlers
    return not isinstance(error, ours) and any(
        kind in handlers for kind in type(error).__mro__ if kind is not Exception
    )
