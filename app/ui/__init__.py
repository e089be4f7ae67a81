"""The files of the status page; they are served as they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
INDEX = "index.html"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of each file, by its name; they are read once."""
    return {
        path.name: (path.read_bytes(), MEDIA_TYPES[path.suffix])
        for path in sorted(FOLDER.iterdir())
        if path.suffix in MEDIA_TYPES
    }
