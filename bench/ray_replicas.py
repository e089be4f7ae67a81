"""What more and more replicas cost each process of a Ray Serve application.

``python -m bench.ray_replicas [N ...]``: so many replicas over an instant engine, one
number after the other, as long as ``KEEP_FREE_GB`` of memory are left.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import psutil

from bench.load import Count, chat, load, processor_s
from tests.engine.servers import CHAT
from tests.ray.cluster import Cluster, cluster

KEEP_FREE_GB = 6.0
REPLICA_GB = 0.7
IDLE_S = 10.0
LOAD_S = 4.0
N_CLIENTS = 16
GB, MB = 1e9, 1e6
ROLES = {
    "replica": f"ray::ServeReplica:vllm-di:{CHAT['name']}",
    "ingress": "ray::ServeReplica:vllm-di:ingress",
    "proxy": "ray::ProxyActor",
    "controller": "ray::ServeController",
    "gcs": "gcs_server",
    "raylet": "raylet/raylet",
}


def processes(of: Cluster) -> dict[str, list[psutil.Process]]:
    """Processes by what they are for."""
    found: dict[str, list[psutil.Process]] = {role: [] for role in ROLES}
    for process in psutil.Process(of.process.pid).children(recursive=True):
        try:
            title = " ".join([process.name(), *process.cmdline()[:1]])
        except psutil.Error:  # it has just ended
            continue
        for role, part in ROLES.items():
            if part in title:
                found[role].append(process)
                break
    return found


def report(made: Cluster, n: int, seconds: float) -> None:
    """A row for this many replicas."""
    found = processes(made)
    before = {role: processor_s(group) for role, group in found.items()}
    time.sleep(IDLE_S)
    idle = {role: processor_s(group) - before[role] for role, group in found.items()}
    memory = found["replica"][0].memory_full_info().uss / MB
    print(
        f"{n:3} replicas, ready after {seconds:5.1f} s, {memory:5.0f} MB each, idle: "
        + ", ".join(f"{role} {100 * s / IDLE_S:.1f}%" for role, s in idle.items()),
        flush=True,
    )
    for name, request, unit in (
        ("short", chat(n_tokens=1, stream=False), "answers"),
        ("streams", chat(n_tokens=128, stream=True), "chunks"),
    ):
        print(f"    {name}: {_costs(made, found, request, unit)}", flush=True)


def _costs(
    made: Cluster, found: dict[str, list[psutil.Process]], request: bytes, unit: str
) -> str:
    before = {role: processor_s(group) for role, group in found.items()}
    count: Count = load(made.url, request, n_clients=N_CLIENTS, seconds=LOAD_S)
    n = max(count.n_events or count.n_answers, 1)
    n *= (LOAD_S + LOAD_S / 10) / count.seconds  # what went before the count
    costs = {
        role: 1e6 * (processor_s(g) - before[role]) / n for role, g in found.items()
    }
    rate = (count.n_events or count.n_answers) / count.seconds
    told = ", ".join(f"{role} {cost:.0f}" for role, cost in costs.items())
    return f"{rate:,.0f} {unit}/s; processor us each: {told}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="*", type=int, help="(default: 1 2 4 8 16)")
    options = parser.parse_args()
    ray = {"num_cpus": 0.1, "replicas": 1}
    config = {
        "ray": {"container": "bench.ray:instant", "ingress": {"num_cpus": 0.1}},
        "models": [CHAT | {"ray": ray}],
    }
    print(f"{os.cpu_count()} CPUs, load average {os.getloadavg()}")
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(Path(folder), config) as made,
    ):
        for n in options.n or (1, 2, 4, 8, 16):
            more = n - int(ray["replicas"])
            free = psutil.virtual_memory().available / GB
            if free - more * REPLICA_GB < KEEP_FREE_GB:
                print(f"no more: {free:.1f} GB of memory are free")
                break
            if more:
                ray["replicas"] = n
                began = time.monotonic()
                made.deploy_again()
            report(made, n, time.monotonic() - began)


if __name__ == "__main__":
    main()
