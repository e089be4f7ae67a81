"""Deploying an application, and waiting until it runs or is no longer wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from containers.masks import masked
from containers.settings import RaySettings

LOOK_S = 0.2
NOT_WANTED = "it is no longer wanted"


async def trouble_of_deployment(
    application: Any, settings: RaySettings, *, is_wanted: Callable[[], bool]
) -> str:
    """Deploy an application, and wait until it runs.

    ``serve.run`` waits as well, but in a thread that cannot be told to stop: it goes on
    to ask Ray when Ray has been left, which ends the whole process.

    Args:
        application: Ray Serve's ``Application``.
        settings: Its name and its prefix.
        is_wanted: Whether to go on waiting; asked a few times a second.

    Returns:
        Why it does not run, or an empty string as soon as it does.
    """
    from ray import serve
    from ray.exceptions import RayError
    from ray.serve.exceptions import RayServeException

    name = settings.application
    target = serve.RunTarget(application, name, settings.route_prefix)
    deploy = partial(serve.run_many, [target], wait_for_applications_running=False)
    try:
        await asyncio.to_thread(deploy)
        while is_wanted():
            applications = (await asyncio.to_thread(serve.status)).applications
            found = applications.get(name)
            if found is None or found.status == "DEPLOY_FAILED":
                return found.message if found is not None else "somebody took it away"
            if found.status == "RUNNING":
                return ""
            await asyncio.sleep(LOOK_S)
    except (RuntimeError, RayError, RayServeException) as error:
        return masked(error)
    return NOT_WANTED
