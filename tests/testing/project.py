"""A user's project of tests, and pytest runs of it in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

WITHOUT_VLLM = """
import pytest
from containers.testing import FakeServingChat, fake_container

@pytest.fixture
def chat():
    return FakeServingChat("Paris.")

@pytest.fixture
def serving_container(chat):
    return fake_container(serving_chat=chat)

@pytest.fixture
def serving_app(serving_container):
    from fastapi import FastAPI
    from app import ServingChatDep, include_serving

    app = FastAPI()

    @app.get("/capital")
    async def capital(chat: ServingChatDep) -> str:
        from types import SimpleNamespace

        request = SimpleNamespace(messages=[])
        answer = await chat.create_chat_completion(request)
        return answer.choices[0].message.content

    include_serving(app, serving_container)
    return app
"""


@dataclass(frozen=True)
class Run:
    """What a pytest run printed."""

    printed: str

    def count(self, outcome: str) -> int:
        """Tests of an outcome, from the last line."""
        found = re.search(rf"(\d+) {outcome}", self.printed.splitlines()[-1])
        return int(found[1]) if found else 0

    def lines(self, start: str) -> list[str]:
        """Lines of the summary that begin with a word."""
        return [each for each in self.printed.splitlines() if each.startswith(start)]


def pytest_run(
    folder: Path, *options: str, plugins: str = "pytest_asyncio.plugin"
) -> Run:
    """Run pytest in a folder, with the kit's plugin and these others alone."""
    names = ["pytest_vllm_di", *plugins.split()]
    variables = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "200",
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-ra", "-W", "error"),
            *(each for name in names for each in ("-p", name)),
            *options,
        ],
        cwd=folder,
        env=inherited | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Run(done.stdout.strip())


def auto(scope: str = "function") -> list[str]:
    """Options of pytest-asyncio's auto mode."""
    return [
        *("-o", "asyncio_mode=auto"),
        *("-o", f"asyncio_default_fixture_loop_scope={scope}"),
        *("-o", f"asyncio_default_test_loop_scope={scope}"),
    ]
