"""What a start is doing, as plain lines."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self, TextIO

from dependency_injector.containers import Container

from containers.lifecycle import Record, State, lifecycle_of
from containers.log_format import with_request_id
from containers.masks import masked

REPORT_EVERY_S = 5.0
WORTH_A_LINE_S = 1.0


class StartProgress:
    """Prints a line when a slow resource is ready, and what a long wait waits for.

    Args:
        models: Containers by model name, before their start, in its order.
        stream: Where to print; standard error by default.
    """

    def __init__(
        self, models: Mapping[str, Container], *, stream: TextIO | None = None
    ) -> None:
        self._lifecycles = {name: lifecycle_of(each) for name, each in models.items()}
        self._stream = stream or sys.stderr
        self._began = time.monotonic()
        self._done = threading.Event()
        self._logs = _OwnLogs(self)

    def __enter__(self) -> Self:
        """Begin to report."""
        self._end_listening = [
            lifecycle.listen(partial(self._on_change, name))
            for name, lifecycle in self._lifecycles.items()
        ]
        self._follow_own_logs()
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop reporting."""
        self.end()
        for end in self._end_listening:
            end()
        self._logs.detach()

    def end(self) -> None:
        """Stop reporting; a second call does nothing."""
        if not self._done.is_set():
            self._done.set()
            self._hide()

    def say(self, text: str) -> None:
        """Print one line with the seconds since the start."""
        # Whoever read these lines may be gone; what they are about goes on.
        with suppress(OSError, ValueError, AttributeError):
            self._stream.write(f"{self._stamped(text)}\n")
            self._stream.flush()

    def show(self, *lines: str) -> None:
        """Print lines for whoever sits in front of it."""
        with suppress(OSError, ValueError, AttributeError):
            self._stream.write("\n".join((*lines, "")))
            self._stream.flush()

    def _follow_own_logs(self) -> None:
        self._logs.attach()

    def _stamped(self, text: str) -> str:
        return f"{time.monotonic() - self._began:7.1f} s  {masked(text)}"

    def _show(self) -> None:
        threading.Thread(
            target=self._report_waits, name="vllm-di progress", daemon=True
        ).start()

    def _hide(self) -> None:
        """Nothing to take away: lines stay."""

    def _on_change(self, model: str, record: Record) -> None:
        if record.state is State.READY and (record.seconds or 0) >= WORTH_A_LINE_S:
            called = self._called(model, record)
            self.say(f"{called} is ready after {record.seconds:.1f} s")

    def _called(self, model: str, record: Record) -> str:
        """A resource by its name, with the model it is of where there are several."""
        return record.name if len(self._lifecycles) == 1 else f"{model}: {record.name}"

    def _report_waits(self) -> None:
        while not self._done.wait(REPORT_EVERY_S):
            starting = [
                self._called(model, record)
                for model, lifecycle in self._lifecycles.items()
                for record in lifecycle.records.values()
                if record.state is State.STARTING
            ]
            if starting:
                self.say(f"waiting for {', '.join(starting)}")


class _OwnLogs(logging.Handler):
    """Our own log records as lines of the progress."""

    def __init__(self, progress: StartProgress) -> None:
        super().__init__()
        self._progress = progress
        self._logger = logging.getLogger("containers")
        self._before = (self._logger.level, self._logger.propagate)

    def attach(self) -> None:
        self._before = (self._logger.level, self._logger.propagate)
        if self._logger.level == logging.NOTSET:
            self._logger.setLevel(logging.INFO)
        self._logger.propagate = False
        self._logger.addHandler(self)

    def detach(self) -> None:
        if self in self._logger.handlers:
            self._logger.removeHandler(self)
            level, self._logger.propagate = self._before
            self._logger.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.say(with_request_id(record.getMessage()))
