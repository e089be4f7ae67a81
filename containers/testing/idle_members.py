"""Members of vLLM's ``EngineClient`` for which a fake engine has nothing to do.

They answer what an idle, healthy engine answers, so nothing that calls them breaks.
"""
# ruff: noqa: ARG002  # the signatures are vLLM's

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers import vllm_api


class IdleMembers:
    """The engine room: profiling, caches, weights, scaling, fault handling.

    Source:
        vllm/engine/protocol.py ``EngineClient`` (0.33.0).
    """

    _weight_version = "default"

    def get_kv_event_sources(self) -> dict[int, Any]:
        """No publisher of KV events."""
        return {}

    async def notify_kv_transfer_request_rejected(
        self,
        request_id: str,
        kv_transfer_params: dict[str, Any],
        *,
        data_parallel_rank: int | None = None,
    ) -> None:
        """Nothing was reserved, so nothing is freed."""

    async def is_tracing_enabled(self) -> bool:
        """Tracing is off."""
        return False

    async def do_log_stats(self) -> None:
        """No statistics to log."""

    async def start_profile(
        self,
        profile_prefix: str | None = None,
        *,
        delay_iterations: int | None = None,
        max_iterations: int | None = None,
        profiler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Nothing to profile."""

    async def stop_profile(self) -> None:
        """Nothing was profiled."""

    async def reset_mm_cache(self) -> None:
        """No multi-modal cache."""

    async def reset_encoder_cache(self) -> None:
        """No encoder cache."""

    async def reset_prefix_cache(
        self,
        reset_running_requests: bool = False,  # noqa: FBT001, FBT002  # vLLM's
        reset_connector: bool = False,  # noqa: FBT001, FBT002  # vLLM's
    ) -> bool:
        """No prefix cache, so it is empty: ``True``."""
        return True

    async def release_kv_cache_memory(self) -> None:
        """No KV cache."""

    async def scale_elastic_ep(
        self, new_data_parallel_size: int, drain_timeout: int = 300
    ) -> None:
        """No expert parallelism to scale."""

    async def get_external_elastic_ep_status(
        self,
    ) -> dict[str, str | int | None] | None:
        """No expert parallelism has a status."""
        return None

    async def collective_rpc(
        self,
        method: str,
        timeout: float | None = None,  # noqa: ASYNC109  # vLLM's
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> list[Any]:
        """No worker, so no answers."""
        return []

    async def compute_weight_checksums(self) -> list[dict[str, str]]:
        """No worker, so no checksums."""
        return []

    async def handle_fault(self, fault_tolerance_request: Any) -> Any:
        """Say that a fake engine handles no faults."""
        return vllm_api.FaultToleranceResult(
            request_id=fault_tolerance_request.request_id,
            success=False,
            reason="a fake engine has no fault tolerance",
        )

    async def get_status(self) -> dict[str, Any]:
        """No engine process has a status."""
        return {}

    async def init_weight_transfer_engine(self, init_request: Any) -> None:
        """No weights to transfer."""

    async def shutdown_weight_transfer_engine(self) -> None:
        """No weights were transferred."""

    async def start_weight_update(self) -> None:
        """No weights to update."""

    async def start_draft_weight_update(self) -> None:
        """No draft model."""

    async def update_weights(self, request: Any) -> None:
        """No weights to update."""

    async def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Take the version, if one is named."""
        if weight_version is not None:
            await self.update_weight_version(weight_version)

    async def update_weight_version(self, new_version: str) -> None:
        """Take the version."""
        self._weight_version = new_version

    async def get_weight_version(self) -> str:
        """The version last set, ``default`` at first."""
        return self._weight_version
