"""One engine for several processes: the places at which its clients are.

An engine connects to its clients, not they to it: each has two addresses at which it
binds, and which the engine is told once, when it starts. So more are told to it than
there are clients: one that dies leaves its place, and the next one takes another.

Source:
    vllm/entrypoints/cli/serve.py ``run_multi_api_server`` (0.32.0), whose clients are
    never replaced.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from containers import vllm_api

SPARE = 16
"""Places more than clients: as many of them can be replaced while an engine lives.

The engine looks for each ten times a second until somebody is there, which takes a
thousandth of a core for all of them.
"""

CLIENT = "vllm.v1.engine.core_client"
LAUNCH = "launch_core_engines"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one client of an engine is.

    Attributes:
        index: Its number; the engine sends what it asked for to it.
        input_address: Where it binds what it sends requests with.
        output_address: Where it binds what results come to.
    """

    index: int
    input_address: str
    output_address: str

    @property
    def was_taken(self) -> bool:
        """Whether a client has been there: what it binds stays when it dies."""
        return Path(self.input_address.removeprefix("ipc://")).exists()


@dataclass(frozen=True, slots=True)
class EngineSharing:
    """Whether an engine is this process' alone.

    Attributes:
        n_clients: Processes that use it, 1 or more.
        place: Place of this process at an engine of another one; ``None`` where this
            process starts it.
    """

    n_clients: int = 1
    place: Place | None = None

    @property
    def as_client(self) -> dict[str, Any]:
        """What ``AsyncLLM.from_vllm_config`` is told of it."""
        if self.n_clients == 1:
            return {}
        if self.place is None:
            return {"client_count": self.n_clients}
        return {
            "client_count": self.n_clients,
            "client_index": self.place.index,
            "client_addresses": {
                "input_address": self.place.input_address,
                "output_address": self.place.output_address,
            },
        }

    @contextmanager
    def offered(self) -> Iterator[Places]:
        """Let an engine that this thread starts within have places for the others.

        One thread at a time may be inside.
        """
        places = Places()
        if self.n_clients == 1 or self.place is not None:
            yield places
            return
        with _told_more(self.n_clients - 1 + SPARE, places):
            yield places


ALONE = EngineSharing()
"""An engine of one process."""


@dataclass(slots=True)
class Places:
    """The places of an engine that are left."""

    left: list[Place] = field(default_factory=list)

    def take(self) -> Place | None:
        """One that nobody has been at, or ``None`` when there is none left."""
        return self.left.pop(0) if self.left else None

    def give_back(self, place: Place) -> None:
        """Have one again that nobody has come to."""
        self.left.insert(0, place)


@contextmanager
def _told_more(n_places: int, places: Places) -> Iterator[None]:
    """Have the engine that this thread launches told of more clients than one.

    Source:
        vllm/v1/engine/core_client.py ``MPClient.__init__`` (0.31.0 to 0.33.0), which
        binds its own two addresses and launches the engine with these alone.
    """
    module = import_module(CLIENT)
    original, thread = getattr(module, LAUNCH), threading.get_ident()

    def launch(config: Any, executor: Any, log_stats: Any, addresses: Any) -> Any:
        if threading.get_ident() == thread:
            first = len(addresses.inputs)
            for index in range(first, first + n_places):
                place = Place(
                    index,
                    vllm_api.get_open_zmq_ipc_path(),
                    vllm_api.get_open_zmq_ipc_path(),
                )
                addresses.inputs.append(place.input_address)
                addresses.outputs.append(place.output_address)
                places.left.append(place)
        return original(config, executor, log_stats, addresses)

    setattr(module, LAUNCH, launch)
    try:
        yield
    finally:
        setattr(module, LAUNCH, original)
