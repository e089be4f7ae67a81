"""The folder of an engine's Unix sockets; vLLM leaves seven in ``/tmp`` at a stop."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Self

PLACE = "VLLM_RPC_BASE_PATH"
"""vLLM's variable: the folder in which processes of an engine bind their sockets."""

_PREFIX = "vllm-di-"
_LONGEST = 107
"""Bytes of a Unix socket's path, on Linux."""

_LENGTH_BELOW = len("/vllm-di-xxxxxxxx/") + 36
"""What its folder and vLLM's name for a socket, a UUID, add to the place."""


class EngineSockets:
    """A private folder for one engine, gone with it.

    An engine whose processes may be on other machines has none: the variable goes
    there too, and the folder does not. Nor has one where the path would be too long.

    Args:
        vllm_config: Configuration of the engine.

    Source:
        vllm/utils/network_utils.py ``get_open_zmq_ipc_path`` (0.32.0).
    """

    def __init__(self, vllm_config: Any) -> None:
        self._is_local = _is_local(vllm_config.parallel_config)
        self._folder: Path | None = None
        self._before: str | None = None

    def __enter__(self) -> Self:
        """Let the engine that is started within bind its sockets there."""
        place = os.environ.get(PLACE, tempfile.gettempdir())
        if self._is_local and len(os.fsencode(place)) + _LENGTH_BELOW <= _LONGEST:
            self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            self._before = os.environ.get(PLACE)
            os.environ[PLACE] = str(self._folder)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Give the variable back; a start that failed takes the folder with it."""
        if self._folder is None:
            return
        if self._before is None:
            del os.environ[PLACE]
        else:
            os.environ[PLACE] = self._before
        if kind is not None:
            self.remove()

    def remove(self) -> None:
        """Remove the folder, once the engine's processes are gone."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _is_local(parallel: Any) -> bool:
    backends = (parallel.distributed_executor_backend, parallel.data_parallel_backend)
    return "ray" not in backends and parallel.nnodes == 1
