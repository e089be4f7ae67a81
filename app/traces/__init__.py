"""Traces by OpenTelemetry; nothing of it is imported unless the settings ask for it."""

from app.traces.traces import Traces, traced, traces_of

__all__ = ["Traces", "traced", "traces_of"]
