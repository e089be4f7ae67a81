"""How a fake engine's answers come out, step by step, as vLLM's do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from containers import vllm_api
from containers.errors import InjectionError
from containers.testing.answer import GrowingAnswer
from containers.testing.call import Call, Interrupted
from containers.testing.logprobs import prompt_logprobs
from containers.testing.script import (
    Script,
    Token,
    open_script,
    require_item,
    resolve,
)

_END = object()


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How a fake engine plays its script.

    Attributes:
        script: What it answers.
        delay_s: Seconds before each token, unless the token says otherwise.
        fails: Raised in every request, or ``None``.
        fails_after_tokens: Tokens each answer has by then.
        dies_after_tokens: Tokens each answer has when the engine dies; ``None`` for
            an engine that lives.
        num_cached_tokens: Prompt tokens said to come from the prefix cache, at most.
        tokenizer: Cuts strings and gives token ids; ``None`` does without.
    """

    script: Script
    delay_s: float = 0.0
    fails: Exception | None = None
    fails_after_tokens: int = 0
    dies_after_tokens: int | None = None
    num_cached_tokens: int = 0
    tokenizer: Any = None

    def raise_fault(self, n_tokens: int) -> None:
        """Fail or die, if ``n_tokens`` tokens are when it should."""
        if n_tokens == self.dies_after_tokens:
            raise vllm_api.EngineDeadError
        if self.fails is not None and n_tokens == self.fails_after_tokens:
            raise self.fails.with_traceback(None)


class Playing(Protocol):
    """The answers to one request, as a fake engine takes them from wherever."""

    @property
    def is_finished(self) -> bool:
        """Whether every answer is complete."""

    async def step(self) -> list[Any]:
        """The next of vLLM's output objects; none is no end."""

    async def close(self) -> None:
        """Clean up; it may be finished or not."""


class Generation:
    """The answers to one request.

    Args:
        call: The request.
        params: vLLM's ``SamplingParams``.
        behaviour: How the script is played.
    """

    def __init__(self, call: Call, params: Any, behaviour: Behaviour) -> None:
        self._call = call
        self._params = params
        self._behaviour = behaviour
        self._answers: list[GrowingAnswer] = []
        self._n_steps = 0
        self._prompt_logprobs: list[dict[int, Any] | None] | None = None
        if params.prompt_logprobs is not None:
            self._prompt_logprobs = prompt_logprobs(call.request.prompt_token_ids)

    @property
    def is_finished(self) -> bool:
        """Whether every answer is complete."""
        return bool(self._answers) and all(a.is_finished for a in self._answers)

    async def step(self) -> list[Any]:
        """Make one token for every unfinished answer.

        Returns:
            vLLM's ``RequestOutput`` objects, one an answer; with ``FINAL_ONLY`` none
            until the last answer is complete, then one with all of them.

        Raises:
            EngineDeadError: The engine died.
        """
        try:
            if not self._answers:
                await self._call.wait(self._open)
            self._behaviour.raise_fault(self._n_steps)
            grown = await self._grow()
        except Interrupted:
            grown = self._interrupted()
        self._n_steps += 1
        return self._outputs(grown)

    async def close(self) -> None:
        """Close the script's asynchronous generators, so that they clean up."""
        for answer in self._answers:
            aclose = getattr(answer.items, "aclose", None)
            if aclose is not None:
                await aclose()

    async def _open(self) -> None:
        behaviour, request = self._behaviour, self._call.request
        for index in range(self._call.n):
            items = await open_script(behaviour.script, request, behaviour.tokenizer)
            self._answers.append(GrowingAnswer(index, self._params, items))

    async def _grow(self) -> list[GrowingAnswer]:
        unfinished = [a for a in self._answers if not a.is_finished]
        tokens = [await self._next_token(answer) for answer in unfinished]
        await self._call.turn(max(map(self._delay_s, tokens)))
        for answer, token in zip(unfinished, tokens, strict=True):
            if token is None:
                _require_tokens(answer)
                answer.finish("stop")
            else:
                answer.add(token)
                self._call.n_tokens += 1
        return unfinished

    async def _next_token(self, answer: GrowingAnswer) -> Token | None:
        items: Any = answer.items
        item: Any
        if hasattr(items, "__anext__"):
            item = await self._call.wait(lambda: anext(items, _END))
        else:
            item = next(items, _END)
        if item is _END:
            return None
        require_item(item)
        if isinstance(item, Exception):
            raise item
        return resolve(item, self._behaviour.tokenizer)

    def _delay_s(self, token: Token | None) -> float:
        if token is None:
            return 0.0
        return self._behaviour.delay_s if token.delay_s is None else token.delay_s

    def _interrupted(self) -> list[GrowingAnswer]:
        if self._call.interruption == "death":
            raise vllm_api.EngineDeadError
        for index in range(len(self._answers), self._call.n):
            self._answers.append(GrowingAnswer(index, self._params, iter(())))
        unfinished = [a for a in self._answers if not a.is_finished]
        for answer in unfinished:
            answer.finish("abort")
        return unfinished

    def _outputs(self, grown: Sequence[GrowingAnswer]) -> list[Any]:
        kinds, kind = vllm_api.RequestOutputKind, self._params.output_kind
        if kind == kinds.FINAL_ONLY:
            if not self.is_finished:
                return []
            return [self._request_output(self._answers, delta=False, is_last=True)]
        delta, last = kind == kinds.DELTA, grown[-1]
        return [
            self._request_output(
                [answer], delta=delta, is_last=self.is_finished and answer is last
            )
            for answer in grown
        ]

    def _request_output(
        self, answers: Sequence[GrowingAnswer], *, delta: bool, is_last: bool
    ) -> Any:
        request, logprobs = self._call.request, self._prompt_logprobs
        if delta and logprobs:
            self._prompt_logprobs = []
        prompt_token_ids = list(request.prompt_token_ids)
        cached = min(self._behaviour.num_cached_tokens, len(prompt_token_ids))
        return vllm_api.RequestOutput(
            request_id=request.request_id,
            prompt=request.prompt,
            prompt_token_ids=prompt_token_ids,
            prompt_logprobs=logprobs,
            outputs=[answer.output(delta=delta) for answer in answers],
            finished=is_last,
            lora_request=request.lora_request,
            num_cached_tokens=cached,
        )


def _require_tokens(answer: GrowingAnswer) -> None:
    if not answer.token_ids:
        raise InjectionError(
            owner="FakeEngine",
            argument="script",
            expected="something that yields at least one token for each answer",
            found="nothing more to yield",
            hint=(
                "An iterator is used up by its first answer: give a list, or a "
                "callable of the request."
            ),
        )
