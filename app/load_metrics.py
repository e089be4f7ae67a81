"""The engine's load in a response header, for balancers that ask for it."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request

from app.headers import header
from containers import vllm_api

FORMAT_HEADER = b"endpoint-load-metrics-format"


def load_headers(request: Request) -> Mapping[str, str] | None:
    """ORCA's ``endpoint-load-metrics`` header, if the request names a format of it.

    Args:
        request: Its ``endpoint-load-metrics-format`` header says ``TEXT`` or ``JSON``;
            any other format is none.

    Source:
        vllm/entrypoints/serve/utils/orca_metrics.py (0.32.0).
    """
    wanted = header(request.scope, FORMAT_HEADER)
    if not wanted:
        return None
    headers: Mapping[str, str] | None = vllm_api.metrics_header(wanted)
    return headers
