"""A double of vLLM's engine client that plays a script."""
# ruff: noqa: ARG002, FBT001, PLR0913, PLR0917  # the signatures are vLLM's

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from containers import vllm_api
from containers.errors import ServingError
from containers.testing.call import Call
from containers.testing.control_members import ControlMembers
from containers.testing.generation import Behaviour, Generation, Playing
from containers.testing.idle_members import IdleMembers
from containers.testing.lora_members import LoraMembers
from containers.testing.pooling import Pooled, Pooler
from containers.testing.requests import request_of
from containers.testing.script import Script, require_script


class FakeEngine(ControlMembers, LoraMembers, IdleMembers):
    """An ``EngineClient`` without weights, processes or GPU.

    Serving objects on top of it are real, and it ends texts where vLLM would: at
    ``max_tokens``, at stop strings and stop tokens, in every output kind, for any
    ``n``. It adds no end-of-sequence token: usage counts the script's tokens. Its
    requests run on one event loop at a time; ``die()`` and the records may be used
    from any thread.

    Args:
        script: What it answers: a string, cut into words; a list of tokens (strings,
            :class:`~containers.testing.Token`), in which an exception is raised where
            it stands; an iterator, used up once and for all; or a callable of the
            :class:`~containers.testing.RecordedRequest`, called once for each of the
            ``n`` answers, sync or async, that returns one of these, an asynchronous
            generator of tokens, or an exception.
        delay_s: Seconds before each token.
        fails: Raised in every request, as vLLM raises it: anything but vLLM's own
            client errors becomes the cause of an ``EngineGenerateError``.
        fails_after_tokens: Tokens each answer has got by then.
        dies_after_tokens: The engine dies when answers have got so many tokens;
            ``None`` for an engine that lives.
        max_num_queued_reqs: Unfinished answers at most, more are refused with 503, as
            by vLLM's engine argument; 0 refuses all, ``None`` none.
        num_cached_tokens: Prompt tokens said to come from the prefix cache.
        tokenizer: Cuts strings and gives token ids, for parsers that look at ids;
            without one, ids are made up.
        pooled: What ``encode`` answers: a list of numbers, a list of such lists, or a
            callable of the request, sync or async, that returns one of these. By
            default numbers that depend on the prompt, in the shape of the asked task:
            an embedding of length 1, probabilities of classes, a row for each token.
        num_labels: Classes it tells apart unless ``pooled`` says otherwise; 1 for a
            model that scores.
        supported_tasks: What it says it can do, in vLLM's words, such as ``embed``;
            nothing leaves it to the model's configuration.

    Attributes:
        shutdown_count: How often it was shut down.
        loras: vLLM's ``LoRARequest`` of each adapter added, by its integer id.

    Raises:
        InjectionError: The script is none, or ``pooled`` is no numbers.
        VllmMismatchError: vLLM is not installed, or is not a supported release.

    Source:
        vllm/v1/engine/async_llm.py ``AsyncLLM`` (0.32.0).
    """

    vllm_config: Any
    model_config: Any
    renderer: Any
    input_processor: Any

    def __init__(
        self,
        script: Script = "Paris.",
        *,
        delay_s: float = 0.0,
        fails: Exception | None = None,
        fails_after_tokens: int = 0,
        dies_after_tokens: int | None = None,
        max_num_queued_reqs: int | None = None,
        num_cached_tokens: int = 0,
        tokenizer: Any = None,
        pooled: Pooled | None = None,
        num_labels: int = 2,
        supported_tasks: Sequence[str] = (),
    ) -> None:
        require_script(script)
        ControlMembers.__init__(self)
        LoraMembers.__init__(self)
        self._behaviour = Behaviour(
            script=script,
            delay_s=delay_s,
            fails=fails,
            fails_after_tokens=fails_after_tokens,
            dies_after_tokens=dies_after_tokens,
            num_cached_tokens=num_cached_tokens,
            tokenizer=tokenizer,
        )
        self._max_num_queued_reqs = max_num_queued_reqs
        self._pooler = Pooler(pooled, num_labels=num_labels)
        self._supported_tasks = tuple(supported_tasks)
        # Inheriting would need vLLM imported before this class can be named.
        vllm_api.EngineClient.register(type(self))

    async def get_supported_tasks(self) -> tuple[str, ...]:
        """What it was told it can do."""
        return self._supported_tasks

    def check_admission(
        self,
        n: int = 1,
        request_id: str | None = None,
    ) -> None:
        """Return when there is room for ``n`` more answers.

        Raises:
            QueueOverflowError: There is not; clients see 503.
        """
        limit = self._max_num_queued_reqs
        if limit is not None and self._ledger.n_unfinished + n > limit:
            raise vllm_api.QueueOverflowError

    async def generate(
        self,
        prompt: Any,
        sampling_params: Any,
        request_id: str,
        *,
        prompt_text: str | None = None,
        lora_request: Any = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        trace_headers: Mapping[str, str] | None = None,
        priority: int = 0,
        data_parallel_rank: int | None = None,
        session_id: str | None = None,
        kv_hints: Any = None,
        reasoning_ended: bool | None = None,
        reasoning_parser_kwargs: dict[str, Any] | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Play the script; to leave or close the generator early aborts the request.

        Yields:
            vLLM's ``RequestOutput``: one a token and answer, or one in all with
            ``RequestOutputKind.FINAL_ONLY``.
        """
        request = request_of(
            prompt,
            request_id,
            tokenizer=self._behaviour.tokenizer,
            prompt_text=prompt_text,
            sampling_params=sampling_params,
            lora_request=lora_request,
            priority=priority,
            trace_headers=trace_headers,
            data_parallel_rank=data_parallel_rank,
            session_id=session_id,
        )
        call = self._ledger.open(request, n=sampling_params.n)
        generation = self._generation(call, sampling_params)
        try:
            self._admit(call)
            while not generation.is_finished:
                for output in await generation.step():
                    if output.finished:
                        self._ledger.close(call, "finished")
                    yield output
        except (asyncio.CancelledError, GeneratorExit):
            self._ledger.close(call, "aborted")
            raise
        except Exception as error:
            self._fail(call, error)
            raise
        finally:
            await generation.close()

    async def encode(
        self,
        prompt: Any,
        pooling_params: Any,
        request_id: str,
        lora_request: Any = None,
        trace_headers: Mapping[str, str] | None = None,
        priority: int = 0,
        tokenization_kwargs: dict[str, Any] | None = None,
        reasoning_ended: bool | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Answer after ``delay_s`` with what is pooled from the prompt.

        Yields:
            One ``PoolingRequestOutput`` of vLLM's.
        """
        request = request_of(
            prompt,
            request_id,
            tokenizer=self._behaviour.tokenizer,
            pooling_params=pooling_params,
            lora_request=lora_request,
            priority=priority,
            trace_headers=trace_headers,
        )
        call = self._ledger.open(request, n=1)
        try:
            self._admit(call)
            output = await self._pooling_output(call)
            self._ledger.close(call, "finished")
            yield output
        except asyncio.CancelledError:
            self._ledger.close(call, "aborted")
            raise
        except Exception as error:
            self._fail(call, error)
            raise

    def _generation(self, call: Call, params: Any) -> Playing:
        return Generation(call, params, self._behaviour)

    async def _pooling_output(self, call: Call) -> Any:
        self._behaviour.raise_fault(0)
        return await self._pooler.answer(call, self._behaviour.delay_s)

    def _admit(self, call: Call) -> None:
        if self.errored:
            raise vllm_api.EngineDeadError
        self.check_admission(call.n, call.request.request_id)
        self._ledger.run(call)

    def _fail(self, call: Call, error: Exception) -> None:
        """Note a failure; what vLLM would wrap is wrapped, what it lets pass passes."""
        self._ledger.close(call, "failed")
        if isinstance(error, vllm_api.EngineDeadError):
            self.die()
            return
        passing = (ServingError, vllm_api.VLLMClientError, vllm_api.GracefulHTTPError)
        if not isinstance(error, passing):
            raise vllm_api.EngineGenerateError from error
