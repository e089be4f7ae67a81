"""What can be known of a config file in seconds, without weights or an engine."""

from app.checks.report import Report
from app.checks.steps import check_config

__all__ = ["Report", "check_config"]
