"""What a start is doing, as a table that changes in place."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import TextIO

from dependency_injector.containers import Container
from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from app.progress.lines import StartProgress
from app.progress.terminal import TerminalCapture
from containers.graph import Graph
from containers.lifecycle import Record, State

FRAMES_PER_SECOND = 5
ERROR_FD = 2

_MARKS: dict[State, tuple[str, str]] = {
    State.NOT_STARTED: ("·", "dim"),
    State.READY: ("✓", "green"),
    State.STOPPING: ("·", "yellow"),
    State.STOPPED: ("·", "dim"),
    State.FAILED: ("✗", "red"),
}


class LiveProgress(StartProgress):
    """Shows each resource with its state and seconds; the last picture stays.

    What this process and the engine's print meanwhile appears above the table.

    Args:
        container: The model's container, before its start.
    """

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        self._graph = Graph.of(container)
        self._spinner = Spinner("dots", style="cyan")

    def say(self, text: str) -> None:
        """Print one line above the table, or below it once that is final."""
        if self._lifecycle.state is State.FAILED:
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

    def _on_change(self, record: Record) -> None:
        """Nothing to say: the next picture shows it."""

    def _picture(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        records = self._lifecycle.records
        for record in records.values():
            table.add_row(*self._row(record, records))
        return table

    def _row(
        self, record: Record, records: Mapping[str, Record]
    ) -> Iterator[RenderableType]:
        mark, style = _MARKS.get(record.state, ("", "cyan"))
        yield self._spinner if record.state is State.STARTING else Text(mark, style)
        yield record.name
        yield Text(_seconds(record), justify="right")
        yield Text(self._state(record, records), style)

    def _state(self, record: Record, records: Mapping[str, Record]) -> str:
        is_waiting = self._lifecycle.state is State.STARTING
        if record.state is not State.NOT_STARTED or not is_waiting:
            return record.state
        needed = self._graph.upstream([record.name]) - {record.name}
        late = {n for n in needed & set(records) if records[n].state is not State.READY}
        first = [n for n in late if self._graph.upstream([n]) & late == {n}]
        return f"waits for {', '.join(sorted(first))}"


def _seconds(record: Record) -> str:
    if record.seconds is not None:
        return f"{record.seconds:.1f} s"
    if record.state is State.STARTING and record.started_at is not None:
        return f"{time.time() - record.started_at:.1f} s"
    return ""
