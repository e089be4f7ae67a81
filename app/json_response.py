"""JSON for whatever a request has said."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """Starlette's ``JSONResponse``, also of text that is no Unicode.

    Half of a surrogate pair is legal in JSON and comes back where an answer quotes the
    request; UTF-8 has no bytes for it, but JSON has an escape.
    """

    def render(self, content: Any) -> bytes:
        """Bytes of the body."""
        try:
            return super().render(content)
        except UnicodeEncodeError:
            text = json.dumps(content, allow_nan=False, separators=(",", ":"))
            return text.encode()
