"""One log line for each request, when it has been answered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any
from urllib.parse import quote

from containers.log_format import ACCESS, FIELDS
from containers.masks import masked_where_known
from containers.request_record import RequestRecord
from containers.settings import ServerSettings

UNQUOTED = "/:@!$&'()*+,;=~"
"""What a path may have as it is; the rest could be taken for another line."""


class AccessLog:
    """Writes the line of a request that has been answered.

    What machines ask every few seconds is a line of level ``debug``.

    Args:
        server: Server settings.
        is_quiet: Whether it is such a request, by its path.
        prefix: Path before ours in the app.
    """

    def __init__(
        self, server: ServerSettings, is_quiet: Callable[[str], bool], *, prefix: str
    ) -> None:
        left_out = server.disable_access_log_for_endpoints
        self._left_out = frozenset(prefix + path for path in left_out)
        self._is_quiet = is_quiet
        self._logger = logging.getLogger(ACCESS)

    def write(self, record: RequestRecord, caller: str | None) -> None:
        """Write it, unless the settings or the logger's level say not to.

        Args:
            record: The request.
            caller: Name of the API key it bore, if it bore one.
        """
        level = logging.DEBUG if self._is_quiet(record.path) else logging.INFO
        if not self._logger.isEnabledFor(level) or record.path in self._left_out:
            return
        fields = _fields(record, caller)
        details = " ".join(f"{key}={value}" for key, value in fields.items())
        path = masked_where_known(record.path)
        quoted = quote(path, safe=UNQUOTED)
        text = f"{record.method} {quoted} {record.status} {details}"
        extra = {"method": record.method, "path": path, "status": record.status}
        # As Logger.log does, but for the search of its caller, which is half its time.
        made = self._logger.makeRecord(
            ACCESS, level, "", 0, text, (), None, extra={FIELDS: extra | fields}
        )
        self._logger.handle(made)


def _fields(record: RequestRecord, caller: str | None) -> dict[str, Any]:
    """What is known of it, without what is not."""
    first_s = record.first_token_s if record.is_stream else None
    found = {
        "seconds": round(perf_counter() - record.began_s, 4),
        "model": record.model or None,
        "prompt_tokens": record.n_prompt_tokens,
        "completion_tokens": record.n_completion_tokens,
        "first_token_s": None
        if first_s is None
        else round(first_s - record.began_s, 4),
        "finish": record.finish,
        "stream": record.is_stream or None,
        "broken_off": not record.is_whole or None,
        "close_code": record.close_code,
        "caller": caller,
    }
    return {key: value for key, value in found.items() if value is not None}
