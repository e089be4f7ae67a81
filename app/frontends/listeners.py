"""Where several processes listen at one address, each at a socket of its own.

The kernel gives each connection to one of the sockets. All of them belong to the
process that owns the engine and stay open as long as it lives, so that none of the
connections at a socket is lost when the process that answers them is.
"""

from __future__ import annotations

import asyncio
import socket

from app.http_config import BACKLOG, check_certificates, listening_socket
from app.server import Server
from containers.settings import ServerSettings


def listen_together(server: ServerSettings) -> list[socket.socket]:
    """Bind the server's address once for each front end.

    Raises:
        SettingsError: The address is taken, or not this machine's, or a certificate
            cannot be used.
    """
    check_certificates(server)
    # Bound by itself first: sockets that share an address would share another
    # server's of the same user, too.
    with listening_socket(server) as alone:
        family, address = alone.family, alone.getsockname()
    return [
        socket.create_server(
            address[:2], family=family, backlog=BACKLOG, reuse_port=True
        )
        for _ in range(server.frontends)
    ]


class Stand:
    """A socket that the owner answers at while its own front end is not there.

    Args:
        listener: The socket.
        server: The owner's HTTP server.
    """

    def __init__(self, listener: socket.socket, server: Server) -> None:
        self.listener = listener
        self._server = server
        self._accepting: asyncio.Server | None = None

    async def open(self) -> None:
        """Answer there from now on."""
        if self._accepting is None and not self._server.should_exit:
            self._accepting = await self._server.accept(self.listener.dup())

    def close(self) -> None:
        """Leave it to its front end; what is being answered goes on."""
        if self._accepting is not None:
            self._server.accept_no_more(self._accepting)
            self._accepting = None
