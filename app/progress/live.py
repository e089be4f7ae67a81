"""What a start is doing, as a table that changes in place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from dependency_injector.containers import Container
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from app.progress.lines import StartProgress
from app.progress.table import ModelRows
from app.progress.terminal import TerminalCapture
from containers.lifecycle import Record, State

FRAMES_PER_SECOND = 5
ERROR_FD = 2
OVER = {State.FAILED, State.STOPPED}
"""Where all models stand when nothing more will come."""


class LiveProgress(StartProgress):
    """Shows each resource with its state and seconds; the last picture stays.

    What this process and the engine's print meanwhile appears above the table. Of
    several models, one that is ready or has not begun is a single row.

    Args:
        models: Containers by model name, before their start, in its order.
    """

    def __init__(self, models: Mapping[str, Container]) -> None:
        super().__init__(models)
        are_several = len(models) > 1
        self._models = [
            ModelRows(name, container, is_one_of_several=are_several)
            for name, container in models.items()
        ]

    def say(self, text: str) -> None:
        """Print one line above the table, or below it once that is final."""
        if {each.state for each in self._lifecycles.values()} <= OVER:
            self.end()
        if self._done.is_set():
            super().say(text)
        else:
            self._print(self._stamped(text))

    def _show(self) -> None:
        self._terminal: TextIO = os.fdopen(os.dup(ERROR_FD), "w", encoding="utf-8")
        self._console = Console(file=self._terminal, highlight=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._picture,
            refresh_per_second=FRAMES_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self._capture = TerminalCapture(self._print)
        self._capture.start()

    def _hide(self) -> None:
        self._capture.stop()
        self._live.stop()
        self._terminal.close()

    def _print(self, line: str) -> None:
        self._console.print(Text.from_ansi(line), soft_wrap=True)

    def _on_change(self, model: str, record: Record) -> None:
        """Nothing to say: the next picture shows it."""

    def _picture(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for model in self._models:
            for row in model.rows():
                table.add_row(*row)
        return table
