"""An app in this very process and event loop, asked without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI

from app.service import STATE_ATTRIBUTE, Service


class InProcess:
    """What tests do with an app of theirs."""

    app: FastAPI

    @property
    def service(self) -> Service:
        service: Service = getattr(self.app.state, STATE_ATTRIBUTE)
        return service

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(app=self.app)
        async with (
            self.app.router.lifespan_context(self.app),
            httpx.AsyncClient(transport=transport, base_url="http://test") as client,
        ):
            yield client


async def eventually(condition: Callable[[], object]) -> None:
    for _ in range(3000):  # 30 s, on a busy machine more
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came true")
