"""The root of all errors."""

from __future__ import annotations

from typing import Any


class ServingError(Exception):
    """Root of the tree: ``except ServingError`` catches whatever we raise.

    Every one survives pickling, so it can cross processes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the attributes, whatever the constructor takes."""
        return _rebuilt, (type(self), self.args, vars(self).copy())


def _rebuilt(
    kind: type[ServingError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> ServingError:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error
