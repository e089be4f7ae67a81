"""The process that converts a GGUF file: started, watched, and surely ended."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from containers.source.watch import Watch

# By its path, without its folder on the import path: it needs nothing of ours.
COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("gguf_folder.py")))

_LOOK_MS = 200
_QUIET_AND_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


def convert(gguf: Path, folder: Path, watch: Watch) -> None:
    """Writes the model and tokenizer in ``gguf`` into the existing ``folder``.

    Returns or raises only after the process has ended. Should this process be killed,
    that one ends by itself.

    Raises:
        SourceError: It failed, was killed from outside, or was cancelled.
    """
    doing = f"unpacking {gguf.name}"
    watch.say(doing)
    with TemporaryFile() as complaints, _process(gguf, folder, complaints) as process:
        step = doing
        for line in _lines(process):
            if line:
                step = f"{doing}: {line}"
                watch.say(step)
            watch.tick(step)
        status = process.wait()
        if status:
            raise watch.error(_reason(status, complaints), "Start again.")
    if not (folder / "config.json").is_file():
        hint = "Install the package again."
        raise watch.error(f"there is no model in {gguf.name}", hint)


@contextmanager
def _process(
    gguf: Path, folder: Path, complaints: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(  # noqa: S603  # our own module, no shell
        [*COMMAND, str(gguf), str(folder)],
        # Held open, never written to: it closes when we die, which ends the process.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        bufsize=0,
        env={**os.environ, **_QUIET_AND_OFFLINE},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Lines as the process prints them, and an empty one whenever it is silent."""
    output = process.stdout
    if output is None:
        return
    poll = select.poll()
    poll.register(output, select.POLLIN)
    while line := output.readline() if poll.poll(_LOOK_MS) else b"\n":
        yield line.decode(errors="replace").strip()


def _reason(status: int, complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "no reason given")
    how = f"was ended by signal {-status}" if status < 0 else "failed"
    return f"unpacking {how}: {last.strip()}"
