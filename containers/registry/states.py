"""Where a model may be in its life, and what a client is told meanwhile."""

from __future__ import annotations

from typing import Literal

ModelState = Literal[
    "not started",
    "starting",
    "ready",
    "failed",
    "restarting",
    "healing",
    "engine dead",
    "unloading",
    "unloaded",
    "asleep",
    "loading",
    "stopping",
    "stopped",
]

ON_DEMAND: tuple[ModelState, ...] = ("unloading", "unloaded", "asleep", "loading")
"""States in which a request loads the model, or waits until it is loaded."""

AT_REST: tuple[ModelState, ...] = ("unloaded", "asleep")

WITHOUT_MEMORY: tuple[ModelState, ...] = (
    *AT_REST,
    *("not started", "failed", "engine dead", "stopped"),
)

HINTS: dict[ModelState, str] = {
    "not started": "Models start one after the other; wait for its turn.",
    "starting": "Wait until the model is loaded.",
    "failed": "It could not be loaded; the server's log says why.",
    "restarting": "Its engine is being replaced for new settings; ask again.",
    "healing": "Its engine has died and is being replaced; ask again.",
    "engine dead": "The engine's process has died; restart the server.",
    **dict.fromkeys(ON_DEMAND, "It is loaded when it is asked something."),
    "stopping": "The server is shutting down; ask another one.",
    "stopped": "The server has stopped.",
}
