"""What Ray Serve is told of each deployment."""

from __future__ import annotations

from typing import Any

from app.server import CLOSE_TIMEOUT_S
from containers.settings import ModelSettings, Settings
from containers.settings.parallelism import Parallelism, parallelism_of
from containers.settings.ray import RayDeploymentSettings
from containers.vllm_api.forkserver.torch_build import accelerator

MARGIN_S = 10.0
"""Seconds Ray waits longer than a replica needs to end in order."""
HEALTH_TIMEOUT_S = 30.0
MAX_STARTS = 3
"""How often a replica that does not start is tried again."""

ONE_LOOP = {
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
    "RAY_SERVE_LOG_TO_STDERR": "0",
    "RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH": str(2**31 - 1),
}
"""Environment of our replicas: no hop between threads for each part of an answer, and
bodies as large as ``server.max_body_bytes`` says, not as gRPC's own 4 MiB.

With one loop Ray asks for a part when the one before is on its way, so that what has
come meanwhile goes along.
"""


def model_options(settings: Settings, model: ModelSettings) -> dict[str, Any]:
    """Options of a model's deployment."""
    server, ray = settings.server, model.ray
    options = {
        **_common(settings, ray),
        "max_queued_requests": ray.max_queued_requests or -1,
        "graceful_shutdown_timeout_s": (
            server.drain_timeout_s + CLOSE_TIMEOUT_S + server.stop_timeout_s + MARGIN_S
        ),
    }
    parallelism = parallelism_of(model.engine)
    n_gpus = _gpus(model, parallelism)
    actor = options["ray_actor_options"]
    actor["resources"] = dict(ray.resources)
    if ray.accelerator_type is not None:
        actor["accelerator_type"] = ray.accelerator_type
    if parallelism.is_placed_by_ray:
        options |= _placed(ray.num_cpus, n_gpus / parallelism.n_workers, model)
    else:
        actor["num_gpus"] = n_gpus
    return options


def ingress_options(settings: Settings) -> dict[str, Any]:
    """Options of the ingress' deployment."""
    return {
        **_common(settings, settings.ray.ingress),
        "graceful_shutdown_timeout_s": settings.server.drain_timeout_s + MARGIN_S,
    }


def _common(settings: Settings, ray: RayDeploymentSettings) -> dict[str, Any]:
    number: dict[str, Any] = {"num_replicas": ray.replicas}
    if ray.autoscaling is not None:
        number = {"autoscaling_config": ray.autoscaling.model_dump()}
    return {
        **number,
        "max_ongoing_requests": ray.max_ongoing_requests,
        "health_check_period_s": settings.ray.health_check_period_s,
        "health_check_timeout_s": HEALTH_TIMEOUT_S,
        "graceful_shutdown_wait_loop_s": 0.5,
        "max_constructor_retry_count": MAX_STARTS,
        "logging_config": {"enable_access_log": False},
        "ray_actor_options": {
            "num_cpus": ray.num_cpus,
            "runtime_env": {"env_vars": dict(ONE_LOOP)},
        },
    }


def _gpus(model: ModelSettings, parallelism: Parallelism) -> float:
    """GPUs of one replica, all workers of its engine together."""
    if model.ray.num_gpus is not None:
        return model.ray.num_gpus
    return parallelism.n_workers if accelerator() else 0


def _placed(num_cpus: float, gpus_each: float, model: ModelSettings) -> dict[str, Any]:
    """A placement group with a bundle for each worker; the replica is in the first."""
    worker = {"CPU": 1.0, **({"GPU": gpus_each} if gpus_each else {})}
    n_workers = parallelism_of(model.engine).n_workers
    first = {**worker, "CPU": worker["CPU"] + num_cpus, **model.ray.resources}
    if model.ray.accelerator_type is not None:
        kind = {f"accelerator_type:{model.ray.accelerator_type}": 0.001}
        worker, first = {**worker, **kind}, {**first, **kind}
    return {
        "placement_group_bundles": [first, *[worker] * (n_workers - 1)],
        "placement_group_strategy": model.ray.placement,
    }
