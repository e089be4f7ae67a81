"""A route of the ingress: it passes a request on, and its answer back."""

from __future__ import annotations

import logging
from contextlib import aclosing
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from app.errors import (
    SHUTTING_DOWN,
    error_response,
    http_response,
    serving_error_response,
    unavailable,
)
from app.exchange import Asked
from app.ray.answer import Answer, shape_of
from app.ray.backend import Backend
from app.ray.choice import chosen, chosen_by_admin, name_in
from app.ray.models import Models
from app.ray.tasks import OF_EACH_REPLICA, PASSED_OVER, PROVIDERS
from app.shapes import SHAPE
from app.while_wanted import ClientGoneError, CutError, WhileWanted
from containers.errors import ServingError

logger = logging.getLogger("ray.serve")


class Forwarding:
    """An ASGI app that answers with what a replica of the right model answers.

    Args:
        models: The models.
        path: Path of the route, with its parameters.
        is_admin: Whether it is for administrators.
    """

    def __init__(self, models: Models, path: str, *, is_admin: bool = False) -> None:
        self._models = models
        self._provider = PROVIDERS.get(path)
        self._path = path
        self._is_admin = is_admin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and send the answer's parts as they come."""
        request = Request(scope, receive, send)
        shape = scope[SHAPE] = shape_of(self._path, request)
        answer = Answer(send, shape)
        try:
            asked = Asked.of(scope, await request.body())
            with self._models.flights.one():
                async with WhileWanted(receive, self._models.flights):
                    await self._answer(asked, answer)
        except (ClientGoneError, ClientDisconnect):
            return
        except CutError:
            await answer.end(unavailable(SHUTTING_DOWN))
        except HTTPException as error:
            await http_response(error)(scope, receive, send)
        except ServingError as error:
            await answer.end(serving_error_response(error))
        except Exception as error:
            logger.exception("A request could not be passed on")
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            await answer.end(error_response(str(error), status))

    async def _answer(self, asked: Asked, answer: Answer) -> None:
        backends = self._models.backends
        if self._is_admin and asked.method == "GET":
            await self._pass_on(chosen_by_admin(asked, backends), asked, answer, None)
        elif self._is_admin:
            await self._ask_all(chosen_by_admin(asked, backends), asked, answer)
        elif self._path in OF_EACH_REPLICA:
            backend, _ = chosen(asked, self._provider, backends)
            await self._ask_all(backend, asked, answer)
        elif self._path in PASSED_OVER and len(backends) > 1 and not name_in(asked):
            await self._ask_each(asked, answer)
        else:
            backend, otherwise = chosen(asked, self._provider, backends)
            unless = None if otherwise is None else HTTPStatus.NOT_FOUND
            if not await self._pass_on(backend, asked, answer, unless):
                assert otherwise is not None  # noqa: S101  # there was an unless
                raise otherwise

    async def _ask_all(self, backend: Backend, asked: Asked, answer: Answer) -> None:
        """Ask every replica of a model; a bad answer goes before the others."""
        answers = await backend.all(asked, is_admin=self._is_admin)
        bad = [each for each in answers if each[0] >= HTTPStatus.BAD_REQUEST]
        await answer.pass_on([*bad, *answers][0])

    async def _ask_each(self, asked: Asked, answer: Answer) -> None:
        """Ask one model after the other, until one does not refuse as not its own."""
        backends = self._models.backends
        provider, unless = self._provider, PASSED_OVER[self._path]
        for backend in backends:
            if provider is not None and backend.can(provider) is False:
                continue
            if await self._pass_on(backend, asked, answer, unless):
                return
        await self._pass_on(backends[0], asked, answer, None)

    async def _pass_on(
        self, backend: Backend, asked: Asked, answer: Answer, unless: int | None
    ) -> bool:
        """Pass on a model's answer, unless it has a status; whether it was."""
        parts = backend.parts(
            asked, wait_s=self._models.wait_s, is_admin=self._is_admin
        )
        async with aclosing(parts):
            async for part in parts:
                if part[0] and part[0] == unless:
                    return False
                await answer.pass_on(part)
        return True
