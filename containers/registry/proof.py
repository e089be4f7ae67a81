"""Proof that a new engine answers, before it gets any request."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from containers.errors import StartError
from containers.lifecycle import Running
from containers.settings import CanarySettings

TIMEOUT_S = CanarySettings().timeout_s


async def prove(loaded: Running, canary: CanarySettings | None) -> None:
    """Have an engine give one token, or one vector.

    Args:
        loaded: Loaded objects of its model.
        canary: Settings whose timeout counts; ``None`` for that of the defaults.

    Raises:
        StartError: Nothing came in time, or the engine failed.
    """
    from containers.vllm_api.probe import ask_least

    timeout_s = canary.timeout_s if canary else TIMEOUT_S
    try:
        async with asyncio.timeout(timeout_s):
            request_id = f"canary-{uuid4().hex}"
            await ask_least(loaded.engine, loaded.supported_tasks, request_id)
    except TimeoutError as error:
        raise _failure(f"the canary got no answer within {timeout_s:g} s") from error
    except Exception as error:
        raise _failure(f"the canary failed: {error}") from error


def _failure(reason: str) -> StartError:
    return StartError(
        resource="engine", path=("engine",), reason=reason, hint="Its log may say why."
    )
