"""Middleware of an app of ours: pure ASGI, so a client's leaving is always noticed."""

from app.middleware.observation import Observation
from app.middleware.stack import ADMIN, Guards, add_middleware

__all__ = ["ADMIN", "Guards", "Observation", "add_middleware"]
