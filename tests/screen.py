"""What a terminal shows of a program: run it in one, read its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT_S = 60.0
_ROWS, _COLUMNS = 40, 100
# Opening it makes it the controlling terminal of a session that has none.
_ON_TERMINAL = 'exec "$@" <"$0" >"$0" 2>&1'
_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


@dataclass(frozen=True)
class Ended:
    """A program that has ended in its terminal.

    Attributes:
        status: Its exit status, negative if a signal ended it.
        output: All it wrote, control sequences included.
    """

    status: int
    output: str

    @property
    def screen(self) -> list[str]:
        """Lines that stay on the screen, scrolled-off ones too."""
        return screen_of(self.output)

    @property
    def shows_cursor(self) -> bool:
        """Whether the cursor is visible in the end."""
        return self.output.rfind("\x1b[?25h") >= self.output.rfind("\x1b[?25l")


def run_in_terminal(
    command: Sequence[str],
    *,
    interrupt_at: str | None = None,
    key: bytes = b"\x03",
    **environment: str,
) -> Ended:
    """Run a program in a terminal of its own until it ends.

    Args:
        command: Command line.
        interrupt_at: Text upon which the key is pressed, once.
        key: That key, Ctrl-C by default.
        environment: Variables to add.
    """
    other_end: int | None
    terminal, other_end = pty.openpty()
    size = struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    process = subprocess.Popen(
        ["sh", "-c", _ON_TERMINAL, os.ttyname(other_end), *command],
        env={**os.environ, "TERM": "xterm", **environment},
        start_new_session=True,
    )
    output = ""
    deadline = time.monotonic() + TIMEOUT_S
    while chunk := _read(terminal, deadline):
        output += chunk.decode(errors="replace")
        if other_end is not None:
            os.close(other_end)  # by now the program has opened it itself
            other_end = None
        if interrupt_at is not None and interrupt_at in output:
            os.write(terminal, key)
            interrupt_at = None
    os.close(terminal)
    try:
        return Ended(process.wait(max(0.0, deadline - time.monotonic())), output)
    finally:
        process.kill()


def screen_of(output: str) -> list[str]:
    """Lines a terminal shows after this output, without blanks at their ends."""
    lines, row, column = [""], 0, 0
    for argument, action, control, text in _TOKEN.findall(output):
        if control == "\r":
            column = 0
        elif control == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif text:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + text + line[column + len(text) :]
            column += len(text)
        elif action == "A":
            row = max(0, row - int(argument or 1))
        elif action == "K":
            lines[row] = "" if argument == "2" else lines[row][:column]
    return [line.rstrip() for line in lines]


def _read(terminal: int, deadline: float) -> bytes:
    left = max(0.0, deadline - time.monotonic())
    if not select.select([terminal], [], [], left)[0]:
        return b""
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last one who had it open has ended
        return b""
