"""How the models of a start stand, as rows of a table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from dependency_injector.containers import Container
from rich.console import RenderableType
from rich.spinner import Spinner
from rich.text import Text

from containers.graph import Graph
from containers.lifecycle import Lifecycle, Record, State, lifecycle_of

_MARKS: dict[State, tuple[str, str]] = {
    State.NOT_STARTED: ("·", "dim"),
    State.READY: ("✓", "green"),
    State.STOPPING: ("·", "yellow"),
    State.STOPPED: ("·", "dim"),
    State.FAILED: ("✗", "red"),
}
_SHOWN_WHOLE = (State.STARTING, State.FAILED)

Row = tuple[RenderableType, RenderableType, RenderableType, RenderableType]


class ModelRows:
    """The resources of one model, each with its state and seconds.

    Args:
        name: The model's name.
        container: Its container, before its start.
        is_one_of_several: Whether a row of the model itself comes first, and those of
            its resources only while they matter.
    """

    def __init__(
        self, name: str, container: Container, *, is_one_of_several: bool
    ) -> None:
        self._name = name
        self._lifecycle: Lifecycle = lifecycle_of(container)
        self._graph = Graph.of(container)
        self._spinner = Spinner("dots", style="cyan")
        self._is_one_of_several = is_one_of_several

    def rows(self) -> Iterator[Row]:
        """The rows as of now: a mark, a name, seconds, and the state in words."""
        state, records = self._lifecycle.state, self._lifecycle.records
        if self._is_one_of_several:
            is_early = state is State.NOT_STARTED
            words = "waits for its turn" if is_early else str(state)
            yield self._row(state, self._name, _seconds_of_all(records), words)
        if self._is_one_of_several and state not in _SHOWN_WHOLE:
            return
        indent = "  " if self._is_one_of_several else ""
        for record in records.values():
            words = self._words(record, records)
            yield self._row(record.state, indent + record.name, _seconds(record), words)

    def _row(self, state: State, name: str, seconds: str, words: str) -> Row:
        mark, style = _MARKS.get(state, ("", "cyan"))
        return (
            self._spinner if state is State.STARTING else Text(mark, style),
            name,
            Text(seconds, justify="right"),
            Text(words, style),
        )

    def _words(self, record: Record, records: Mapping[str, Record]) -> str:
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


def _seconds_of_all(records: Mapping[str, Record]) -> str:
    """From the first resource that started to the last that is ready, or to now."""
    started = [r.started_at for r in records.values() if r.started_at is not None]
    ready = [r.ready_at for r in records.values() if r.ready_at is not None]
    if not started:
        return ""
    is_starting = any(r.state is State.STARTING for r in records.values())
    end = time.time() if is_starting or not ready else max(ready)
    return f"{end - min(started):.1f} s"
