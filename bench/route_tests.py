"""How long a user's route test takes with the kit.

``python -m bench.route_tests`` runs 200 tests of a route of one's own over a
``FakeEngine``, each with a container, an app and a client of its own, in a pytest of
this process, after vLLM's import. It prints milliseconds a test: set-up, call and
tear-down together.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pytest

N_TESTS = 200

TESTS = f"""
import pytest
from fastapi import FastAPI
from app import ServingChatDep, include_serving
from containers.vllm_api import ChatCompletionRequest

@pytest.fixture
def serving_app(serving_container):
    app = FastAPI()

    @app.get("/capital/{{country}}")
    async def capital(country: str, chat: ServingChatDep) -> str:
        content = f"What is the capital of {{country}}?"
        request = ChatCompletionRequest(messages=[dict(role="user", content=content)])
        answer = await chat.create_chat_completion(request)
        return answer.choices[0].message.content

    include_serving(app, serving_container)
    return app

@pytest.mark.parametrize("number", range({N_TESTS}))
async def test_capital(serving_client, serving_engine, number):
    answer = await serving_client.get(f"/capital/{{number}}")
    assert answer.json() == "Paris."
    assert str(number) in serving_engine.requests[0].prompt
"""


class Durations:
    """Seconds of each test that passed in all its phases."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase."""
        name = report.nodeid
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        if not report.passed:
            self._failed.add(name)

    def line(self) -> str:
        """The figures, without the first test, which loads what all share."""
        first, *rest = [round(s * 1000, 1) for s in self._seconds.values()]
        rest.sort()
        return (
            f"{len(rest) + 1} tests, {len(self._failed)} failed; ms a test: "
            f"median {statistics.median(rest):.1f}, mean {statistics.mean(rest):.1f}, "
            f"90 % under {rest[int(len(rest) * 0.9)]:.1f}, most {rest[-1]:.1f} "
            f"(the first one {first:.0f})"
        )


def main() -> int:
    """Run the tests and print the figures."""
    for name in ("VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "HF_HUB_OFFLINE"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    began = time.perf_counter()
    from containers import vllm_api

    for name in ("AsyncLLM", "OpenAIServingChat", "OnlineRenderer"):
        getattr(vllm_api, name)
    print(f"importing vLLM took {time.perf_counter() - began:.1f} s")
    durations = Durations()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_routes.py").write_text(TESTS, encoding="utf-8")
        Path(folder, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        options = ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider"]
        options += ["-o", "asyncio_mode=auto", "-p", "no:randomly", "-p", "no:xdist"]
        options += ["-o", "asyncio_default_fixture_loop_scope=function"]
        options += ["--rootdir", folder, "-W", "ignore", folder]
        options += ["-p", "pytest_vllm_di"]
        status = pytest.main(options, plugins=[durations])
    print(durations.line())
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
