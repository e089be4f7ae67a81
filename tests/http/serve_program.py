"""``vllm-di serve`` over a double of the engine."""

from __future__ import annotations

import sys

from dependency_injector import providers

from app.cli import main
from containers import ModelContainer
from containers.testing import FakeEngine

if __name__ == "__main__":
    engines = providers.Callable(lambda: FakeEngine("a b c"))
    with ModelContainer.engine.override(engines):
        status = main(["serve", *sys.argv[1:]])
    sys.exit(status)
