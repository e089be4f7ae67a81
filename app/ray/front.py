"""The app of the ingress: the routes of a server, each passed on to a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute, request_response

from app.documents import add_offline_docs, document_options
from app.errors import RETRY_AFTER_S, error_response, respond, serving_error_response
from app.inclusion import include_routes
from app.middleware import ADMIN, Guards, add_middleware
from app.ray.forwarding import Forwarding
from app.ray.listing import model_list
from app.ray.measures import merged
from app.ray.models import Models
from app.ray.realtime import refuse_websocket
from app.routes import router
from app.routes.version import show_version
from containers.errors import ServingError
from containers.settings import Settings
from containers.version import __version__

Handler = Callable[[Request], Awaitable[Response]]


class Front:
    """What the ingress answers by itself, and the app around all of it.

    Args:
        settings: The settings of the whole application.
        models: The models behind it.

    Attributes:
        app: The app.
        guards: Keys and limits, which may change while it serves.

    Raises:
        SettingsError: A middleware or a file of keys cannot be used.
    """

    def __init__(self, settings: Settings, models: Models) -> None:
        server = settings.server.model_copy(update={"ui": False})
        self._models = models
        self._began = time.monotonic()
        self._has_started = False
        self.app = FastAPI(
            title="vllm-di",
            version=__version__,
            description="vLLM's OpenAI-compatible API.",
            **document_options(server),
        )
        for error in (RequestValidationError, HTTPException):
            self.app.add_exception_handler(error, _respond)
        self.guards = Guards(server)
        routes = include_routes(self.app, router(server), prefix="")
        documents = self.app.openapi_url
        for route in self.app.router.routes:
            if isinstance(route, Route) and route.path == documents:
                route.app = Forwarding(models, route.path)
        for route in routes:
            self._take(route)
        self.guards.guard_routes(routes)
        self.guards.guard_app(self.app)
        add_offline_docs(self.app, server)
        add_middleware(self.app, server, None)  # replicas watch the requests

    def _take(self, route: BaseRoute) -> None:
        if isinstance(route, WebSocketRoute):
            route.app = refuse_websocket
        elif isinstance(route, APIRoute):
            own = self._own.get(route.path)
            is_admin = ADMIN in route.tags
            route.app = (
                request_response(_refusing(own))
                if own is not None
                else Forwarding(self._models, route.path, is_admin=is_admin)
            )

    @property
    def _own(self) -> dict[str, Handler]:
        return {
            "/livez": self.livez,
            "/readyz": self.readyz,
            "/startupz": self.startupz,
            "/health": self.health,
            "/ping": self.health,
            "/version": self.version,
            "/load": self.load,
            "/metrics": self.metrics,
            "/v1/models": self.show_available_models,
            "/admin/reload": self.reload,
            "/admin/drain": self.reload,
            "/admin/unload": self.reload,
        }

    async def livez(self, _: Request) -> Response:
        """Tell that the ingress answers."""
        return JSONResponse({"status": "alive"})

    async def readyz(self, _: Request) -> Response:
        """Tell whether to send traffic here: whether models have well replicas."""
        troubles = await self._models.troubles()
        trouble = self._models.trouble(troubles)
        told = {name: each or "ready" for name, each in troubles.items()}
        return _probe({"status": trouble or "ready", "models": told}, ok=not trouble)

    async def startupz(self, _: Request) -> Response:
        """Show whether models have had a replica; 200 from then on."""
        troubles = await self._models.troubles()
        self._has_started |= not self._models.trouble(troubles)
        content: dict[str, Any] = {
            "phase": "ready" if self._has_started else "starting",
            "elapsed_s": round(time.monotonic() - self._began, 3),
            "models": {name: each or "ready" for name, each in troubles.items()},
            "resources": [],
            "error": None,
        }
        return _probe(content, ok=self._has_started)

    async def health(self, _: Request) -> Response:
        """Ask a replica of each model how its engine is."""
        trouble = self._models.trouble(await self._models.troubles())
        return Response(status_code=503 if trouble else 200)

    async def version(self, _: Request) -> Response:
        """Versions of vLLM and of vllm-di, where the ingress runs."""
        return JSONResponse(await show_version())

    async def load(self, _: Request) -> Response:
        """Requests that this replica of the ingress passes on."""
        return JSONResponse({"server_load": self._models.flights.n})

    async def metrics(self, _: Request) -> Response:
        """What each replica measures, by its name."""
        measured: list[tuple[str, bytes]] = []
        for backend in self._models.backends:
            measured += await backend.measured()
        content = await asyncio.to_thread(merged, measured)
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    async def show_available_models(self, request: Request) -> Response:
        """List the models that have a replica, and their adapters."""
        return await model_list(self._models.backends, request)

    async def reload(self, _: Request) -> Response:
        """Say who does what a plain server is told by request."""
        return error_response(
            "Ray starts, changes and ends replicas: deploy the application again.",
            HTTPStatus.CONFLICT,
            kind="ConflictError",
        )


def _refusing(handler: Handler) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ServingError as error:
            return serving_error_response(error)

    return handle


def _probe(content: dict[str, Any], *, ok: bool) -> JSONResponse:
    if ok:
        return JSONResponse(content)
    headers = {"Retry-After": str(RETRY_AFTER_S)}
    return JSONResponse(
        content, status_code=HTTPStatus.SERVICE_UNAVAILABLE, headers=headers
    )


async def _respond(_: Request, error: Exception) -> Response:
    return await respond(error)
