"""Record what a real engine answers, and answer the same again without it."""

from containers.testing.cassettes.recording import Mode, RecordingEngine
from containers.testing.cassettes.replay import ReplayEngine

__all__ = ["Mode", "RecordingEngine", "ReplayEngine"]
