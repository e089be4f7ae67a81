"""What an engine still does for a client that has died."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from containers import vllm_api
from containers.vllm_api.sharing import Place

logger = logging.getLogger(__name__)


async def clear(engine: Any, place: Place) -> None:
    """Abort what a client that is gone has asked for, until cancelled.

    Nobody knows its requests any more but the engine, which goes on to send what it
    makes of them. So somebody else listens at its place, and aborts what comes. It also
    keeps the engine from holding all of that in its memory.

    Args:
        engine: vLLM's ``AsyncLLM`` of another client of the same engine.
        place: Where the dead client was.

    Source:
        vllm/v1/engine/core_client.py ``AsyncMPClient`` (0.32.0), for how results are
        read; the scheduler takes it well to be told of a request twice.
    """
    import zmq
    from zmq.asyncio import Context

    dead = vllm_api.EngineCoreProc.ENGINE_CORE_DEAD
    decoder = vllm_api.MsgpackDecoder(vllm_api.EngineCoreOutputs)
    context = Context()
    socket = context.socket(zmq.PULL)
    try:
        socket.setsockopt(zmq.RCVHWM, 0)
        socket.bind(place.output_address)
        while True:
            frames = await socket.recv_multipart(copy=False)
            if len(frames) > 1 or frames[0].bytes != dead:
                await _abort(engine, decoder.decode(frames))
    except asyncio.CancelledError:
        raise
    except Exception:
        logger.exception("Requests of a front end that is gone may go on")
    finally:
        socket.close(linger=0)
        context.term()


async def _abort(engine: Any, outputs: Any) -> None:
    stats = outputs.scheduler_stats
    if stats is not None and engine.logger_manager is not None:
        engine.logger_manager.record(
            engine_idx=outputs.engine_index, scheduler_stats=stats, iteration_stats=None
        )
    ids = [each.request_id for each in outputs.outputs if not each.finished]
    if ids:
        await engine.engine_core.abort_requests_async(ids)


def fail(engine: Any) -> None:
    """Let a client know that its engine has died, where the engine cannot tell it.

    Args:
        engine: vLLM's ``AsyncLLM`` at an engine of another process, or a double, which
            has an engine of its own.
    """
    client = getattr(engine, "engine_core", None)
    if client is None:
        return
    client.resources.engine_dead = True
    handler = engine.output_handler
    if handler is not None:
        handler.cancel()
    engine.output_processor.propagate_error(vllm_api.EngineDeadError())
