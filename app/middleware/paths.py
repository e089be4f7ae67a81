"""Paths as routes see them, and which of them need no key."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import normpath

from starlette.types import Scope

PROBES = frozenset({"/livez", "/readyz", "/startupz", "/health", "/ping"})
"""Paths that never need a key, and that no limit holds up."""

BELOW = "/*"

PAGE = frozenset({"/ui", "/ui/", "/ui/*"})
"""Paths of the status page's files, which hold nothing of the server's."""


class OpenPaths:
    """Tells by its path whether a request needs no key.

    A path counts as it is routed: decoded once, without the root path, and otherwise
    letter by letter. ``//health``, ``/Health`` and ``/health/`` are other paths.

    Args:
        paths: The paths; one that ends in ``/*`` is all below it.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        paths = {*paths}
        self._paths = {path for path in paths if not path.endswith(BELOW)}
        self._folders = tuple(path[:-1] for path in paths if path.endswith(BELOW))

    def __call__(self, scope: Scope) -> bool:
        """Whether the request of this scope needs no key."""
        return self.has(routed_path(scope))

    def has(self, path: str) -> bool:
        """Whether a path, as routes see it, is one of them."""
        is_below = path.startswith(self._folders) and path == normpath(path)
        return is_below or path in self._paths


def routed_path(scope: Scope) -> str:
    """The path as routes see it: without the root path, if it has it.

    Source:
        starlette/_utils.py ``get_route_path`` (1.0).
    """
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    if not root or not path.startswith(root):
        return path
    rest = path[len(root) :]
    return rest if rest.startswith("/") else path


def route_of(scope: Scope) -> str:
    """Path of the route that a request has reached; empty if it has reached none."""
    path: str = getattr(scope.get("route"), "path", "")
    return path
