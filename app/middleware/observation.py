"""Who watches the requests of an app, by its settings."""

from __future__ import annotations

import logging
from random import getrandbits

from starlette.types import Scope

from app.metrics.requests import RequestCounts
from app.middleware.access_log import AccessLog
from app.middleware.authentication import CALLER
from app.middleware.paths import PAGE, PROBES, OpenPaths, route_of, routed_path
from app.middleware.session import METHOD
from app.traces import Traces
from containers.request_record import RequestRecord
from containers.settings import ServerSettings
from containers.vllm_api.counted import note_usage

logger = logging.getLogger(__name__)

_FEEDS = {"/metrics", "/load", "/version", "/admin/status"}
_OF_THE_PAGE = {"/admin/status/events", "/admin/settings"}
QUIET = PROBES | PAGE | _FEEDS | _OF_THE_PAGE
"""Paths that are asked every few seconds by machines, and are not counted."""

ID_HEADER = b"x-request-id"
MAX_ID_CHARS = 128
ID_BITS = 128


class Observation:
    """What is done at the beginning and at the end of each request.

    Args:
        server: Server settings.
        counts: Where requests are counted.
        traces: The app's traces, if it is traced.
        prefix: Path before ours in the app.
    """

    def __init__(
        self,
        server: ServerSettings,
        counts: RequestCounts,
        traces: Traces | None,
        *,
        prefix: str = "",
    ) -> None:
        is_traced = traces is not None and server.traces and server.traces.requests
        self._traces = traces if is_traced else None
        self._counts = counts if server.request_metrics else None
        self._is_quiet = OpenPaths(prefix + path for path in QUIET).has
        self._access_log: AccessLog | None = None
        if server.logs.requests and not server.disable_uvicorn_access_log:
            self._access_log = AccessLog(server, self._is_quiet, prefix=prefix)

    @property
    def is_wanted(self) -> bool:
        """Whether anybody watches at all."""
        watching = (self._counts, self._access_log, self._traces)
        return any(each is not None for each in watching)

    def begin(self, scope: Scope) -> RequestRecord:
        """A record of a request that has come, or of a session's handshake."""
        record = RequestRecord(
            scope.get("method", METHOD), routed_path(scope), _id_of(scope)
        )
        if self._is_quiet(record.path):
            return record
        if self._counts is not None:
            self._counts.begin(record)
        if self._traces is not None and self._traces.requests is not None:
            record.span = self._traces.requests.begin(record, scope)
        return record

    def end(self, record: RequestRecord, scope: Scope) -> None:
        """Tell all who watch that its answer has ended; what fails there harms none."""
        try:
            self._end(record, scope)
        except Exception:
            logger.exception("a request could not be told of")
        finally:
            if record.span is not None and self._traces is not None:
                self._traces.end(record)

    def _end(self, record: RequestRecord, scope: Scope) -> None:
        if not record.route:
            record.route = route_of(scope)
        note_usage(record, scope.get("state", {}))
        if self._counts is not None and not self._is_quiet(record.path):
            self._counts.end(record)
        if self._access_log is not None:
            self._access_log.write(record, scope.get(CALLER))


def _id_of(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == ID_HEADER and value:
            text: str = value[:MAX_ID_CHARS].decode("latin-1")
            if text.isprintable():  # or it could steer a terminal
                return text
    return f"{getrandbits(ID_BITS):0{ID_BITS // 4}x}"
