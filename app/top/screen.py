"""A screen that shows the picture until somebody has seen enough."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from app.top.picture import clean, picture
from app.top.source import Follower

FRAME_S = 0.25
KEYS = Text("q quit   tab next model", "dim")


def watch(follower: Follower, url: str, console: Console) -> None:
    """Show what a follower has heard, until ``q`` or Ctrl-C.

    Args:
        follower: One that has been started.
        url: The server's, for when it tells nothing.
        console: A terminal.
    """
    model = 0
    with (
        _single_keys() as keyboard,
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        while True:
            frame = _frame(follower, url, model=model, rows=console.height)
            live.update(frame, refresh=True)
            pressed = _pressed(keyboard)
            if pressed in ("q", "Q", "\x03"):
                return
            model += pressed == "\t"


def _frame(follower: Follower, url: str, *, model: int, rows: int) -> RenderableType:
    status, trouble = follower.status, follower.trouble
    parts: list[RenderableType] = []
    if trouble:
        parts.append(Text(f"✗ {url}: {clean(trouble)}. Trying again.", "bold red"))
    if status is None:
        parts.append(Text("" if trouble else f"asking {url}", "dim"))
    else:
        parts += [picture(status, follower.rates, model=model, rows=rows - len(parts))]
    return Group(*parts, Text(), KEYS)


@contextmanager
def _single_keys() -> Iterator[int | None]:
    """Give keys as they are pressed, without echo; nothing if there is no keyboard."""
    if not sys.stdin.isatty():
        yield None
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        yield keyboard
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _pressed(keyboard: int | None) -> str:
    """The key that is pressed within a frame, or an empty string."""
    watched = [] if keyboard is None else [keyboard]
    ready, _, _ = select.select(watched, [], [], FRAME_S)
    return os.read(ready[0], 1).decode("latin-1") if ready else ""
