"""A server of two models over doubles, whose engines measure what a test says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dependency_injector import providers
from prometheus_client import Counter, Gauge

from app import create_app
from app.service import STATE_ATTRIBUTE, Service
from containers import ApplicationContainer, ModelContainer, Settings
from containers.lifecycle import Resource
from containers.testing import FakeEngine, tiny_model
from containers.vllm_api.metrics import take_metrics
from tests.http.conftest import served

KEY = "mighty"
ADMIN = {"Authorization": f"Bearer {KEY}"}
ANSWER = "The capital of France is Paris."
GAUGES = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
COUNTERS = ("prompt_tokens", "generation_tokens")


class Measured:
    """The metrics of one engine, as vLLM registers them."""

    def __init__(self, model: str) -> None:
        label = ["model_name"]
        self._by_name: dict[str, Any] = {
            **{name: Gauge(f"vllm:{name}", name, label) for name in GAUGES},
            **{name: Counter(f"vllm:{name}", name, label) for name in COUNTERS},
        }
        self._model = model
        for each in self._by_name.values():
            each.labels(model)
        self._metrics = take_metrics(model)

    def add(self, **values: float) -> None:
        """Add to what it measures."""
        for name, value in values.items():
            self._by_name[name].labels(self._model).inc(value)

    def discard(self) -> None:
        self._metrics.discard()


class Doubles:
    """The app, its settings file, and what its engines are told to do.

    Args:
        folder: An empty folder for the model and the settings.
        models: Entries of ``models``, the first of which measures.
        server: Server settings.
    """

    def __init__(self, folder: Path, *models: dict[str, Any], **server: Any) -> None:
        self.file = folder / "config.yaml"
        self.source = str(tiny_model(folder / "model"))
        self.engines: dict[str, list[FakeEngine]] = {}
        self.script: Any = ANSWER
        self.delay_s = 0.0
        self.fails: list[Exception] = []
        self.write(*(models or ({"name": "paris"},)), **server)
        load = partial(Settings.load, self.file, environment={})
        settings = load()
        containers = {each.name: self._container(each) for each in settings.models}
        self.application = ApplicationContainer(
            settings=settings, models=providers.Object(containers)
        )
        self.app = create_app(self.application, wait_until_ready=False)
        self.service.load_settings = load

    def write(self, *models: dict[str, Any], **server: Any) -> None:
        """Write the settings; a reload reads them."""
        usual = {"source": self.source, "engine": {"enforce_eager": True}}
        content = {
            "server": {"ui": True, **server},
            "models": [usual | model for model in models],
        }
        self.file.write_text(json.dumps(content, indent=1))

    @property
    def service(self) -> Service:
        service: Service = getattr(self.app.state, STATE_ATTRIBUTE)
        return service

    def _container(self, settings: Any) -> Any:
        container = ModelContainer(settings=settings)
        made = self.engines.setdefault(settings.name, [])

        async def engine() -> AsyncIterator[FakeEngine]:
            if self.fails:
                raise self.fails.pop()
            made.append(FakeEngine(self.script, delay_s=self.delay_s))
            yield made[-1]
            made[-1].shutdown()

        container.engine.override(Resource(engine))
        return container


@contextmanager
def serving(doubles: Doubles, *measured: str) -> Iterator[tuple[str, list[Measured]]]:
    """Serve on a real socket; gives its URL, and the metrics of these models."""
    with ExitStack() as ends:
        metrics = [Measured(name) for name in measured]
        for each in metrics:
            ends.callback(each.discard)
        url = ends.enter_context(served(doubles.app))
        ends.callback(setattr, doubles.service, "is_leaving", True)
        yield url, metrics
