"""What one API key may still ask for: requests at a time, and requests a minute."""

from __future__ import annotations

import math
from collections import deque
from time import monotonic

WINDOW_S = 60.0
BUSY_RETRY_AFTER_S = 1
"""Seconds to wait for one of the key's own requests to end: nobody knows when."""


class LimitReachedError(Exception):
    """The key has no request left at this moment.

    Attributes:
        message: Which limit, for the client.
        retry_after_s: Whole seconds after which to ask again.
    """

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        self.message = message
        self.retry_after_s = retry_after_s
        super().__init__(message)


class Allowance:
    """Counts one key's requests. One event loop's, so it needs no lock.

    Args:
        max_concurrent_requests: Requests answered at the same time; ``None`` for any
            number.
        max_requests_per_minute: Requests within any 60 seconds; ``None`` for any
            number. Those that were refused do not count.
    """

    def __init__(
        self,
        *,
        max_concurrent_requests: int | None,
        max_requests_per_minute: int | None,
    ) -> None:
        self._n = 0
        self._begun: deque[float] = deque()
        self.change(
            max_concurrent_requests=max_concurrent_requests,
            max_requests_per_minute=max_requests_per_minute,
        )

    def change(
        self,
        *,
        max_concurrent_requests: int | None,
        max_requests_per_minute: int | None,
    ) -> None:
        """Take other limits from now on; what has been used up stays used up."""
        self._max_concurrent = max_concurrent_requests
        self._max_per_minute = max_requests_per_minute
        self._begun = deque(self._begun, maxlen=max_requests_per_minute or 0)

    def begin(self) -> None:
        """Count one more; :meth:`end` belongs to it.

        Raises:
            LimitReachedError: It would be one too many; it is not counted.
        """
        self._check_concurrent()
        self._check_minute()
        self._begun.append(monotonic())
        self._n += 1

    def end(self) -> None:
        """Count one less at this moment."""
        self._n -= 1

    def _check_concurrent(self) -> None:
        if self._max_concurrent is not None and self._n >= self._max_concurrent:
            raise LimitReachedError(
                f"Rate limit reached: {self._max_concurrent} concurrent requests.",
                retry_after_s=BUSY_RETRY_AFTER_S,
            )

    def _check_minute(self) -> None:
        # The oldest of the last N is the one that has to be a minute ago.
        if self._max_per_minute is None or len(self._begun) < self._max_per_minute:
            return
        wait_s = WINDOW_S - (monotonic() - self._begun[0])
        if wait_s > 0:
            raise LimitReachedError(
                f"Rate limit reached: {self._max_per_minute} requests per minute.",
                retry_after_s=max(1, math.ceil(wait_s)),
            )
