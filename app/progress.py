"""What a start is doing, as plain lines."""

from __future__ import annotations

import logging
import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

from dependency_injector.containers import Container

from containers.lifecycle import Record, lifecycle_of

REPORT_EVERY_S = 5.0
WORTH_A_LINE_S = 1.0


class StartProgress:
    """Prints a line when a slow resource is ready, and what a long wait waits for.

    Args:
        container: The model's container, before its start.
        stream: Where to print; standard error by default.
    """

    def __init__(self, container: Container, *, stream: TextIO | None = None) -> None:
        self._lifecycle = lifecycle_of(container)
        self._stream = stream or sys.stderr
        self._began = time.monotonic()
        self._done = threading.Event()
        self._handler = _Lines(self)
        self._thread = threading.Thread(
            target=self._report_waits, name="vllm-di progress", daemon=True
        )

    def __enter__(self) -> Self:
        """Begin to report."""
        self._lifecycle.listen(self._on_change)
        logger = logging.getLogger("containers")
        logger.setLevel(logging.INFO)
        logger.addHandler(self._handler)
        logger.propagate = False
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop reporting."""
        self.end()
        logging.getLogger("containers").removeHandler(self._handler)

    def end(self) -> None:
        """Stop reporting; a second call does nothing."""
        self._done.set()

    def say(self, text: str) -> None:
        """Print one line with the seconds since the start."""
        seconds = time.monotonic() - self._began
        print(f"{seconds:7.1f} s  {text}", file=self._stream, flush=True)

    def _on_change(self, record: Record) -> None:
        if record.state == "ready" and (record.seconds or 0) >= WORTH_A_LINE_S:
            self.say(f"{record.name} is ready after {record.seconds:.1f} s")

    def _report_waits(self) -> None:
        while not self._done.wait(REPORT_EVERY_S):
            starting = [
                record.name
                for record in self._lifecycle.records.values()
                if record.state == "starting"
            ]
            if starting:
                self.say(f"waiting for {', '.join(starting)}")


class _Lines(logging.Handler):
    """Our own log records as lines of the progress."""

    def __init__(self, progress: StartProgress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.say(record.getMessage())
