"""From nothing to an answer: ours and vLLM's own server, alternately.

    python -m bench.first_answer [N] [--json FOLDER]

Each of N pairs starts ``vllm-di serve`` and vLLM's server with the same model and
flags, one after the other, asks each for its health and then for one chat answer. Our
modules are compiled before, as pip compiles vLLM's when it installs them. Medians,
their spread and the ratios ours/stock are printed:

* ``livez``: the first answer of any kind (``/livez`` here, ``/health`` there);
* ``chat``: the first chat answer;
* ``memory``: sum of the proportional set sizes of all processes after it;
* ``replacement``: another engine in an app that runs, against a stock start.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml

from bench.engine_replacement import SECONDS_MARK
from containers.source import model_folder
from tests.engine.servers import CONFIG, Server, serve, serve_stock

ROOT = Path(__file__).parents[1]
LOOK_S = 0.05
"""Seconds between two questions: ours answers each of them while it loads the model."""

TARGETS = {"livez": 1.5, "chat": 0.36, "memory": 0.95, "replacement": 0.10}
"""At most this ratio ours/stock; of ``livez`` at most these seconds."""

QUESTION = {
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "max_tokens": 8,
}


@dataclass
class Figures:
    """What was measured of one of the two, a value for each start."""

    livez: list[float] = field(default_factory=list)
    chat: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    replacement: list[float] = field(default_factory=list)


def measure(server: Server, began: float, path: str, figures: Figures) -> None:
    """Fill in the figures of one start; the server is ended then."""
    try:
        figures.livez.append(_until(server, path) - began)
        _until(server, "/health")
        answer = httpx.post(
            f"{server.url}/v1/chat/completions", json=QUESTION, timeout=60
        )
        answer.raise_for_status()
        figures.chat.append(time.monotonic() - began)
        processes = [psutil.Process(server.process.pid), *server.children()]
        sizes = [process.memory_full_info().pss for process in processes]
        figures.memory.append(sum(sizes) / 1e9)
    finally:
        server.stop()
        server.left_behind()


def _until(server: Server, path: str) -> float:
    with httpx.Client(base_url=server.url, timeout=5) as client:
        while server.process.poll() is None:
            try:
                if client.get(path).is_success:
                    return time.monotonic()
            except httpx.TransportError:
                pass
            time.sleep(LOOK_S)
    raise RuntimeError(f"the server ended by itself:\n{server.log}")


def chat_model() -> dict[str, Any]:
    """The first entry of ``models`` in the repository's config."""
    model: dict[str, Any] = yaml.safe_load(CONFIG.read_text())["models"][0]
    return model


def start_ours(folder: Path) -> Server:
    """``vllm-di serve`` of the chat model alone."""
    return serve(folder, models=[chat_model()])


def start_stock(folder: Path) -> Server:
    """vLLM's own server of the same model."""
    return serve_stock(folder, model_folder(chat_model()["source"]), chat_model())


def compile_ours() -> None:
    """Compile our own modules, whatever the environment says of writing such files."""
    for package in ("app", "containers"):
        compileall.compile_dir(ROOT / package, quiet=1)


def play(start: Callable[[Path], Server], path: str, figures: Figures) -> None:
    """One start of one of the two."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        measure(start(Path(folder)), began, path, figures)


def replacements(n: int) -> list[float]:
    """Seconds each of N engines took that followed another in one process."""
    outcome = subprocess.run(  # noqa: S603  # our own program
        [sys.executable, "-m", "bench.engine_replacement", str(n)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"},
    )
    lines = outcome.stdout.splitlines()
    marked = [line for line in lines if line.startswith(SECONDS_MARK)]
    return [float(line.removeprefix(SECONDS_MARK)) for line in marked]


def table(ours: Figures, stock: Figures) -> list[str]:
    """The lines to print."""
    lines = [f"{'':12} {'ours':>24} {'stock':>24}   ratio (spread)        target"]
    for name, target in TARGETS.items():
        mine, theirs = getattr(ours, name), getattr(stock, name)
        if not mine or not theirs:
            continue
        ratio = statistics.median(mine) / statistics.median(theirs)
        pairs = [a / b for a, b in zip(mine, theirs, strict=False)]
        spread = f"({min(pairs):.3f} to {max(pairs):.3f})"
        unit = "s" if name == "livez" else "x"
        lines.append(
            f"{name:12} {_spread(mine)} {_spread(theirs)}   {ratio:.3f} {spread:20} "
            f"<= {target} {unit}"
        )
    return lines


def _spread(values: list[float]) -> str:
    middle = statistics.median(values)
    return f"{middle:7.2f} [{min(values):6.2f}, {max(values):6.2f}]"


def save(folder: Path, figures: Mapping[str, Figures]) -> None:
    """Write all single values to ``first_answer.json`` in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "targets": TARGETS,
        "seconds_and_gigabytes": {who: asdict(each) for who, each in figures.items()},
        "load_average": psutil.getloadavg(),
        "python": sys.version,
    }
    (folder / "first_answer.json").write_text(json.dumps(content, indent=2))


def main() -> None:
    """Alternate, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=5, help="pairs (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where figures go")
    options = parser.parse_args()
    compile_ours()
    ours, stock = Figures(), Figures()
    for number in range(options.n):
        play(start_ours, "/livez", ours)
        play(start_stock, "/health", stock)
        print(f"pair {number + 1}: chat {ours.chat[-1]:.1f} s, {stock.chat[-1]:.1f} s")
    ours.replacement = replacements(options.n)
    stock.replacement = stock.chat
    print(*table(ours, stock), sep="\n")
    if options.json is not None:
        save(options.json, {"ours": ours, "stock": stock})


if __name__ == "__main__":
    main()
