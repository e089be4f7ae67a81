"""The checks of the ``server`` section: address, certificates, keys, middleware."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from app.checks.report import Report
from app.frontends.checks import refuse_by_environment
from app.http_config import check_certificates, listening_socket
from app.middleware.imported import imported_middleware
from app.middleware.keys import Keys
from containers.settings import ServerSettings


def check_server(server: ServerSettings, report: Report) -> None:
    """Check that a server could listen, with its certificates, keys and middleware.

    Args:
        server: Server settings.
        report: Told how each check came out.
    """
    if server.frontends > 1:
        report.attempt(
            "frontends",
            lambda: refuse_by_environment(server),
            lambda _: f"{server.frontends} over one engine",
        )
    report.attempt("address", lambda: _free_address(server), str)
    if server.ssl_certfile is not None:
        report.attempt(
            "certificate",
            lambda: check_certificates(server),
            lambda _: f"{server.ssl_certfile} and its key fit",
        )
    if server.wants_key or server.has_admin_keys:
        report.attempt("keys", lambda: Keys(server), lambda keys: f"{keys.n} of them")
    for index, path in enumerate(server.middleware):
        report.attempt(
            f"middleware.{index}",
            partial(imported_middleware, path, index=index),
            lambda _, path=path: f"{path} is a pure ASGI class",  # type: ignore[misc]  # bound early
        )


def _free_address(server: ServerSettings) -> str:
    listening_socket(server).close()
    if server.uds is not None:
        with suppress(FileNotFoundError):
            Path(server.uds).unlink()
        return f"{server.uds} can be listened on"
    if server.port == 0:
        return f"{server.host}, a free port"
    return f"{server.host}:{server.port} is free"
