"""A model that an administrator lets go, and a server that one drains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.http.in_process import eventually
from tests.http.test_lazy import Serving, folder, said
from tests.http.test_status import ADMIN, KEYS, MODEL

__all__ = ["folder"]

Busy = tuple[Serving, httpx.AsyncClient, asyncio.Task[str]]


@asynccontextmanager
async def busy(folder: str) -> AsyncIterator[Busy]:
    """A server, its client, and a request of it that its engine is answering."""
    serving = Serving(folder, MODEL, **KEYS)
    serving.delay_s = 0.2
    async with serving.client() as client:
        asked = asyncio.create_task(said(client))
        await eventually(lambda: serving.engines["a"][0].requests)
        yield serving, client, asked


async def test_a_model_goes_and_its_next_request_loads_it_again(folder: str) -> None:
    serving = Serving(folder, MODEL | {"pinned": True}, **KEYS)
    async with serving.client() as client:
        answer = await client.post("/admin/unload", headers=ADMIN)
        assert answer.json() == {"model": "a", "status": "unloaded"}
        assert serving.engines["a"][0].shutdown_count == 1
        assert (await client.get("/readyz")).status_code == 200
        metrics = (await client.get("/metrics", headers=ADMIN)).text
        assert 'vllm_di_unloads_total{cause="request",model_name="a"} 1.0' in metrics
        assert await said(client) == "Paris."
        assert len(serving.engines["a"]) == 2


async def test_requests_in_flight_are_answered_before_it_goes(folder: str) -> None:
    async with busy(folder) as (_, client, asked):
        answer = await client.post("/admin/unload", headers=ADMIN)
        assert answer.status_code == 200
        assert await asked == "Paris."


async def test_a_request_that_comes_meanwhile_is_answered_by_the_next(
    folder: str,
) -> None:
    async with busy(folder) as (serving, client, first):
        going = asyncio.create_task(client.post("/admin/unload", headers=ADMIN))
        await eventually(lambda: serving.model().state == "unloading")
        assert await said(client) == "Paris."
        assert await first == "Paris."
        assert (await going).status_code == 200
        assert len(serving.engines["a"]) == 2


async def test_whoever_asked_for_it_may_leave(folder: str) -> None:
    async with busy(folder) as (serving, client, asked):
        going = asyncio.create_task(client.post("/admin/unload", headers=ADMIN))
        await eventually(lambda: serving.model().state == "unloading")
        going.cancel()
        assert await asked == "Paris."
        await eventually(lambda: serving.model().state == "unloaded")


async def test_what_is_not_loaded_cannot_go(folder: str) -> None:
    serving = Serving(folder, MODEL | {"load": "lazy"}, **KEYS)
    async with serving.client() as client:
        answer = await client.post("/admin/unload", headers=ADMIN)
        assert answer.status_code == 503
        assert "unloaded" in answer.json()["error"]["message"]


async def test_a_drained_server_answers_what_it_began_and_nothing_new(
    folder: str,
) -> None:
    async with busy(folder) as (serving, client, asked):
        answer = await client.post("/admin/drain", headers=ADMIN)
        assert answer.status_code == 202
        assert answer.json() == {"status": "draining", "in_flight": 1}
        await eventually(lambda: serving.service.state == "draining")
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.post("/admin/drain", headers=ADMIN)).status_code == 503
        assert await asked == "Paris."
        seen = await client.get("/admin/status", headers=ADMIN)
        assert seen.json()["phase"] == "draining"
