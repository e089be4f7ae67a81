"""An engine that writes down what another one answers."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal

from containers import vllm_api
from containers.testing.cassettes import tape
from containers.testing.cassettes.replay import ReplayEngine
from containers.testing.cassettes.secrets import Scrubber, Secret
from containers.testing.cassettes.take import Take
from containers.testing.requests import RecordedRequest, request_of

Mode = Literal["none", "once", "new", "all"]
"""What is recorded: nothing; a cassette that is not there yet; what a cassette lacks;
everything, in place of what was there."""


class RecordingEngine:
    """An ``EngineClient`` that passes everything on to a real one, and records it.

    An answer is written when it ends, as one line. Times, headers and request ids are
    not. A secret in a prompt is scrubbed; an answer that repeats one is not recorded.

    Args:
        engine: The started engine; it stays its owner's to shut down.
        path: The cassette; folders are made if need be.
        mode: ``all`` replaces the cassette when the first answer ends; ``new`` replays
            what the cassette holds and adds what it lacks; ``once`` records if there
            is no cassette, and ``none`` never, so both may only replay.
        secrets: Texts or patterns to keep out of it beside the usual ones.

    Raises:
        CassetteError: A cassette that is there cannot be read.
    """

    def __init__(
        self,
        engine: Any,
        path: str | Path,
        *,
        mode: Mode = "all",
        secrets: Iterable[Secret] = (),
    ) -> None:
        self._engine = engine
        self._path = Path(path)
        self._scrubber = Scrubber(secrets := tuple(secrets))
        self._replay: ReplayEngine | None = None
        exists = self._path.exists()
        if mode == "none" or (exists and mode != "all"):
            self._replay = ReplayEngine(path, secrets=secrets)
        self._adds = mode == "new"
        self._replaces = mode == "all"
        vllm_api.EngineClient.register(type(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def generate(
        self, prompt: Any, sampling_params: Any, request_id: str, **options: Any
    ) -> AsyncGenerator[Any, None]:
        """What the engine generates, recorded; or a known answer again.

        Yields:
            vLLM's ``RequestOutput``.
        """
        request = request_of(
            prompt,
            request_id,
            prompt_text=options.get("prompt_text"),
            sampling_params=sampling_params,
            lora_request=options.get("lora_request"),
        )
        source = self._source_of(request)
        answer = source.generate(prompt, sampling_params, request_id, **options)
        async with aclosing(self._passed_on(source, request, answer)) as passed_on:
            async for output in passed_on:
                yield output

    async def encode(
        self,
        prompt: Any,
        pooling_params: Any,
        request_id: str,
        lora_request: Any = None,
        **options: Any,
    ) -> AsyncGenerator[Any, None]:
        """What the engine pools, recorded; or a known answer again.

        Yields:
            vLLM's ``PoolingRequestOutput``.
        """
        request = request_of(
            prompt,
            request_id,
            pooling_params=pooling_params,
            lora_request=lora_request,
        )
        source = self._source_of(request)
        answer = source.encode(
            prompt, pooling_params, request_id, lora_request=lora_request, **options
        )
        async with aclosing(self._passed_on(source, request, answer)) as passed_on:
            async for output in passed_on:
                yield output

    def _source_of(self, request: RecordedRequest) -> Any:
        if self._replay is None:
            return self._engine
        if self._adds and not self._replay.shelf.holds(request):
            return self._engine
        return self._replay

    async def _passed_on(
        self, source: Any, request: RecordedRequest, answer: Any
    ) -> AsyncGenerator[Any, None]:
        """Pass outputs on, each noted before anybody can change it."""
        take = None if source is self._replay else Take(self._path, request)
        try:
            # An engine notices a reader that leaves when its generator is closed.
            async with aclosing(answer):
                asked = time.monotonic()
                async for output in answer:
                    if take is not None:
                        take.note(output, time.monotonic() - asked)
                    yield output
                    asked = time.monotonic()
        except Exception as error:
            if take is not None:
                take.fail(error)
            raise
        finally:
            if take is not None:
                self._write(take)

    def _write(self, take: Take) -> None:
        entry = take.entry(self._scrubber)
        if entry is None:
            return
        if self._replaces:
            self._replaces = False
            tape.rewrite(self._path, entry)
        else:
            tape.append(self._path, entry)
