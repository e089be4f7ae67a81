"""A model's graph in small, whose objects keep a journal of their lives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from types import SimpleNamespace
from typing import Any

from dependency_injector import containers, providers

from containers.lifecycle import LoadedContainer, Resource
from containers.settings import ModelSettings


class EngineDiedError(Exception):
    """What a request to a dead engine gets."""


class Journal:
    """Everything that was ever loaded, and what went wrong."""

    def __init__(self) -> None:
        self.loaded: list[Thing] = []
        self.wrongs: list[str] = []
        self.failing: str | None = None

    def wrong(self, text: str) -> None:
        self.wrongs.append(text)


JOURNAL = Journal()


class Thing:
    """A loaded object."""

    def __init__(self, name: str, owner: str, needs: list[Thing]) -> None:
        self.name, self.owner, self.needs = name, owner, needs
        self.n_closed = 0
        self.errored = False
        JOURNAL.loaded.append(self)

    def __repr__(self) -> str:
        return f"{self.name} of {self.owner}"

    def use(self) -> None:
        """Be used by a request."""
        used = (self, *self.needs)
        if any(each.errored for each in used):
            raise EngineDiedError
        for each in used:
            if each.n_closed:
                JOURNAL.wrong(f"a request is on {each}, which is stopped")

    async def answer(self, n_steps: int) -> str:
        """Answer a request after so many steps."""
        for _ in range(n_steps):
            self.use()
            await asyncio.sleep(0.001)
        self.use()
        return self.owner

    async def stream(self, n_steps: int) -> AsyncGenerator[str, None]:
        """Answer a request step by step."""
        self.use()

        async def events() -> AsyncGenerator[str, None]:
            for _ in range(n_steps):
                self.use()
                yield self.owner
                await asyncio.sleep(0.001)

        return events()

    async def show_available_models(self) -> Any:
        """As vLLM's served models."""
        return SimpleNamespace(data=[self.owner])


def builder(name: str, *, stays_open: bool = False) -> Any:
    async def build(*, settings: Any = None, **needs: Any) -> AsyncIterator[Thing]:
        things = [each for each in needs.values() if isinstance(each, Thing)]
        owner = settings.name if settings else things[0].owner
        if JOURNAL.failing == name:
            JOURNAL.failing = None
            raise RuntimeError(f"{name} of {owner} fails")
        await asyncio.sleep(0)
        thing = Thing(name, owner, things)
        try:
            yield thing
        finally:
            await asyncio.sleep(0)
            thing.n_closed += 1
            open_ones = [each for each in JOURNAL.loaded if not each.n_closed]
            for user in open_ones:
                if thing in user.needs and not (stays_open or thing.errored):
                    JOURNAL.wrong(f"{thing} was stopped before {user}")

    return build


async def no_tasks(*, engine: Any) -> tuple[str, ...]:
    """None, so that the canary needs no vLLM."""
    del engine
    return ()


class SmallModel(containers.DeclarativeContainer):
    """Objects of the names that a plan knows, and one that answers."""

    instance_type = LoadedContainer

    settings = providers.Dependency(instance_of=ModelSettings)
    model = Resource(builder("model", stays_open=True), settings=settings)
    # An engine that is replaced takes its configuration along, not its tokenizer.
    vllm_config = Resource(
        builder("vllm_config", stays_open=True), settings=settings, model=model
    )
    tokenizer = Resource(builder("tokenizer"), vllm_config=vllm_config)
    chat_template = Resource(
        builder("chat_template"),
        settings=settings,
        chat=settings.provided.chat,
        tokenizer=tokenizer,
    )
    renderer = Resource(builder("renderer"), tokenizer=tokenizer)
    engine = Resource(
        builder("engine"),
        settings=settings,
        vllm_config=vllm_config,
        renderer=renderer,
    )
    supported_tasks = Resource(no_tasks, engine=engine)
    models = Resource(builder("models"), names=settings.provided.names, engine=engine)
    serving_chat = Resource(
        builder("serving_chat"),
        chat=settings.provided.chat,
        engine=engine,
        models=models,
        chat_template=chat_template,
        tokenizer=tokenizer,
    )
