"""How soon front ends that have failed are replaced."""

from __future__ import annotations

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 600.0
CALM_S = 3600.0
"""Seconds without a failure after which those before count no more."""


class Patience:
    """The pauses between replacements, each twice as long as the one before.

    An engine has so many places for front ends, and what fails for a lasting reason
    shall not use them up: sixteen take over an hour, however many front ends there are.
    """

    def __init__(self) -> None:
        self._pause_s = FIRST_PAUSE_S
        self._next_at = 0.0

    def pause_s(self, now_s: float) -> float:
        """Seconds until one that fails now may be replaced; each has its turn.

        Args:
            now_s: Seconds of a clock that never goes back.
        """
        if now_s - self._next_at > CALM_S:
            self._pause_s = FIRST_PAUSE_S
        self._next_at = max(now_s, self._next_at) + self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        return self._next_at - now_s
