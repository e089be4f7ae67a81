"""Who uses a model at this moment, and since when nobody does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class Uses:
    """Counts the requests of a model, those that wait for it to load among them.

    One event loop's, as the requests are.

    Attributes:
        n: How many there are.
    """

    def __init__(self) -> None:
        self.n = 0
        self._idle_since = monotonic()

    @property
    def idle_s(self) -> float:
        """Seconds since the last one ended; 0 while there is one."""
        return 0.0 if self.n else monotonic() - self._idle_since

    def begin(self) -> Use:
        """Count one more, until it is released."""
        self.n += 1
        return Use(self)

    def touch(self) -> None:
        """Begin to count the seconds anew."""
        self._idle_since = monotonic()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more during the block."""
        use = self.begin()
        try:
            yield
        finally:
            use.release()

    def _end(self) -> None:
        self.n -= 1
        self.touch()


class Use:
    """One use of a model."""

    def __init__(self, uses: Uses) -> None:
        self._uses: Uses | None = uses

    def release(self) -> None:
        """End it; a second call does nothing."""
        if self._uses is not None:
            self._uses._end()  # noqa: SLF001  # two halves of one thing
            self._uses = None
