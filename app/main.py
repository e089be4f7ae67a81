"""An app that serves a model, or serving for an app of your own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from dependency_injector import providers
from dependency_injector.containers import Container
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from app.documents import add_offline_docs, document_options
from app.errors import respond, serving_error_response
from app.inclusion import include_routes
from app.injection import read_injected
from app.middleware import Guards, Observation, add_middleware
from app.middleware.shortcut import add_shortcut
from app.openapi import complete_openapi
from app.routes import router
from app.service import STATE_ATTRIBUTE, Service
from containers.application import ApplicationContainer
from containers.errors import ServingError
from containers.settings import ServerSettings, Settings
from containers.version import __version__

Serving = Settings | Container
"""Settings, an ``ApplicationContainer``, or a ``ModelContainer``."""


def create_app(serving: Serving, *, wait_until_ready: bool = True) -> FastAPI:
    """Make an app that serves the OpenAI API and nothing else.

    Making it starts nothing. Its lifespan starts the container and stops it, in order.

    Args:
        serving: What to serve: settings, or a container whose providers you may have
            overridden.
        wait_until_ready: Whether the lifespan waits until the models are loaded, and
            fails if they do not. Otherwise the port answers at once, with 503 until
            they are.

    Raises:
        SettingsError: A middleware or a file of keys that the settings name cannot be
            used.
    """
    application = _application(serving)
    server: ServerSettings = application.settings().server
    app = FastAPI(
        title="vllm-di",
        version=__version__,
        description="vLLM's OpenAI-compatible API.",
        **document_options(server),
    )
    for error in (RequestValidationError, HTTPException):
        app.add_exception_handler(error, _respond)
    guards = Guards(server)
    routes = include_routes(app, router(server), prefix="")
    service = Service(application)
    _serve(app, service, guards, routes, wait_until_ready=wait_until_ready)
    guards.guard_app(app)
    add_offline_docs(app, server)
    observation = Observation(server, service.requests, service.traces)
    add_middleware(app, server, observation)
    return app


def include_serving(
    app: FastAPI,
    serving: Serving,
    *,
    prefix: str = "",
    wait_until_ready: bool = True,
) -> None:
    """Add the OpenAI API to an app of your own.

    Your lifespan still runs, inside ours: it finds the models loaded, and they stop
    after it has ended. Your routes, error handlers and middleware stay as they are, and
    an error you have a handler for is yours to answer on our routes too. Of the
    ``server`` settings, those about the app as a whole (CORS, documents, middleware,
    request ids) are yours to choose; keys and limits guard our routes alone.

    Args:
        app: Your app.
        serving: As for :func:`create_app`.
        prefix: Path before ours, such as ``/llm``; empty for none.
        wait_until_ready: As for :func:`create_app`.

    Raises:
        ValueError: Serving is included in this app already.
        SettingsError: A file of keys that the settings name cannot be used.
    """
    if hasattr(app.state, STATE_ATTRIBUTE):
        raise ValueError("serving is included in this app already")
    application = _application(serving)
    server: ServerSettings = application.settings().server
    guards = Guards(server, prefix=prefix)
    routes = include_routes(app, router(server), prefix)
    service = Service(application)
    _serve(app, service, guards, routes, wait_until_ready=wait_until_ready)
    guards.authenticate_routes()
    guards.observe_routes(
        Observation(server, service.requests, service.traces, prefix=prefix)
    )


def _serve(
    app: FastAPI,
    service: Service,
    guards: Guards,
    routes: Sequence[BaseRoute],
    *,
    wait_until_ready: bool,
) -> None:
    """Set the limits of our routes in an app, and let its life be ours too."""
    service.check_reload, service.on_reload = guards.check, guards.reload
    setattr(app.state, STATE_ATTRIBUTE, service)
    app.exception_handlers.setdefault(ServingError, _respond_serving_error)
    guards.guard_routes(routes)
    add_shortcut(app, routes)
    complete_openapi(app)
    _wrap_lifespan(app, service, wait_until_ready=wait_until_ready)


def _application(serving: Serving) -> Container:
    if isinstance(serving, Settings):
        return ApplicationContainer(settings=serving)
    if "registry" in serving.providers:
        return serving
    model = serving.settings()
    return ApplicationContainer(
        settings=Settings(models=[model]),
        models=providers.Object({model.name: serving}),
    )


def _wrap_lifespan(app: FastAPI, service: Service, *, wait_until_ready: bool) -> None:
    own = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        read_injected(app, app.router.routes)
        async with (
            service.lifespan(wait_until_ready=wait_until_ready),
            own(app) as state,
        ):
            yield state

    app.router.lifespan_context = lifespan


async def _respond(_: Request, error: Exception) -> Response:
    return await respond(error)


async def _respond_serving_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ServingError)  # noqa: S101  # what it is registered for
    return serving_error_response(error)
