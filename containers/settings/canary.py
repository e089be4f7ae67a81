"""The ``canary`` section: proof that tokens come out."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from containers.settings.section import Section

Seconds = Annotated[float, Field(gt=0)]


class CanarySettings(Section):
    """A request for one token, or one vector; readiness follows its outcome.

    Attributes:
        interval_s: Seconds between two, above 0.
        timeout_s: Seconds an answer may take, above 0; more than the longest wait of a
            request under full load.
        max_failures: Failures one after the other, 1 or more, upon which the engine
            counts as hung, and is replaced as a dead one is; ``None`` for never.
    """

    interval_s: Seconds = 30.0
    timeout_s: Seconds = 60.0
    max_failures: Annotated[int, Field(ge=1)] | None = None
