"""One header of a request, without what an object of all of them costs."""

from __future__ import annotations

from starlette.types import Scope


def header(scope: Scope, name: bytes) -> str:
    """The first value of a header, or an empty string.

    Args:
        scope: The request's scope.
        name: The header's name in lower case.
    """
    for each, value in scope["headers"]:
        if each == name:
            text: str = value.decode("latin-1")
            return text
    return ""
