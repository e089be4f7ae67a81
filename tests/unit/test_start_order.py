"""The graph of a model starts in a topological order, whatever the timing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from containers import ModelContainer
from containers.graph import Graph

pytestmark = pytest.mark.heavy

N_RUNS = 20

SCRIPT = """
import asyncio, json, random, sys
from containers import ModelContainer, ModelSettings, running
from containers.graph import Graph
from containers.lifecycle import Resource

log = []

class Loaded:
    def __init__(self, name):
        self.name, self.ready = name, False

def builder(name):
    async def build(**injected):
        log.append(("start", name))
        parts = [part for part in injected.values() if isinstance(part, Loaded)]
        assert all(part.ready for part in parts), f"{name} saw one half built"
        made = Loaded(name)
        await asyncio.sleep(random.uniform(0, 0.02))
        made.ready = True
        log.append(("ready", name))
        yield made
        log.append(("stop", name))
    return build

container = ModelContainer(settings=ModelSettings(name="m", source="a/b"))
for name, provider in container.providers.items():
    if isinstance(provider, Resource):
        provider.set_provides(builder(name))

async def main():
    async with running(container):
        pass

asyncio.run(main())
graph = Graph.of(container)
edges = [[d, n] for n in graph.nodes for d in graph.upstream([n]) if d != n]
json.dump({"log": log, "edges": edges}, sys.stdout)
"""


def run_once(seed: int) -> dict[str, list[list[str]]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, list[list[str]]] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def runs() -> list[dict[str, list[list[str]]]]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run_once, range(N_RUNS)))


def test_each_resource_starts_after_its_dependencies_are_ready(
    runs: list[dict[str, list[list[str]]]],
) -> None:
    for run in runs:
        place = {(event, name): i for i, (event, name) in enumerate(run["log"])}
        resources = {name for _, name in run["log"]}
        checked = [edge for edge in run["edges"] if edge[0] in resources]
        assert len(checked) > len(resources)
        for dependency, dependent in checked:
            assert place["ready", dependency] < place["start", dependent]
            assert place["stop", dependent] < place["stop", dependency]


def test_every_resource_starts_and_stops_once(
    runs: list[dict[str, list[list[str]]]],
) -> None:
    for run in runs:
        events = [tuple(event) for event in run["log"]]
        assert (
            len(events)
            == len(set(events))
            == 3 * len(Graph.of(ModelContainer()).resources)
        )
