"""What can be seen of a server from outside."""

from __future__ import annotations

from containers.settings.section import Section


class ObservationSettings(Section):
    """Metrics of requests.

    Attributes:
        request_metrics: Whether requests are counted and timed, by route, for
            ``/metrics``.
    """

    request_metrics: bool = True
