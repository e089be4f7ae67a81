"""Middleware of an app of ours: pure ASGI, so a client's leaving is always noticed."""

from app.middleware.authentication import AuthenticationMiddleware
from app.middleware.stack import add_middleware, authenticate_own_routes

__all__ = ["AuthenticationMiddleware", "add_middleware", "authenticate_own_routes"]
