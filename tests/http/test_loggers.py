"""Levels of loggers, looked at and set while the server runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from dependency_injector.containers import Container
from starlette.testclient import TestClient

from tests.http.conftest import app_of

PATH = "/admin/loggers"
ADMIN = {"X-Api-Key": "admin"}
OURS = "vllm_di.access"


@pytest.fixture
def client(serving_container: Container) -> Iterator[TestClient]:
    logger = logging.getLogger(OURS)
    before = logger.level
    app = app_of(serving_container, api_keys=["user"], admin_keys=["admin"])
    with TestClient(app) as client:
        yield client
    logger.setLevel(before)


def test_a_level_counts_from_then_on_until_it_is_taken_back(client: TestClient) -> None:
    logger = logging.getLogger(OURS)
    set_ = client.put(PATH, json={OURS: "debug"}, headers=ADMIN)
    assert set_.json()["loggers"][OURS] == "debug"
    assert logger.isEnabledFor(logging.DEBUG)
    assert client.get(PATH, headers=ADMIN).json() == set_.json()
    assert OURS not in client.put(PATH, json={OURS: None}, headers=ADMIN).text
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    "body", [[], {}, {OURS: "loud"}, {OURS: 10}, {OURS: []}, {"root": None}, "x", None]
)
def test_what_is_no_level_changes_nothing(client: TestClient, body: Any) -> None:
    before = client.get(PATH, headers=ADMIN).json()
    refused = client.put(PATH, json=body, headers=ADMIN)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"]
    assert client.get(PATH, headers=ADMIN).json() == before


@pytest.mark.parametrize("name", ["root", "uvicorn", "vllm_dish", "appetite"])
def test_where_logs_are_somebody_elses_only_ours_are_set(
    client: TestClient, name: str
) -> None:
    refused = client.put(PATH, json={OURS: "debug", name: "debug"}, headers=ADMIN)
    assert refused.status_code == 400
    assert logging.getLogger(OURS).level == logging.NOTSET


def test_an_api_key_sets_none(client: TestClient) -> None:
    user = {"X-Api-Key": "user"}
    assert client.put(PATH, json={OURS: "debug"}, headers=user).status_code == 403
    assert client.get(PATH, headers=user).status_code == 403
