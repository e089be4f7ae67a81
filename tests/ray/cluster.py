"""``vllm-di serve --ray`` in a process of its own, and the replicas it has made."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml

from containers.testing import tiny_model
from tests.engine.servers import Server, free_port

TIMEOUT_S = 60.0
LOOK_S = 0.1
APPLICATION = "vllm-di"


class Cluster(Server):
    """A Ray cluster of its own on this machine, with our application in it.

    Args:
        folder: Where its config and log go.
        config: The settings; the port is put in.
    """

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.config = config
        self._path = folder / "config.yaml"
        config.setdefault("server", {})["port"] = free_port()
        self._write()
        super().__init__(
            [sys.executable, "-m", "app", "serve", "--ray", "--config", self._path],
            folder / "ray.log",
            url=f"http://127.0.0.1:{config['server']['port']}",
        )

    def _write(self) -> None:
        self._path.write_text(yaml.safe_dump(self.config))

    def deploy_again(self) -> None:
        """Deploy the settings as they are now, and wait until that is done."""
        n_before = self.log.count("deployed again")
        self.tell()
        self.wait_for(lambda: self.log.count("deployed again") > n_before)

    def tell(self) -> None:
        """Have the settings read as they are now."""
        self._write()
        self.process.send_signal(signal.SIGHUP)

    @contextmanager
    def changed(self) -> Iterator[dict[str, Any]]:
        """Settings to change and deploy; as they were, they are deployed in the end."""
        before = deepcopy(self.config)
        try:
            yield self.config
        finally:
            self.config = before
            self.deploy_again()

    def replicas(self, deployment: str = "tiny") -> list[psutil.Process]:
        """Processes of a deployment's replicas."""
        title = f"ray::ServeReplica:{APPLICATION}:{deployment}"
        return [
            process
            for process in psutil.Process(self.process.pid).children(recursive=True)
            if title in _title(process)
        ]

    def engines(self) -> list[psutil.Process]:
        """Processes of engines."""
        return [
            process
            for process in psutil.Process(self.process.pid).children(recursive=True)
            if "EngineCore" in _title(process)
        ]


@contextmanager
def cluster(folder: Path, config: dict[str, Any]) -> Iterator[Cluster]:
    """A cluster that answers; in the end it must stop cleanly."""
    made = Cluster(folder, config)
    offspring: list[psutil.Process] = []
    try:
        made.wait_until_ready()
        yield made
        offspring = psutil.Process(made.process.pid).children(recursive=True)
        assert made.stop() == 0, made.log
    finally:
        if made.process.poll() is None:
            offspring = psutil.Process(made.process.pid).children(recursive=True)
        made.kill()
        left = left_of(offspring)
    assert not left, left


def left_of(offspring: list[psutil.Process]) -> list[str]:
    """Processes that outlived their cluster, Ray's own agents excepted.

    Those look every few seconds whether their node is there, and end by themselves;
    nobody waits for that.
    """
    agents = [each for each in offspring if "Agent" in _title(each)]
    _, left = psutil.wait_procs([*{*offspring} - {*agents}], timeout=20)
    titles = [_title(process) for process in left]
    for process in (*left, *agents):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return [title for title in titles if title and "Agent" not in title]


def doubles(folder: Path, **ray: Any) -> dict[str, Any]:
    """Settings of a tiny model whose engine is a double.

    Args:
        folder: Where the model goes.
        ray: The model's ``ray`` section.
    """
    source = str(tiny_model(folder / "tiny"))
    return {
        "server": {"drain_timeout_s": 5.0},
        "ray": {
            "container": "tests.ray.doubles:container",
            "ingress": {"num_cpus": 0.1},
            "health_check_period_s": 1.0,
        },
        "models": [{"name": "tiny", "source": source, "ray": {"num_cpus": 0.1, **ray}}],
    }


def eventually(condition: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(LOOK_S)


def client(of: Cluster) -> httpx.Client:
    """HTTP client of a cluster's application."""
    return httpx.Client(base_url=of.url, timeout=TIMEOUT_S)


def _title(process: psutil.Process) -> str:
    try:
        return " ".join([process.name(), *process.cmdline()])
    except psutil.Error:  # it has just ended
        return ""


os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
