"""Whether Ray's proxy passes requests on to an application."""

from __future__ import annotations

import asyncio
import json
import time
from http.client import HTTPConnection, HTTPException

LOOK_S = 0.05
ANSWER_S = 5.0
"""Seconds a proxy has to answer once."""


async def trouble_of_route(
    address: tuple[str, int], application: str, route_prefix: str, *, timeout_s: float
) -> str:
    """Wait until a proxy passes requests on to an application.

    Ray says that an application runs when its replicas do. Its proxy is told of routes
    long before that, but nothing promises so; without one it answers 404.

    Args:
        address: Host and port where the proxy listens.
        application: The application's name.
        route_prefix: Where its routes are.
        timeout_s: Seconds to wait.

    Returns:
        Why it still does not when the time is up; an empty string as soon as it does.

    Source:
        ray/serve/_private/proxy.py ``ProxyActor.serving`` (2.60), which ``serve.run``
        waits for, and which waits for nothing.
    """
    deadline = time.monotonic() + timeout_s
    while trouble := await asyncio.to_thread(
        _trouble, address, application, route_prefix
    ):
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(LOOK_S)
    return trouble


def _trouble(address: tuple[str, int], application: str, route_prefix: str) -> str:
    # Not by urllib, which would ask the proxy that the environment names.
    connection = HTTPConnection(*address, timeout=ANSWER_S)
    try:
        connection.request("GET", "/-/routes")
        answer = connection.getresponse()
        routes = json.loads(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        return f"it does not tell its routes: {error!r}"
    finally:
        connection.close()
    if isinstance(routes, dict) and routes.get(route_prefix) == application:
        return ""
    return f"its routes are {routes}"
