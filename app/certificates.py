"""Certificates that are renewed while the server runs."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

from containers.settings import ServerSettings

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0


async def refresh_certificates(context: ssl.SSLContext, server: ServerSettings) -> None:
    """Load key and certificates anew whenever their files change, until cancelled.

    What cannot be loaded is logged, and the ones before stay in use: a file may be
    half written.

    Args:
        context: Context of new connections; those that are open keep theirs.
        server: Server settings, with a certificate.
    """
    before = _stamps(server)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        now = _stamps(server)
        if now == before:
            continue
        try:
            _load(context, server)
        except (OSError, ssl.SSLError) as error:
            logger.warning("The new certificate cannot be used yet: %s", error)
        else:
            before = now
            logger.warning("The certificate was read anew")


def _load(context: ssl.SSLContext, server: ServerSettings) -> None:
    # A certificate whose key is still the old one would spoil the context it is
    # loaded into, so it is tried elsewhere first.
    for each in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
        each.load_cert_chain(str(server.ssl_certfile), server.ssl_keyfile)
        if server.ssl_ca_certs is not None:
            each.load_verify_locations(server.ssl_ca_certs)


def _stamps(server: ServerSettings) -> list[tuple[int, int] | None]:
    paths = (server.ssl_certfile, server.ssl_keyfile, server.ssl_ca_certs)
    return [_stamp(Path(path)) for path in paths if path is not None]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size
