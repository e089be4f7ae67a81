"""Recording an engine and replaying it: the answers are the same, token by token."""
# ruff: noqa: ASYNC240  # a cassette is a small file

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from containers import vllm_api
from containers.errors import CassetteError
from containers.testing import FakeEngine, Mode, RecordingEngine, ReplayEngine, Token
from containers.testing.cassettes import tape

PROMPT = {"type": "token", "prompt_token_ids": [3, 4, 5], "prompt": "abc"}
KEY = "sk-abcdefghijklmnopqrstuvwx"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassette.jsonl"


def params(**fields: Any) -> Any:
    fields.setdefault("output_kind", vllm_api.RequestOutputKind.DELTA)
    return vllm_api.SamplingParams(max_tokens=50, **fields)


async def outputs(engine: Any, prompt: Any = PROMPT, **fields: Any) -> list[str]:
    """Everything an engine yields, as text that shows all of it."""
    stream = engine.generate(prompt, params(**fields), "r")
    return [shown(output) async for output in stream]


def shown(output: Any) -> str:
    return f"{output!r} {[each.__dict__ for each in output.outputs]!r}"


async def text(engine: Any, prompt: Any = PROMPT, **fields: Any) -> str:
    stream = engine.generate(prompt, params(**fields), "r")
    return "".join([output.outputs[0].text async for output in stream])


def prompt(words: str) -> dict[str, Any]:
    return {"type": "token", "prompt_token_ids": list(words.encode()), "prompt": words}


KINDS: list[dict[str, Any]] = [
    {},
    {"n": 3},
    {"logprobs": 2, "prompt_logprobs": 1},
    {"output_kind": 2},
    {"output_kind": 0, "n": 2},
    {"stop": ["is"]},
    {"min_tokens": 1, "stop_token_ids": [7], "seed": 4, "logit_bias": {5: 1.0}},
]


@pytest.mark.parametrize("fields", KINDS, ids=str)
async def test_a_replay_yields_exactly_what_was_recorded(
    path: Path, fields: dict[str, Any]
) -> None:
    if "output_kind" in fields:
        kind = vllm_api.RequestOutputKind(fields["output_kind"])
        fields = fields | {"output_kind": kind}
    script = ["Pa", Token("ris", logprob=float("-inf")), " is", Token(".", token_id=7)]
    real = FakeEngine(script, num_cached_tokens=2)
    alone = await outputs(real, **fields)
    assert await outputs(RecordingEngine(real, path), **fields) == alone
    assert await outputs(ReplayEngine(path), **fields) == alone


async def test_a_replay_gives_the_ids_of_the_request_it_answers(path: Path) -> None:
    await outputs(RecordingEngine(FakeEngine("a"), path))
    lora = vllm_api.LoRARequest("sql", 1, "/lora")
    engine = ReplayEngine(path)
    output, *_ = [o async for o in engine.generate(PROMPT, params(), "other")]
    assert output.request_id == "other"
    with pytest.raises(CassetteError, match='lora: recorded the default, asked "sql"'):
        async for _ in engine.generate(PROMPT, params(), "r", lora_request=lora):
            pass


async def test_a_vector_is_replayed_to_the_bit(path: Path) -> None:
    def encode(engine: Any) -> Any:
        return engine.encode(prompt=PROMPT, pooling_params=pooling, request_id="r")

    pooling = vllm_api.PoolingParams(task="embed")
    (recorded,) = [o async for o in encode(RecordingEngine(FakeEngine(), path))]
    (replayed,) = [o async for o in encode(ReplayEngine(path))]
    assert replayed.outputs.data.dtype == recorded.outputs.data.dtype
    assert replayed.outputs == recorded.outputs
    assert replayed.prompt_token_ids == [3, 4, 5]
    with pytest.raises(CassetteError, match="no answer"):
        await outputs(ReplayEngine(path))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("boom"), "EngineGenerateError"),
        ("VLLMValidationError", "VLLMValidationError"),
        ("EngineDeadError", "EngineDeadError"),
    ],
)
async def test_a_failure_is_replayed_at_its_place(
    path: Path, error: Any, kind: str
) -> None:
    if error == "VLLMValidationError":
        error = vllm_api.VLLMValidationError("no", parameter="seed", value=1)
    elif error == "EngineDeadError":
        error = vllm_api.EngineDeadError()
    caught = []
    for replays in (False, True):
        real = FakeEngine(["a", "b", error])
        engine = ReplayEngine(path) if replays else RecordingEngine(real, path)
        stream = engine.generate(PROMPT, params(), "r")
        seen = [(await anext(stream)).outputs[0].text for _ in range(2)]
        with pytest.raises(getattr(vllm_api, kind)) as raised:
            await anext(stream)
        caught.append((seen, str(raised.value), getattr(raised.value, "value", None)))
    assert caught[0] == caught[1]
    assert caught[0][0] == ["a", "b"]


async def test_delays_are_replayed_only_if_wanted(path: Path) -> None:
    await outputs(RecordingEngine(FakeEngine(["a", "b"], delay_s=0.1), path))
    took = []
    for delays in (False, True):
        began = time.monotonic()
        assert await text(ReplayEngine(path, delays=delays)) == "ab"
        took.append(time.monotonic() - began)
    assert took[0] < 0.15
    assert took[1] >= 0.2


async def test_equal_requests_are_answered_in_the_order_of_their_recording(
    path: Path,
) -> None:
    said = iter(["one", "two"])
    recording = RecordingEngine(FakeEngine(lambda _: next(said)), path)
    assert [await text(recording) for _ in range(2)] == ["one", "two"]
    replay = ReplayEngine(path)
    assert [await text(replay) for _ in range(3)] == ["one", "two", "two"]


async def test_requests_at_once_are_kept_apart(path: Path) -> None:
    real = FakeEngine(lambda request: [*request.prompt], delay_s=0.001)
    words = ["north", "south", "east", "west"]
    for engine in (RecordingEngine(real, path), None):
        engine = engine or ReplayEngine(path)  # noqa: PLW2901  # when it was recorded
        answers = await asyncio.gather(*(text(engine, prompt(w)) for w in words))
        assert answers == words


async def recorded_by(mode: Mode, path: Path, answer: str, *prompts: str) -> list[str]:
    engine = RecordingEngine(FakeEngine(answer), path, mode=mode)
    return [await text(engine, prompt(each)) for each in prompts]


async def test_mode_all_replaces_the_cassette(path: Path) -> None:
    await recorded_by("all", path, "old", "a", "b")
    assert await recorded_by("all", path, "new", "a") == ["new"]
    assert [e.request["prompt"] for e in tape.read(path)] == ["a"]


async def test_mode_all_leaves_the_cassette_until_it_has_an_answer(path: Path) -> None:
    await recorded_by("all", path, "old", "a")
    RecordingEngine(FakeEngine("new"), path, mode="all")
    assert await text(ReplayEngine(path), prompt("a")) == "old"


async def test_mode_new_adds_what_is_missing(path: Path) -> None:
    await recorded_by("new", path, "old", "a")
    assert await recorded_by("new", path, "new", "a", "b") == ["old", "new"]
    replay = ReplayEngine(path)
    assert await text(replay, prompt("a")) == "old"
    assert await text(replay, prompt("b")) == "new"


async def test_mode_once_records_only_a_cassette_that_is_not_there(path: Path) -> None:
    assert await recorded_by("once", path, "old", "a", "b") == ["old", "old"]
    assert await recorded_by("once", path, "new", "a") == ["old"]
    with pytest.raises(CassetteError, match="no answer"):
        await recorded_by("once", path, "new", "c")


async def test_mode_none_never_records(path: Path) -> None:
    with pytest.raises(CassetteError, match="cannot be read"):
        await recorded_by("none", path, "new", "a")
    assert not path.exists()


async def test_what_differs_is_named_down_to_the_parameter(path: Path) -> None:
    await outputs(RecordingEngine(FakeEngine("a"), path), temperature=0.0)
    with pytest.raises(CassetteError) as caught:
        await outputs(ReplayEngine(path), temperature=0.5, seed=3)
    lines = str(caught.value).splitlines()
    assert "  params.temperature: recorded 0.0, asked 0.5" in lines
    assert "  params.seed: recorded the default, asked 3." in lines


async def test_an_answer_nobody_read_to_its_end_is_no_whole_answer(path: Path) -> None:
    real = FakeEngine(["a", "b", "c"])
    recording = RecordingEngine(real, path)
    stream = recording.generate(PROMPT, params(), "r")
    assert (await anext(stream)).outputs[0].text == "a"
    await stream.aclose()
    assert real.aborted == ["r"]
    with pytest.raises(CassetteError, match="its reader left"):
        await text(ReplayEngine(path))


async def test_a_cancelled_reader_aborts_the_real_engine(path: Path) -> None:
    real = FakeEngine(["a"] * 9, delay_s=0.05)
    task = asyncio.create_task(text(RecordingEngine(real, path)))
    await asyncio.sleep(0.12)
    task.cancel()
    await asyncio.wait([task])
    assert real.aborted == ["r"]
    assert [episode.end for episode in tape.read(path)] == ["aborted"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda output: output.pop("outputs"),
        lambda output: output.pop("delay_s"),
        lambda output: output["outputs"][0].pop("token_ids"),
        lambda output: output["outputs"].append("nonsense"),
    ],
)
async def test_an_answer_that_an_edit_broke_is_named_with_its_line(
    path: Path, edit: Any
) -> None:
    await outputs(RecordingEngine(FakeEngine("a b"), path))
    heading, line = path.read_text().splitlines()
    entry = json.loads(line)
    edit(entry["outputs"][1])
    path.write_text(f"{heading}\n{json.dumps(entry)}\n")
    stream = ReplayEngine(path).generate(PROMPT, params(), "r")
    assert (await anext(stream)).outputs[0].text == "a"
    with pytest.raises(CassetteError, match="an output cannot be read") as caught:
        await anext(stream)
    assert caught.value.line == 2


async def test_secrets_reach_no_cassette(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recording = RecordingEngine(FakeEngine(["sk-abcdefghijk", "lmnopqrstuvwx"]), path)
    await text(recording, prompt("harmless"))
    assert not path.exists()
    assert "repeats a secret" in caplog.text
    recording = RecordingEngine(FakeEngine("fine"), path)
    await text(recording, prompt(f"use {KEY}"))
    assert KEY not in path.read_text()
    assert str([*KEY.encode()])[1:-1] not in path.read_text()
    other_key = KEY.replace("a", "z")
    assert await text(ReplayEngine(path), prompt(f"use {other_key}")) == "fine"


async def test_a_recorded_engine_is_its_engine_in_all_else(path: Path) -> None:
    real = FakeEngine()
    recording = RecordingEngine(real, path)
    assert isinstance(recording, vllm_api.EngineClient)
    assert await recording.add_lora(vllm_api.LoRARequest("sql", 1, "/lora"))
    assert real.loras
    real.die()
    assert recording.errored
    with pytest.raises(vllm_api.EngineDeadError):
        await recording.check_health()


async def test_a_replaying_engine_can_be_aborted_and_can_die(path: Path) -> None:
    await outputs(RecordingEngine(FakeEngine(["a"] * 5, delay_s=0.05), path))
    engine = ReplayEngine(path, delays=True)
    stream = engine.generate(PROMPT, params(), "r")
    await anext(stream)
    await engine.abort("r")
    (last,) = [output async for output in stream]
    assert last.outputs[0].finish_reason == "abort"
    assert engine.aborted == ["r"]
    stream = engine.generate(PROMPT, params(), "s")
    await anext(stream)
    engine.die()
    with pytest.raises(vllm_api.EngineDeadError):
        await anext(stream)
    assert [request.state for request in engine.requests] == ["aborted", "failed"]


async def test_what_a_cassette_cannot_hold_is_refused_by_name(path: Path) -> None:
    class Routing(FakeEngine):
        async def generate(self, *args: Any, **kwargs: Any) -> Any:
            async for output in super().generate(*args, **kwargs):
                output.outputs[0].routed_experts = [1]
                yield output

    with pytest.raises(CassetteError, match="cannot hold routed_experts"):
        await outputs(RecordingEngine(Routing("a"), path))
