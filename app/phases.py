"""Where an app may be in its life, and what a client is told meanwhile."""

from __future__ import annotations

from typing import Literal

State = Literal[
    "not started",
    "starting",
    "ready",
    "draining",
    "stopping",
    "stopped",
    "failed",
    "engine dead",
]

HINTS: dict[State, str] = {
    "not started": "The app's lifespan has not run: use `with TestClient(app)`, or "
    "run a mounted sub-app's lifespan from its parent's.",
    "starting": "Wait until the model is loaded.",
    "draining": "The server is shutting down; ask another one.",
    "stopping": "The server is shutting down; ask another one.",
    "stopped": "The app's lifespan has ended.",
    "failed": "The model could not be loaded; the server's log says why.",
    "engine dead": "The engine's process has died; restart the server.",
}
