"""A server of every route, over the real models of ``config.yaml``."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

ROOT = Path(__file__).parents[2]
KEY = "fuzz"
START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 180.0
_LOOK_S = 0.2


@contextmanager
def served(folder: Path) -> Iterator[httpx.Client]:
    """Serve for as long as the block runs; gives a client that bears an admin's key.

    Args:
        folder: Where the config and the log, ``serve.log``, go.

    Raises:
        RuntimeError: It does not start, or does not stop with status 0.
    """
    port = _free_port()
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(_config(port)), encoding="utf-8")
    command = [sys.executable, "-m", "app", "serve", "--config", str(path)]
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
        )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=60.0,
        ) as client:
            _wait_until_ready(process, client, log)
            yield client
        process.terminate()
        if process.wait(STOP_TIMEOUT_S):
            raise RuntimeError(f"it stopped with status {process.returncode}: {log}")
    finally:
        process.kill()
        process.wait()


def _config(port: int) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["server"] = {
        "host": "127.0.0.1",
        "port": port,
        "api_keys": ["somebody"],
        "admin_keys": [KEY],
        "enable_runtime_lora": True,
        "enable_scale_out": True,
        "enable_server_load_tracking": True,
        "enable_tokenizer_info_endpoint": True,
    }
    return config


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_until_ready(
    process: subprocess.Popen[bytes], client: httpx.Client, log: Path
) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _is_ready(client):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not start: {log}")
        time.sleep(_LOOK_S)


def _is_ready(client: httpx.Client) -> bool:
    try:
        ready = client.get("/readyz")
    except httpx.TransportError:
        return False
    return ready.is_success and set(ready.json()["models"].values()) == {"ready"}
