"""Routes: one file a noun, each thin, over an injected serving object."""

from fastapi import APIRouter

from app.errors import ServingRoute
from app.routes import chat, completions, metrics, models, probes, tokenize, version


def router() -> APIRouter:
    """Collect every route in a router of its own, ready to be included in an app."""
    every = APIRouter(route_class=ServingRoute)
    for noun in (chat, completions, models, tokenize, probes, version, metrics):
        every.include_router(noun.router)
    return every
