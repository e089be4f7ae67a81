"""Requests, counted as they end: a few additions each, no lock, no lookup of labels."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from time import perf_counter

from containers.registry.tally import Seconds
from containers.request_record import RequestRecord

BOUNDS_S = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0),
)
"""Upper bounds of the histograms' buckets, in seconds."""

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

CLOSE_CODES = frozenset(range(1000, 1016))
"""Those that WebSockets define; a client may close with any other."""

Where = tuple[str, str]
"""Route and model."""


class Distribution:
    """A histogram of seconds.

    Attributes:
        sum_s: All of them together.
    """

    __slots__ = ("_counts", "sum_s")

    def __init__(self) -> None:
        self.sum_s = 0.0
        self._counts = [0] * (len(BOUNDS_S) + 1)

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    @property
    def buckets(self) -> list[tuple[str, float]]:
        """Upper bound and number up to it, as Prometheus wants them."""
        buckets, n = [], 0
        for bound, count in zip((*BOUNDS_S, "+Inf"), self._counts, strict=True):
            n += count
            buckets.append((str(bound), float(n)))
        return buckets


class RequestCounts:
    """The requests of an app. One event loop's, so it needs no lock.

    Attributes:
        in_flight: Those that are being answered.
        answered: How many have been, by route, method, status and model.
        seconds: What they took.
        first_token: What streams took to their first token.
        sessions: Sessions over a WebSocket that have ended, by route, code and model.
        session_seconds: What they took.
    """

    def __init__(self) -> None:
        self.in_flight: set[RequestRecord] = set()
        self.answered: Counter[tuple[str, str, int, str]] = Counter()
        self.seconds: dict[Where, Distribution] = {}
        self.first_token: dict[Where, Distribution] = {}
        self.sessions: Counter[tuple[str, str, str]] = Counter()
        self.session_seconds: dict[Where, Seconds] = {}

    def begin(self, record: RequestRecord) -> None:
        """Count one that has come."""
        self.in_flight.add(record)

    def end(self, record: RequestRecord) -> None:
        """Count one whose answer has ended."""
        self.in_flight.discard(record)
        where = (record.route, record.model)
        if record.is_session:
            self._end_session(record, where)
            return
        method = record.method if record.method in METHODS else "other"
        self.answered[record.route, method, record.status, record.model] += 1
        _of(self.seconds, where).add(perf_counter() - record.began_s)
        if record.is_stream and record.first_token_s is not None:
            seconds = record.first_token_s - record.began_s
            _of(self.first_token, where).add(seconds)

    def _end_session(self, record: RequestRecord, where: Where) -> None:
        code = record.close_code
        shown = str(code) if code in CLOSE_CODES else "other"
        self.sessions[record.route, shown, record.model] += 1
        seconds = self.session_seconds.setdefault(where, Seconds())
        seconds.add(perf_counter() - record.began_s)

    def now(self) -> Counter[Where]:
        """How many are being answered, by route and model; 0 where there were some."""
        return self._of_now(self.seconds, is_session=False)

    def sessions_now(self) -> Counter[Where]:
        """How many sessions are open, by route and model; 0 where there were some."""
        return self._of_now(self.session_seconds, is_session=True)

    def _of_now(self, known: Iterable[Where], *, is_session: bool) -> Counter[Where]:
        counts: Counter[Where] = Counter(dict.fromkeys(known, 0))
        counts.update(
            (each.route, each.model)
            for each in self.in_flight
            if each.is_session == is_session
        )
        return counts


def _of(distributions: dict[Where, Distribution], where: Where) -> Distribution:
    found = distributions.get(where)
    if found is None:
        found = distributions[where] = Distribution()
    return found
