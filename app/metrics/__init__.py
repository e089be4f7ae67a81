"""What the server and its models do, as Prometheus metrics."""

from app.metrics.collecting import own_metrics
from app.metrics.families import FAMILIES, Family
from app.metrics.reloads import counted
from app.metrics.requests import RequestCounts

__all__ = ["FAMILIES", "Family", "RequestCounts", "counted", "own_metrics"]
