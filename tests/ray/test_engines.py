"""The models of ``config.yaml`` behind Ray Serve, with their real engines."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml

from tests.engine.corpus import SAMPLES, Sample
from tests.engine.masking import comparable, differences, kind_of
from tests.engine.servers import CHAT, CONFIG, serve
from tests.ray.cluster import Cluster, client, cluster, eventually

pytestmark = [
    pytest.mark.engine,
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("ray"),
]

PATH = "/v1/chat/completions"
FRANCE = {
    "model": CHAT["name"],
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "max_tokens": 8,
}
_UUID = re.compile(r"\b([0-9a-f]{8})-(\w{4})-(\w{4})-(\w{4})-(\w{12})\b")

OTHERWISE = {
    "/invocations: a list": "it lists what all models take; here one knows itself",
    "batch: streamed": "vLLM gives what came last, which is more or less by timing",
}
"""Samples that are not compared, and why."""


@pytest.fixture(scope="module")
def plain_answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the plain server answers to the corpus, by the sample's name."""
    server = serve(tmp_path_factory.mktemp("plain"))
    try:
        url = server.wait_until_ready()
        with httpx.Client(base_url=url, timeout=120) as asking:
            answers = {each.name: comparable(each.send(asking)) for each in SAMPLES}
        assert server.stop() == 0, server.log
    finally:
        server.kill()
        server.left_behind()
    return answers


@pytest.fixture(scope="module")
def served(
    plain_answers: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """The same models behind Ray Serve, once the plain server has ended."""
    config = yaml.safe_load(CONFIG.read_text())
    config["ray"] = {"health_check_period_s": 1.0}
    with cluster(tmp_path_factory.mktemp("ray"), config) as made:
        yield made


@pytest.fixture(scope="module")
def ask(served: Cluster) -> Iterator[httpx.Client]:
    with client(served) as made:
        eventually(lambda: len(made.get("/v1/models").json().get("data", ())) > 1, 120)
        yield made


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_answers_equal_those_of_the_plain_server(
    sample: Sample, plain_answers: dict[str, Any], ask: httpx.Client
) -> None:
    if sample.name in OTHERWISE:
        pytest.skip(OTHERWISE[sample.name])
    mine = comparable(_with_own_ids(sample.send(ask)))
    theirs = plain_answers[sample.name]
    found = [*differences(mine, theirs, kind_of(theirs))]
    assert not found, "\n".join([sample.name, *found])


def test_models_are_listed_as_the_plain_server_lists_them(ask: httpx.Client) -> None:
    names = [card["id"] for card in ask.get("/v1/models").json()["data"]]
    assert names == [name for model in (CHAT,) for name in [model["name"]]] + ["minilm"]


def test_a_killed_engine_has_its_replica_replaced_and_errors_are_clean(
    ask: httpx.Client, served: Cluster
) -> None:
    (before,) = served.replicas(CHAT["name"])
    (engine,) = [
        each for each in before.children(recursive=True) if "EngineCore" in _title(each)
    ]
    engine.send_signal(signal.SIGKILL)
    answers: list[httpx.Response] = []

    def is_answered() -> bool:
        answers.append(ask.post(PATH, json=FRANCE))
        return answers[-1].status_code == httpx.codes.OK

    eventually(is_answered, 180)
    assert "Paris" in answers[-1].text
    (after,) = served.replicas(CHAT["name"])
    assert after.pid != before.pid
    for answer in answers[:-1]:
        assert answer.status_code in (500, 503), answer.text
        assert answer.json()["error"]["code"] == answer.status_code
    eventually(lambda: not engine.is_running(), 20)


def _with_own_ids(answer: httpx.Response) -> httpx.Response:
    """The answer with ids as vLLM makes them: Ray's proxy gives each request one."""
    content = _UUID.sub(r"\1\2\3\4\5", answer.text) if answer.text else ""
    return httpx.Response(
        answer.status_code,
        content=content.encode(),
        headers={
            name: value
            for name, value in answer.headers.items()
            if name == "content-type"
        },
    )


def _title(process: Any) -> str:
    return " ".join([process.name(), *process.cmdline()])
