"""A local Ray cluster serves a model as a plain server does, over a double."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import openai
import pytest

from tests.ray.cluster import Cluster, client, cluster, doubles, eventually
from tests.ray.doubles import ABORTED, DIE, SLOW

pytestmark = [
    pytest.mark.engine,
    pytest.mark.soak,
    pytest.mark.timeout(400),
    pytest.mark.xdist_group("ray"),
]
CHAT = "/v1/chat/completions"
ADMIN = {"Authorization": "Bearer admin"}


@pytest.fixture(scope="module")
def aborted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("aborted") / "pid"


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, aborted: Path
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("ray")
    config = doubles(folder)
    config["server"]["admin_keys"] = ["admin"]
    os.environ[ABORTED] = str(aborted)
    try:
        with cluster(folder, config) as made:
            yield made
    finally:
        del os.environ[ABORTED]


@pytest.fixture
def ask(served: Cluster) -> Iterator[httpx.Client]:
    with client(served) as made:
        yield made


def body(prompt: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}], **more}


def said(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["message"]["content"])


def test_openais_client_is_answered(served: Cluster) -> None:
    asked = openai.OpenAI(base_url=f"{served.url}/v1", api_key="none")
    (model,) = asked.models.list().data
    answer = asked.chat.completions.create(model=model.id, **body("Hello!"))
    (replica,) = served.replicas()
    assert answer.choices[0].message.content == str(replica.pid)


def test_tokens_come_as_they_are_made(ask: httpx.Client) -> None:
    times: list[float] = []
    request = body(SLOW, stream=True, max_tokens=10)
    with ask.stream("POST", CHAT, json=request) as answer:
        times += [
            time.monotonic()
            for line in answer.iter_lines()
            if '"content":"' in line and '"content":""' not in line
        ]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert len(gaps) == 9
    assert sorted(gaps)[4] > 0.05


def test_a_client_that_goes_away_aborts_its_generation(
    ask: httpx.Client, served: Cluster, aborted: Path
) -> None:
    aborted.unlink(missing_ok=True)
    with ask.stream("POST", CHAT, json=body(SLOW, stream=True)) as answer:
        next(answer.iter_lines())
    eventually(aborted.exists, 5)
    aborted.unlink()
    with pytest.raises(httpx.ReadTimeout):
        ask.post(CHAT, json=body(SLOW), timeout=1.0)
    eventually(aborted.exists, 5)


def test_refusals_are_those_of_a_plain_server(ask: httpx.Client) -> None:
    unknown = ask.post(CHAT, json=body("Hello!", model="other"))
    assert unknown.status_code == 404
    assert unknown.json()["error"]["type"] == "NotFoundError"
    assert ask.post(CHAT, json={"messages": 1}).status_code == 400
    assert ask.get("/no/such/path").status_code == 404
    assert ask.post("/admin/reload").status_code == 401
    assert ask.post("/admin/reload", headers=ADMIN).status_code == 409


def test_a_large_body_reaches_the_model(ask: httpx.Client, served: Cluster) -> None:
    (replica,) = served.replicas()
    content = json.dumps(body("Hello!")).encode() + b" " * 6 * 2**20
    headers = {"Content-Type": "application/json"}
    assert said(ask.post(CHAT, content=content, headers=headers)) == str(replica.pid)


def test_an_admins_request_reaches_the_replica(ask: httpx.Client) -> None:
    answer = ask.post("/reset_prefix_cache", headers=ADMIN)
    assert answer.status_code == 200, answer.text
    assert ask.get("/metrics").status_code == 200
    assert 'replica="' in ask.get("/metrics").text


def test_new_settings_reach_the_replica_that_is_there(
    ask: httpx.Client, served: Cluster
) -> None:
    (before,) = served.replicas()
    with served.changed() as config:
        model = config["models"][0]
        model["names"] = ["tiny", "alias"]
        model["chat"] = {"template": "{{ messages[0].content }} " + SLOW}
        served.deploy_again()
        answer = ask.post(CHAT, json=body("Hello!", model="alias", max_tokens=3))
        assert said(answer).startswith("0 1 2")
        model["chat"] = {"template": "{{ messages[0].content"}
        served.deploy_again()
        answer = ask.post(CHAT, json=body("Hello!", model="alias", max_tokens=3))
        assert said(answer).startswith("0 1 2")
    assert said(ask.post(CHAT, json=body("Hello!"))) == str(before.pid)
    assert ask.post(CHAT, json=body("Hello!", model="alias")).status_code == 404


def test_a_new_prefix_answers_as_soon_as_it_is_told(
    ask: httpx.Client, served: Cluster
) -> None:
    with served.changed() as config:
        for prefix in ("/one", "/two/three"):
            config["ray"]["route_prefix"] = prefix
            served.deploy_again()
            assert said(ask.post(f"{prefix}{CHAT}", json=body("Hello!")))
            assert ask.post(CHAT, json=body("Hello!")).status_code == 404
    assert said(ask.post(CHAT, json=body("Hello!")))


def test_another_name_is_refused_and_signals_go_on_being_heard(
    ask: httpx.Client, served: Cluster
) -> None:
    with served.changed() as config:  # in the end it has to deploy again
        config["ray"]["application"] = "another"
        served.tell()
        served.wait_for(lambda: "ray.application: has changed" in served.log)
    assert said(ask.post(CHAT, json=body("Hello!")))


def test_a_dead_engine_has_its_replica_replaced(
    ask: httpx.Client, served: Cluster
) -> None:
    (before,) = served.replicas()
    died = ask.post(CHAT, json=body(DIE))
    assert died.status_code in (500, 503)
    assert died.json()["error"]["code"] == died.status_code
    answers = _until_answered(ask)
    assert said(answers[-1]) != str(before.pid)
    _are_clean(answers[:-1])


def test_a_killed_replica_is_replaced(ask: httpx.Client, served: Cluster) -> None:
    (before,) = served.replicas()
    events: list[str] = []
    with ask.stream("POST", CHAT, json=body(SLOW, stream=True)) as answer:
        for line in answer.iter_lines():
            events.append(line)
            if len(events) == 5:
                before.send_signal(signal.SIGKILL)
    events = [each for each in events if each]
    assert events[-1] == "data: [DONE]"
    assert '"code":503' in events[-2].replace(" ", "")
    answers = _until_answered(ask)
    assert said(answers[-1]) != str(before.pid)
    _are_clean(answers[:-1])


def test_no_request_is_lost_while_replicas_come_and_go(
    ask: httpx.Client, served: Cluster
) -> None:
    over, failures, n_answers = Event(), [], 0

    def load() -> None:
        nonlocal n_answers
        with client(served) as asking:
            while not over.is_set():
                answer = asking.post(CHAT, json=body(SLOW, max_tokens=5))
                n_answers += 1
                if answer.status_code != 200:
                    failures.append(answer.text)

    threads = [Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        with served.changed() as config:
            config["models"][0]["ray"]["replicas"] = 2
            served.deploy_again()
            assert len(served.replicas()) == 2
            pids = {said(ask.post(CHAT, json=body("Hello!"))) for _ in range(30)}
            assert len(pids) == 2
        eventually(lambda: len(served.replicas()) == 1)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert n_answers > 20


def _until_answered(ask: httpx.Client) -> list[httpx.Response]:
    answers = []
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        answers.append(ask.post(CHAT, json=body("Hello!")))
        if answers[-1].status_code == 200:
            return answers
        time.sleep(0.1)
    pytest.fail(f"never answered: {answers[-1].text}")


def _are_clean(answers: list[httpx.Response]) -> None:
    for answer in answers:
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == 503
        assert answer.headers["retry-after"]
