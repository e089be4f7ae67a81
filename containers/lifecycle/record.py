"""What is known of a resource's life."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a resource, or a whole container, stands."""

    NOT_STARTED = "not started"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Record:
    """One resource's life so far; every change makes a new record.

    Attributes:
        name: Name of its provider.
        state: Where it stands; ``not started`` while it waits for what it needs.
        started_at: When its builder was called, in seconds since the epoch.
        ready_at: When its object was there, in seconds since the epoch.
        seconds: How long its builder took, or ``None`` while it is not ready.
        error: What it failed with, when it started or when it stopped.
    """

    name: str
    state: State = State.NOT_STARTED
    started_at: float | None = None
    ready_at: float | None = None
    seconds: float | None = None
    error: BaseException | None = None
