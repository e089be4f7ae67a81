"""Lines that are printed on a terminal while something else is drawn there."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

_STREAMS = (1, 2)
_MARK = b"\0"
_DRAIN_TIMEOUT_S = 0.5
_CHUNK = 65536


class TerminalCapture:
    """Hands over what this process and its children print on a terminal.

    Standard output and error lead into a pipe, as far as they are terminals. Children
    keep that pipe for as long as they live; once the capture has ended, their lines go
    to the terminal as they are.

    Args:
        on_line: Called with each line, in a thread of its own, while capturing.
    """

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._is_capturing = True
        self._drained = threading.Event()

    def start(self) -> None:
        """Begin to capture; standard error must be a terminal."""
        _flush()
        self._saved = {fd: os.dup(fd) for fd in _STREAMS if os.isatty(fd)}
        self._terminal = os.dup(self._saved[_STREAMS[-1]])
        self._source, self._pipe = os.pipe()
        for fd in self._saved:
            os.dup2(self._pipe, fd)
        threading.Thread(
            target=self._pump, name="vllm-di terminal", daemon=True
        ).start()

    def stop(self) -> None:
        """Give the terminal back, after the last line has been handed over."""
        _flush()
        for fd, saved in self._saved.items():
            os.dup2(saved, fd)
            os.close(saved)
        self._drain()
        self._is_capturing = False
        atexit.register(self._drain)

    def _drain(self) -> None:
        self._drained.clear()
        os.write(self._pipe, _MARK + b"\n")
        self._drained.wait(_DRAIN_TIMEOUT_S)

    def _pump(self) -> None:
        rest = b""
        while chunk := os.read(self._source, _CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                text, mark, _ = line.partition(_MARK)
                with suppress(Exception):  # a full pipe would halt whoever prints
                    self._hand_over(text)
                if mark:
                    self._drained.set()

    def _hand_over(self, line: bytes) -> None:
        # Of a line that was written over, as progress bars do, the last state.
        text = line.rstrip(b"\r").rpartition(b"\r")[2]
        if text and self._is_capturing:
            self._on_line(text.decode(errors="replace"))
        elif text:
            os.write(self._terminal, text + b"\n")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
