"""Which middleware the settings ask for, in which order."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from app.middleware.admin import AdminMiddleware
from app.middleware.authentication import AuthenticationMiddleware
from app.middleware.body import BodyMiddleware
from app.middleware.concurrency import ConcurrencyMiddleware, Slots
from app.middleware.imported import imported_middleware
from app.middleware.keys import Keys
from app.middleware.observation import Observation
from app.middleware.observed import ObservationMiddleware
from app.middleware.paths import PAGE, PROBES, OpenPaths
from app.middleware.request_id import RequestIdMiddleware
from app.middleware.time_limit import TimeLimitMiddleware
from containers.settings import ServerSettings

ADMIN = "admin"
"""Tag of routes that concern the server itself."""

WITHOUT_BODY = {"GET", "HEAD"}


def add_middleware(
    app: FastAPI, server: ServerSettings, observation: Observation | None
) -> None:
    """Add what the settings ask for to an app of our own, the outermost last.

    Raises:
        SettingsError: A middleware cannot be imported, or is not pure ASGI.
    """
    if server.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=server.allowed_origins,
            allow_methods=server.allowed_methods,
            allow_headers=server.allowed_headers,
            allow_credentials=server.allow_credentials,
        )
    if server.enable_request_id_headers:
        app.add_middleware(RequestIdMiddleware)
    for index, path in enumerate(server.middleware):
        app.add_middleware(imported_middleware(path, index=index))
    if observation is not None and observation.is_wanted:
        app.add_middleware(ObservationMiddleware, observation=observation)


class Guards:
    """What stands before our routes, by the settings.

    What is off is not there, and costs nothing. Limits stand before each route by
    itself: a host app's own routes have none of them.

    Args:
        server: Server settings.
        prefix: Path before ours in the app.

    Attributes:
        prefix: The same.

    Raises:
        SettingsError: A file of keys cannot be read.
    """

    def __init__(self, server: ServerSettings, *, prefix: str = "") -> None:
        self._server = server
        self.prefix = prefix
        self._keys = Keys(server)
        free = PROBES | PAGE if server.ui else PROBES
        self._free = OpenPaths(free)
        self._open_paths = OpenPaths(free.union(server.open_paths))
        self._slots = _slots(server, None)
        self._bare: list[tuple[Route | WebSocketRoute, ASGIApp]] = []
        self._asks_at_routes = False
        self._observation: Observation | None = None

    def check(self, server: ServerSettings) -> None:
        """Return when :meth:`reload` could take these settings.

        Raises:
            SettingsError: A file of keys cannot be read.
        """
        Keys(server)

    def reload(self, server: ServerSettings) -> None:
        """Take the keys and limits of new settings, from the next request on.

        Raises:
            SettingsError: A file of keys cannot be read; all is as it was.
        """
        self._keys.replace(server)
        self._server = server
        self._slots = _slots(server, self._slots)
        self._guard_anew()

    def guard_app(self, app: FastAPI) -> None:
        """Ask for a key on every path of an app of our own, but for the open ones."""
        if self._keys.wants_key:
            app.add_middleware(
                AuthenticationMiddleware, keys=self._keys, is_open=self._open_paths
            )

    def guard_routes(self, routes: Iterable[BaseRoute]) -> None:
        """Set the limits before our routes, and admin keys before those of admins."""
        for route in routes:
            if isinstance(route, Route | WebSocketRoute):
                self._bare.append((route, route.app))
                route.app = self._guarded(route, route.app)

    def authenticate_routes(self) -> None:
        """Ask for a key on our routes in an app of somebody else's.

        It stands before the routes themselves, their limits set, so there is no path
        by which one could be reached without.
        """
        self._asks_at_routes = self._keys.wants_key
        self._guard_anew()

    def observe_routes(self, observation: Observation) -> None:
        """Watch our routes in an app of somebody else's, and none of the host's."""
        self._observation = observation if observation.is_wanted else None
        self._guard_anew()

    def _guard_anew(self) -> None:
        for route, bare in self._bare:
            route.app = self._guarded(route, bare)

    def _guarded(self, route: Route | WebSocketRoute, app: ASGIApp) -> ASGIApp:
        guarded = self._authenticated(route, self._limited(route, app))
        if self._observation is None:
            return guarded
        return ObservationMiddleware(guarded, observation=self._observation)

    def _authenticated(self, route: Route | WebSocketRoute, app: ASGIApp) -> ASGIApp:
        if not self._asks_at_routes or self._open_paths.has(self._own_path(route)):
            return app
        return AuthenticationMiddleware(app, keys=self._keys)

    def _limited(self, route: Route | WebSocketRoute, app: ASGIApp) -> ASGIApp:
        """The route's own app with its limits around it, the outermost last."""
        if self._free.has(self._own_path(route)):
            return app
        server, is_admin = self._server, ADMIN in getattr(route, "tags", ())
        if isinstance(route, Route):
            app = self._bounded(route, app)
        if self._slots is not None and not is_admin:
            app = ConcurrencyMiddleware(app, slots=self._slots)
        if server.has_admin_keys and is_admin:
            app = AdminMiddleware(app, keys=self._keys)
        return app

    def _bounded(self, route: Route, app: ASGIApp) -> ASGIApp:
        server, methods = self._server, route.methods or set()
        has_limit = server.max_body_bytes or server.body_timeout_s
        if has_limit and methods - WITHOUT_BODY:
            app = BodyMiddleware(
                app,
                max_bytes=server.max_body_bytes,
                timeout_s=server.body_timeout_s,
            )
        if server.request_timeout_s is not None:
            app = TimeLimitMiddleware(app, timeout_s=server.request_timeout_s)
        return app

    def _own_path(self, route: Route | WebSocketRoute) -> str:
        return route.path.removeprefix(self.prefix)


def _slots(server: ServerSettings, before: Slots | None) -> Slots | None:
    n = server.max_concurrent_requests
    if n is None:
        return None
    if before is None:
        return Slots(n)
    before.n = n  # those that are taken count on
    return before
