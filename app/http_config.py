"""What uvicorn is told, and the socket it listens on."""

from __future__ import annotations

import logging
import socket
import ssl
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import uvicorn
from uvicorn.config import LOGGING_CONFIG, create_ssl_context

from app.logs import are_ours
from containers.errors import SettingsError
from containers.settings import ServerSettings

BACKLOG = 2048
_TLS_FILES = ("ssl_certfile", "ssl_keyfile", "ssl_ca_certs")


def uvicorn_config(
    app: Any,
    server: ServerSettings,
    *,
    close_timeout_s: int,
    lifespan: Literal["auto", "off"] = "auto",
) -> uvicorn.Config:
    """Make uvicorn's configuration, its certificates loaded.

    Args:
        app: The app.
        server: Server settings, whose certificates have been checked.
        close_timeout_s: Seconds connections have to close at the end.
        lifespan: Whether uvicorn starts and ends the app.
    """
    limit = server.h11_max_incomplete_event_size
    config = uvicorn.Config(
        app,
        lifespan=lifespan,
        root_path=server.root_path,
        log_level=server.uvicorn_log_level,
        log_config=None if are_ours() else LOGGING_CONFIG,
        access_log=not (server.disable_uvicorn_access_log or server.logs.requests),
        timeout_keep_alive=server.timeout_keep_alive_s,
        timeout_graceful_shutdown=close_timeout_s,
        http="auto" if limit is None else "h11",
        h11_max_incomplete_event_size=limit,
        ssl_keyfile=server.ssl_keyfile,
        ssl_certfile=server.ssl_certfile,
        ssl_ca_certs=server.ssl_ca_certs,
        ssl_cert_reqs=server.ssl_cert_reqs,
        ssl_ciphers=server.ssl_ciphers,
    )
    config.load()
    logging.getLogger("uvicorn.access").addFilter(_AccessFilter(server))
    return config


def check_certificates(server: ServerSettings) -> None:
    """Load the TLS files once, to know that they can be used.

    Raises:
        SettingsError: A certificate or key cannot be read, or does not fit.
    """
    if server.ssl_certfile is None:
        return
    for key in _TLS_FILES:
        _check_readable(server, key)
    try:
        create_ssl_context(
            certfile=server.ssl_certfile,
            keyfile=server.ssl_keyfile,
            password=None,
            ssl_version=ssl.PROTOCOL_TLS_SERVER,
            cert_reqs=server.ssl_cert_reqs,
            ca_certs=server.ssl_ca_certs,
            ciphers=server.ssl_ciphers,
        )
    except (ssl.SSLError, OSError) as error:
        raise _refused("ssl_certfile", f"cannot be used: {error}") from error


def listening_socket(server: ServerSettings) -> socket.socket:
    """Bind the server's address.

    Raises:
        SettingsError: The address is taken, or not this machine's.
    """
    if server.uds is not None:
        return _unix_socket(server.uds)
    try:
        family = socket.getaddrinfo(server.host, server.port)[0][0]
        return socket.create_server(
            (server.host, server.port), family=family, backlog=BACKLOG
        )
    except OSError as error:
        raise SettingsError(
            key="server",
            reason=f"cannot listen on {server.host}:{server.port}: {error.strerror}",
            hint="Set server.host and server.port to a free address of this machine.",
        ) from error


def curl_address(server: ServerSettings, address: Any) -> str:
    """Address of a listening server, as it is told to curl.

    Args:
        server: Server settings.
        address: What the socket says its name is.
    """
    scheme = "https" if server.ssl_certfile else "http"
    if server.uds is not None:
        return f"--unix-socket {server.uds} {scheme}://localhost"
    host = "127.0.0.1" if address[0] == "0.0.0.0" else address[0]  # noqa: S104  # compared
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{address[1]}"


def _unix_socket(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_deserted(path)
        listener.bind(path)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(
            key="server.uds",
            reason=f"cannot listen on {path}: {error.strerror or error}",
            hint="Set server.uds to a path in a folder of yours that nobody uses.",
        ) from error
    return listener


def _remove_deserted(path: str) -> None:
    """Remove a socket that a server which was killed has left."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(Path(path).stat().st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                Path(path).unlink()


def _check_readable(server: ServerSettings, key: str) -> None:
    path = getattr(server, key)
    if path is None:
        return
    try:
        Path(path).open("rb").close()
    except OSError as error:
        raise _refused(key, f"cannot be read: {error.strerror}") from error


def _refused(key: str, reason: str) -> SettingsError:
    return SettingsError(
        key=f"server.{key}", reason=reason, hint="Name a PEM file that fits the others."
    )


class _AccessFilter(logging.Filter):
    """Keeps requests of some paths out of uvicorn's log."""

    def __init__(self, server: ServerSettings) -> None:
        super().__init__()
        self._root_path = server.root_path
        self._quiet = frozenset(server.disable_access_log_for_endpoints)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a request; its arguments are address, method, path, ..."""
        arguments = record.args
        if not isinstance(arguments, tuple) or len(arguments) < 3:  # noqa: PLR2004  # as said
            return True
        path = str(arguments[2]).partition("?")[0]
        return path.removeprefix(self._root_path) not in self._quiet
