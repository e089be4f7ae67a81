"""What a failed start tells."""

from __future__ import annotations

from collections.abc import Iterable

from containers.errors import ServingError, StartError, StopError
from containers.graph import Graph


def start_error(
    name: str, cause: BaseException | None, graph: Graph, wanted: Iterable[str]
) -> BaseException:
    """The error of a start that failed at one resource.

    Args:
        name: The resource.
        cause: What it failed with; Ctrl-C is given back as it is.
        graph: The graph of this start.
        wanted: The roots of this start.
    """
    if isinstance(cause, KeyboardInterrupt):
        return cause
    error = StartError(
        resource=name,
        path=_path_to(name, graph, set(wanted)),
        reason=_reason(cause),
        hint=_hint(cause),
    )
    error.__cause__ = cause
    return error


def note_trouble(error: BaseException, trouble: StopError) -> None:
    """Add what went wrong while closing to an error that must not be masked."""
    for part in trouble.exceptions:
        where = "; ".join(getattr(part, "__notes__", ()))
        error.add_note(f"{where}: {type(part).__name__}: {part}")


def _path_to(name: str, graph: Graph, roots: set[str]) -> tuple[str, ...]:
    tops = (root for root in graph.nodes if graph.downstream([root]) & roots == {root})
    top = next(root for root in tops if name in graph.upstream([root]))
    return graph.path(top, name)


def _reason(cause: BaseException | None) -> str:
    text = str(cause).rstrip(".")
    if isinstance(cause, (ServingError, TimeoutError)) and text:
        return text
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _hint(cause: BaseException | None) -> str:
    if isinstance(cause, TimeoutError):
        return "Allow it more time, or find out what its builder waits for."
    return "Its own error, the cause of this one, shows where."
