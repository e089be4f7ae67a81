"""Failing, dying, aborting, pausing: the fake engine does it as vLLM does."""

import asyncio
import gc
import itertools
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from containers import vllm_api
from containers.errors import InjectionError
from containers.testing import FakeEngine, Token

PROMPT = {"type": "token", "prompt_token_ids": [3, 4, 5], "prompt": "abc"}


def generate(engine: Any, request_id: str = "r", **kwargs: Any) -> Any:
    kwargs.setdefault("output_kind", vllm_api.RequestOutputKind.DELTA)
    params = vllm_api.SamplingParams(max_tokens=None, **kwargs)
    return engine.generate(PROMPT, params, request_id)


async def text_of(engine: Any, request_id: str = "r", **kwargs: Any) -> str:
    outputs = [output async for output in generate(engine, request_id, **kwargs)]
    return "".join(output.outputs[0].text for output in outputs)


async def started(
    engine: Any, request_id: str = "r", **kwargs: Any
) -> asyncio.Task[Any]:
    """A running request that has said its first token, and the task that reads on."""
    first = asyncio.Event()
    outputs = []

    async def read() -> list[Any]:
        async for output in generate(engine, request_id, **kwargs):
            outputs.append(output)
            first.set()
        return outputs

    task = asyncio.create_task(read())
    await asyncio.wait_for(first.wait(), 2)
    return task


def states(engine: Any) -> list[str]:
    return [request.state for request in engine.requests]


async def test_every_call_is_recorded_as_it_was_made() -> None:
    engine = FakeEngine(["a", "b"])
    lora = vllm_api.LoRARequest("sql", 1, "/lora")
    params = vllm_api.SamplingParams(temperature=0.5)
    stream = engine.generate(
        PROMPT, params, "r7", lora_request=lora, priority=3, session_id="s"
    )
    await anext(stream)
    assert engine.requests[0].state == "running"
    assert engine.requests[0].tokens_out == 1
    assert [output async for output in stream]
    (request,) = engine.requests
    assert (request.request_id, request.prompt) == ("r7", "abc")
    assert request.prompt_token_ids == (3, 4, 5)
    assert request.sampling_params is params
    assert request.lora_request is lora
    assert (request.priority, request.session_id) == (3, "s")
    assert (request.state, request.tokens_out) == ("finished", 2)
    assert engine.aborted == []


async def test_a_script_sees_the_request_it_answers() -> None:
    engine = FakeEngine(lambda request: f"{request.prompt} {len(engine.requests)}")
    assert await text_of(engine) == "abc 1"


async def test_records_can_be_forgotten() -> None:
    engine = FakeEngine()
    await text_of(engine)
    engine.forget()
    assert engine.requests == []


async def test_a_delay_comes_before_each_token() -> None:
    begun = time.perf_counter()
    await text_of(FakeEngine(["a", Token("b", delay_s=0.05)], delay_s=0.02))
    assert 0.07 <= time.perf_counter() - begun < 1


async def test_a_failure_has_the_real_engines_class_and_the_scripts_cause() -> None:
    engine = FakeEngine("a b", fails=KeyError("boom"))
    with pytest.raises(vllm_api.EngineGenerateError) as caught:
        await text_of(engine)
    assert isinstance(caught.value.__cause__, KeyError)
    assert states(engine) == ["failed"]
    assert not engine.errored


@pytest.mark.parametrize(
    "engine",
    [
        lambda: FakeEngine("a b c", fails=KeyError("boom"), fails_after_tokens=2),
        lambda: FakeEngine(["a", " b", KeyError("boom"), " c"]),
    ],
    ids=["keyword", "in the script"],
)
async def test_a_failure_can_come_after_some_tokens(engine: Any) -> None:
    stream = generate(engine())
    assert (await anext(stream)).outputs[0].text == "a"
    assert (await anext(stream)).outputs[0].text == " b"
    with pytest.raises(vllm_api.EngineGenerateError):
        await anext(stream)


async def test_the_clients_own_errors_pass_as_they_are() -> None:
    error = vllm_api.VLLMValidationError("too long", parameter="prompt")
    with pytest.raises(vllm_api.VLLMValidationError, match="too long"):
        await text_of(FakeEngine(lambda request: error))


async def test_an_iterator_used_up_says_what_to_do() -> None:
    engine = FakeEngine(iter(["a", "b"]))
    assert await text_of(engine) == "ab"
    with pytest.raises(InjectionError, match="give a list"):
        await text_of(engine)


async def test_death_ends_what_runs_and_refuses_what_comes() -> None:
    engine = FakeEngine(itertools.chain("a", itertools.repeat(Token("b", delay_s=60))))
    running = await started(engine)
    engine.die()
    with pytest.raises(vllm_api.EngineDeadError):
        await asyncio.wait_for(running, 2)
    with pytest.raises(vllm_api.EngineDeadError):
        await text_of(engine)
    with pytest.raises(vllm_api.EngineDeadError):
        await engine.check_health()
    assert isinstance(engine.dead_error, vllm_api.EngineDeadError)
    assert (engine.errored, engine.is_stopped, engine.is_running) == (True, True, False)
    assert states(engine) == ["failed", "failed"]


async def test_an_engine_can_die_after_some_tokens() -> None:
    engine = FakeEngine("a b c", dies_after_tokens=1)
    bystander = FakeEngine("a")
    stream = generate(engine)
    assert (await anext(stream)).outputs[0].text == "a"
    with pytest.raises(vllm_api.EngineDeadError):
        await anext(stream)
    assert engine.errored
    assert not bystander.errored


async def test_death_may_come_from_another_thread() -> None:
    engine = FakeEngine(["a", Token("b", delay_s=60)])
    running = await started(engine)
    threading.Thread(target=engine.die).start()
    with pytest.raises(vllm_api.EngineDeadError):
        await asyncio.wait_for(running, 2)


async def test_shutdown_is_counted_and_ends_requests() -> None:
    engine = FakeEngine(["a", Token("b", delay_s=60)])
    running = await started(engine)
    engine.shutdown()
    with pytest.raises(vllm_api.EngineDeadError):
        await asyncio.wait_for(running, 2)
    assert engine.shutdown_count == 1


async def test_a_full_engine_refuses_with_503() -> None:
    engine = FakeEngine(itertools.cycle("ab"), max_num_queued_reqs=2)
    engine.check_admission(2)
    running = await started(engine)
    engine.check_admission()
    for refused in (lambda: engine.check_admission(2), lambda: text_of(engine, n=2)):
        with pytest.raises(vllm_api.QueueOverflowError) as caught:
            await refused()
        assert caught.value.http_status == 503
    await engine.abort("r")
    await running
    engine.check_admission(2)


async def test_a_limit_of_zero_refuses_everything() -> None:
    with pytest.raises(vllm_api.QueueOverflowError):
        FakeEngine(max_num_queued_reqs=0).check_admission()


async def test_an_aborted_request_ends_with_that_reason() -> None:
    engine = FakeEngine(["a", Token("b", delay_s=60)])
    running = await started(engine)
    await engine.abort(["unknown", "r"])
    outputs = await asyncio.wait_for(running, 2)
    assert outputs[-1].finished
    assert outputs[-1].outputs[0].finish_reason == "abort"
    assert engine.aborted == ["r"]
    assert states(engine) == ["aborted"]


async def test_every_answer_of_an_aborted_request_ends() -> None:
    engine = FakeEngine(itertools.cycle("ab"))
    running = await started(engine, n=3)
    await engine.abort("r")
    outputs = await asyncio.wait_for(running, 2)
    ends = [o.outputs[0].index for o in outputs if o.outputs[0].finish_reason]
    assert ends == [0, 1, 2]
    assert [output.finished for output in outputs[-3:]] == [False, False, True]


async def test_an_abort_reaches_a_script_that_has_not_begun() -> None:
    async def never(request: Any) -> None:
        await asyncio.sleep(60)

    engine = FakeEngine(never)
    stream = generate(engine, n=2)
    first = asyncio.create_task(anext(stream))
    await asyncio.sleep(0.01)
    await engine.abort("r")
    assert (await asyncio.wait_for(first, 2)).outputs[0].finish_reason == "abort"
    assert (await anext(stream)).finished


async def test_a_closed_generator_counts_as_an_abort() -> None:
    engine = FakeEngine(itertools.cycle(["so ", "on "]))
    stream = generate(engine, "left")
    for _ in range(5):
        await anext(stream)
    await stream.aclose()
    assert engine.aborted == ["left"]


async def test_a_forgotten_generator_counts_as_an_abort() -> None:
    engine = FakeEngine(itertools.cycle("ab"))
    stream = generate(engine, "forgotten")
    await anext(stream)
    del stream
    gc.collect()
    await asyncio.sleep(0.01)
    assert engine.aborted == ["forgotten"]


async def test_a_cancelled_reader_counts_as_an_abort() -> None:
    engine = FakeEngine(itertools.cycle("ab"), delay_s=0.001)
    running = await started(engine, "gone")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert engine.aborted == ["gone"]


async def test_a_generator_left_after_its_last_output_is_finished() -> None:
    engine = FakeEngine("a")
    stream = generate(engine)
    async for output in stream:
        if output.finished:
            break
    await stream.aclose()
    assert engine.aborted == []
    assert states(engine) == ["finished"]


async def test_an_endless_answer_lets_other_tasks_run() -> None:
    engine = FakeEngine(itertools.cycle("ab"))
    running = await started(engine)
    assert await asyncio.wait_for(text_of(FakeEngine("x y")), 2) == "x y"
    await engine.abort("r")
    await running


async def test_a_scripts_own_generator_is_closed_when_the_reader_leaves() -> None:
    closed = []

    async def script(request: Any) -> AsyncIterator[str]:
        try:
            while True:
                yield "a"
        finally:
            closed.append(request.request_id)

    stream = generate(FakeEngine(script))
    await anext(stream)
    await stream.aclose()
    assert closed == ["r"]


async def test_requests_do_not_mix() -> None:
    engine = FakeEngine(lambda request: f"I am {request.request_id}", delay_s=0.001)
    ids = [f"r{number}" for number in range(50)]
    texts = await asyncio.gather(*(text_of(engine, id_) for id_ in ids))
    assert texts == [f"I am {id_}" for id_ in ids]


async def test_a_paused_engine_keeps_its_requests_waiting() -> None:
    engine = FakeEngine(itertools.islice(itertools.cycle("ab"), 50), delay_s=0.001)
    running = await started(engine)
    await engine.pause_generation(mode="keep")
    assert await engine.is_paused()
    said = engine.requests[0].tokens_out
    await asyncio.sleep(0.02)
    assert engine.requests[0].tokens_out == said
    await engine.resume_generation()
    assert (await asyncio.wait_for(running, 2))[-1].finished


async def test_a_pause_may_wait_for_what_runs() -> None:
    engine = FakeEngine("a b c d e", delay_s=0.002)
    running = await started(engine)
    await asyncio.wait_for(engine.pause_generation(mode="wait"), 2)
    assert states(engine) == ["finished"]
    await running


async def test_a_sleeping_engine_answers_when_woken() -> None:
    engine = FakeEngine("a b")
    running = await started(FakeEngine("a"))
    await running
    await engine.sleep()
    assert await engine.is_sleeping()
    waiting = asyncio.create_task(text_of(engine))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    assert await engine.wake_up()
    assert await asyncio.wait_for(waiting, 2) == "a b"
    assert not await engine.is_sleeping()


async def test_falling_asleep_aborts_what_runs() -> None:
    engine = FakeEngine(itertools.cycle("ab"))
    running = await started(engine)
    await engine.sleep()
    assert (await running)[-1].outputs[0].finish_reason == "abort"


async def test_adapters_come_and_go() -> None:
    engine = FakeEngine()
    assert await engine.add_lora(vllm_api.LoRARequest("sql", 7, "/lora"))
    assert engine.loras[7].lora_name == "sql"
    assert await engine.list_loras() == {7}
    assert await engine.pin_lora(7)
    assert await engine.remove_lora(7)
    assert not await engine.remove_lora(7)
    assert await engine.list_loras() == set()
