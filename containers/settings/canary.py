"""The ``canary`` section: proof that tokens come out."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from containers.settings.section import Section

Seconds = Annotated[float, Field(gt=0)]


class CanarySettings(Section):
    """A generation of one token, at an interval; readiness follows its outcome.

    Attributes:
        interval_s: Seconds between two, above 0.
        timeout_s: Seconds a token may take, above 0; more than the longest wait of a
            request under full load.
    """

    interval_s: Seconds = 30.0
    timeout_s: Seconds = 60.0
