"""What the fake engine pools has the shape vLLM's serving objects take."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from containers import ModelContainer, ModelSettings, running, vllm_api
from containers.errors import InjectionError
from containers.testing import FakeEngine
from containers.vllm_api.client import EngineView

IDS = (7, 8, 9)


async def pooled(
    engine: Any, task: Any = "embed", ids: Sequence[int] = IDS, **params: Any
) -> Any:
    prompt = {"type": "token", "prompt_token_ids": list(ids)}
    pooling_params = vllm_api.PoolingParams(task=task, **params)
    outputs = [each async for each in engine.encode(prompt, pooling_params, "e")]
    return outputs[-1]


async def numbers(engine: Any, *args: Any, **kwargs: Any) -> Any:
    return (await pooled(engine, *args, **kwargs)).outputs.data.tolist()


async def test_an_embedding_is_a_unit_vector_of_the_prompt() -> None:
    from vllm.outputs import EmbeddingOutput

    engine = FakeEngine()
    output = await pooled(engine)
    vector = EmbeddingOutput.from_base(output.outputs).embedding
    assert len(vector) == 8
    assert math.isclose(math.hypot(*vector), 1, rel_tol=1e-6)
    assert await numbers(engine) == vector
    assert await numbers(engine, ids=[3]) != vector
    assert output.finished
    assert engine.requests[0].pooling_params.task == "embed"
    assert {request.state for request in engine.requests} == {"finished"}


@pytest.mark.parametrize("dimensions", [1, 5, 8, 384])
async def test_an_embedding_has_the_dimensions_asked_for(dimensions: int) -> None:
    vector = await numbers(FakeEngine(), dimensions=dimensions)
    assert len(vector) == dimensions
    assert math.isclose(math.hypot(*vector), 1, rel_tol=1e-6)


@pytest.mark.parametrize("num_labels", [2, 3])
async def test_classes_are_probabilities(num_labels: int) -> None:
    from vllm.outputs import ClassificationOutput

    output = await pooled(FakeEngine(num_labels=num_labels), "classify")
    probs = ClassificationOutput.from_base(output.outputs).probs
    assert len(probs) == num_labels
    assert math.isclose(sum(probs), 1, rel_tol=1e-6)
    assert min(probs) > 0


async def test_one_class_is_a_score() -> None:
    from vllm.outputs import ScoringOutput

    output = await pooled(FakeEngine(num_labels=1), "classify")
    assert 0 < ScoringOutput.from_base(output.outputs).score < 1


@pytest.mark.parametrize(("task", "size"), [("token_embed", 8), ("token_classify", 3)])
async def test_tasks_of_tokens_give_a_row_for_each(task: str, size: int) -> None:
    rows = await numbers(FakeEngine(num_labels=3), task)
    assert [len(row) for row in rows] == [size] * len(IDS)
    assert rows[0] != rows[1]


@pytest.mark.parametrize("task", [None, "plugin", "embed&token_classify"])
async def test_any_other_task_gives_a_vector(task: str | None) -> None:
    assert len(await numbers(FakeEngine(), task)) == 8


@pytest.mark.parametrize("task", ["embed", "classify", "token_embed"])
async def test_without_activation_the_numbers_are_raw(task: str) -> None:
    found = [
        await numbers(FakeEngine(), task, use_activation=activation)
        for activation in (None, True, False)
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("told", "given"),
    [
        ([0.5], [0.5]),
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
        (lambda request: [float(len(request.prompt_token_ids))], [3.0]),
    ],
)
async def test_it_gives_what_it_was_told_to(told: Any, given: Any) -> None:
    assert await numbers(FakeEngine(pooled=told)) == given
    cut = await numbers(FakeEngine(pooled=told), dimensions=1)
    assert cut == (given[:1] if isinstance(given[0], float) else [[1.0], [3.0]])


async def test_it_may_have_to_wait_for_what_it_is_told() -> None:
    async def pool(request: Any) -> list[float]:
        await asyncio.sleep(0)
        return [float(request.prompt_token_ids[0])]

    assert await numbers(FakeEngine(pooled=pool)) == [7.0]


@pytest.mark.parametrize(
    "nonsense", [0.5, "0.5", {"a": 1}, [], ["a"], [[1.0], [1.0, 2.0]], [[]], [[[1.0]]]]
)
async def test_what_is_no_vector_is_refused_by_name(nonsense: Any) -> None:
    with pytest.raises(InjectionError, match=r"pooled=\.\.\.\) takes a list of nu"):
        FakeEngine(pooled=nonsense)
    with pytest.raises(InjectionError, match=r"pooled=\.\.\.\) takes a list of nu"):
        await pooled(FakeEngine(pooled=lambda request: nonsense))


async def test_pooling_fails_and_dies_too() -> None:
    with pytest.raises(vllm_api.EngineGenerateError):
        await pooled(FakeEngine(fails=KeyError("boom")))

    async def never(request: Any) -> list[float]:
        await asyncio.sleep(60)
        return [1.0]

    for engine in (FakeEngine(delay_s=60), FakeEngine(pooled=never)):
        running = asyncio.create_task(pooled(engine))
        await asyncio.sleep(0.01)
        engine.die()
        with pytest.raises(vllm_api.EngineDeadError):
            await asyncio.wait_for(running, 2)


async def test_an_aborted_pooling_is_empty() -> None:
    engine = FakeEngine(delay_s=60)
    running = asyncio.create_task(pooled(engine))
    await asyncio.sleep(0.01)
    await engine.abort("e")
    assert (await asyncio.wait_for(running, 2)).outputs.data.tolist() == []
    assert engine.aborted == ["e"]


# vLLM's own serving objects over it.


@pytest.fixture(scope="module")
def settings(tiny_folder: Path) -> ModelSettings:
    return ModelSettings.model_validate(
        {
            "name": "tiny",
            "source": str(tiny_folder),
            "engine": {"enforce_eager": True, "runner": "pooling"},
        }
    )


async def served(
    settings: ModelSettings,
    engine: FakeEngine,
    kind: Any,
    request: Any,
    **options: Any,
) -> Any:
    """The body with which one of vLLM's pooling serving objects answers."""
    container = ModelContainer(settings=settings)
    container.engine.override(engine)
    async with running(container, "models") as model:
        view = EngineView(
            engine, renderer=model.renderer, vllm_config=model.vllm_config
        )
        template = vllm_api.ChatTemplateConfig(
            chat_template=None,
            chat_template_content_format="auto",
            trust_request_chat_template=False,
        )
        serving = kind(
            view,
            model.models,
            request_logger=None,
            chat_template_config=template,
            **options,
        )
        return json.loads((await serving(request)).body)


async def test_vllm_serves_its_embeddings(settings: ModelSettings) -> None:
    from vllm.entrypoints.pooling.embed.protocol import EmbeddingCompletionRequest
    from vllm.entrypoints.pooling.embed.serving import ServingEmbedding

    engine = FakeEngine()
    request = EmbeddingCompletionRequest(model="tiny", input=["a", "b", "a"])
    body = await served(settings, engine, ServingEmbedding, request)
    first, second, third = (each["embedding"] for each in body["data"])
    assert first == third != second
    n_tokens = sum(len(each.prompt_token_ids) for each in engine.requests)
    assert body["usage"]["prompt_tokens"] == n_tokens


async def test_vllm_compares_its_embeddings(settings: ModelSettings) -> None:
    from vllm.entrypoints.pooling.scoring.protocol import ScoreQueriesDocumentsRequest
    from vllm.entrypoints.pooling.scoring.serving import ServingScores

    request = ScoreQueriesDocumentsRequest(queries="a", documents=["a", "b"])
    body = await served(
        settings, FakeEngine(), ServingScores, request, supported_tasks=("embed",)
    )
    same, other = (each["score"] for each in body["data"])
    assert math.isclose(same, 1, rel_tol=1e-5)
    assert other < 1


@pytest.mark.parametrize("flash", [False, True])
async def test_vllm_compares_its_tokens(
    settings: ModelSettings, *, flash: bool
) -> None:
    from vllm.entrypoints.pooling.scoring.protocol import RerankRequest
    from vllm.entrypoints.pooling.scoring.serving import ServingScores

    request = RerankRequest(query="sea and wind", documents=["fox", "sea and wind"])
    engine = FakeEngine()
    body = await served(
        settings,
        engine,
        ServingScores,
        request,
        supported_tasks=("token_embed",),
        enable_flash_late_interaction=flash,
    )
    best, *_ = body["results"]
    assert best["index"] == 1
    n_tokens = len(engine.requests[0].prompt_token_ids)
    assert math.isclose(best["relevance_score"], n_tokens, rel_tol=1e-5)


async def test_vllm_serves_its_classes(settings: ModelSettings) -> None:
    from vllm.entrypoints.pooling.classify.protocol import (
        ClassificationCompletionRequest,
    )
    from vllm.entrypoints.pooling.classify.serving import ServingClassification

    request = ClassificationCompletionRequest(model="tiny", input=["a"])
    engine = FakeEngine(pooled=[0.1, 0.9])
    body = await served(settings, engine, ServingClassification, request)
    (found,) = body["data"]
    assert found["num_classes"] == 2
    assert found["label"] == "LABEL_1"


async def test_vllm_pools_its_rows(settings: ModelSettings) -> None:
    from vllm.entrypoints.pooling.pooling.protocol import PoolingCompletionRequest
    from vllm.entrypoints.pooling.pooling.serving import ServingPooling

    request = PoolingCompletionRequest(model="tiny", input=["sea"])
    engine = FakeEngine()
    body = await served(
        settings, engine, ServingPooling, request, supported_tasks=("token_embed",)
    )
    (found,) = body["data"]
    assert len(found["data"]) == len(engine.requests[0].prompt_token_ids)


async def test_what_it_can_do_is_left_to_the_configuration() -> None:
    assert await FakeEngine().get_supported_tasks() == ()
    engine = FakeEngine(supported_tasks=["embed", "token_embed"])
    assert await engine.get_supported_tasks() == ("embed", "token_embed")
