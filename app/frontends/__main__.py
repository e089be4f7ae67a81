"""The process of a front end; the owner of the engine starts it with two sockets."""

from __future__ import annotations

import asyncio
import socket
import sys

from app.event_loop import loop_factory
from app.frontends.front_end import FrontEnd


async def _serve(connection: int, listener: int) -> int:
    with socket.socket(fileno=listener) as listening:
        return await FrontEnd(socket.socket(fileno=connection), listening).run()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        sys.exit(runner.run(_serve(int(sys.argv[1]), int(sys.argv[2]))))
