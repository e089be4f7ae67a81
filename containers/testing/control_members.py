"""Records, health, aborting and pausing of a fake engine."""
# ruff: noqa: ARG002  # the signatures are vLLM's

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from containers import vllm_api
from containers.testing.ledger import Ledger, PauseMode
from containers.testing.requests import RecordedRequest


class ControlMembers:
    """What acts on all requests of a fake engine at once.

    Attributes:
        shutdown_count: How often it was shut down.
    """

    def __init__(self) -> None:
        self.shutdown_count = 0
        self._ledger = Ledger()
        self._is_asleep = False

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request so far, oldest first, each as it stands now."""
        return self._ledger.records

    @property
    def aborted(self) -> list[str]:
        """Ids of requests ended early, by ``abort`` or by a client that went away."""
        return list(self._ledger.aborted)

    def forget(self) -> None:
        """Drop the records of ended requests, to use one engine in many tests."""
        self._ledger.forget()

    def die(self) -> None:
        """Die as an engine process does; every request raises ``EngineDeadError``.

        Safe from any thread. A dead engine stays dead.
        """
        self._ledger.die()

    @property
    def is_running(self) -> bool:
        """Whether it lives."""
        return not self._ledger.is_dead

    @property
    def is_stopped(self) -> bool:
        """Whether it has died or was shut down."""
        return self._ledger.is_dead

    @property
    def errored(self) -> bool:
        """Whether it has died or was shut down."""
        return self._ledger.is_dead

    @property
    def should_keep_api_server_alive(self) -> bool:
        """No: a server whose engine has died ends."""
        return False

    @property
    def dead_error(self) -> BaseException:
        """What a request to a dead engine raises."""
        error: BaseException = vllm_api.EngineDeadError()
        return error

    async def check_health(self) -> None:
        """Return while it lives.

        Raises:
            EngineDeadError: It has died or was shut down.
        """
        if self.errored:
            raise self.dead_error

    async def abort(
        self,
        request_id: str | Iterable[str],
        internal: bool = False,  # noqa: FBT001, FBT002  # vLLM's
    ) -> None:
        """End running requests; they finish with reason ``abort``."""
        ids = (request_id,) if isinstance(request_id, str) else request_id
        self._ledger.abort(ids)

    async def pause_generation(
        self,
        *,
        mode: PauseMode = "abort",
        wait_for_inflight_requests: bool = False,
        clear_cache: bool = True,
    ) -> None:
        """Stop generating; requests that come wait for ``resume_generation``.

        Args:
            mode: What happens to running requests: ``abort`` ends them, ``wait``
                lets them finish first, ``keep`` holds them until the engine resumes.
            wait_for_inflight_requests: The mode ``wait``, as vLLM 0.31 spells it too.
            clear_cache: Without effect.
        """
        await self._ledger.pause("wait" if wait_for_inflight_requests else mode)

    async def resume_generation(self) -> None:
        """Generate again."""
        self._ledger.resume()

    async def is_paused(self) -> bool:
        """Whether it is paused or asleep."""
        return self._ledger.is_paused

    async def sleep(self, level: int = 1, mode: PauseMode = "abort") -> None:
        """Fall asleep: paused until ``wake_up``."""
        await self._ledger.pause(mode)
        self._is_asleep = True

    async def wake_up(self, tags: list[str] | None = None) -> bool:
        """Wake up, whatever the tags, and generate again; always ``True``."""
        self._is_asleep = False
        self._ledger.resume()
        return True

    async def is_sleeping(self) -> bool:
        """Whether it was put to sleep and not woken since."""
        return self._is_asleep

    def shutdown(self, timeout: float | None = None) -> None:
        """Note the shutdown and end as an engine does: dead, whatever runs fails."""
        self.shutdown_count += 1
        self._ledger.die()

    def __getattr__(self, name: str) -> Any:
        hint = "vLLM's EngineClient has no such member either."
        if name in ("vllm_config", "model_config", "renderer", "input_processor"):
            hint = (
                "Serving objects get theirs from the container; to hand one out, "
                f"set it: engine.{name} = ..."
            )
        raise AttributeError(f"FakeEngine has no {name}. {hint}", name=name, obj=self)
