"""The models as a Ray Serve application: ``serve run app.ray:build``."""

from app.ray.application import build

__all__ = ["build"]
