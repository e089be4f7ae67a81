"""Routes: one file a noun, each thin, over an injected serving object."""

from fastapi import APIRouter

from app.errors import ServingRoute
from app.routes import (
    chat,
    completions,
    load,
    metrics,
    models,
    probes,
    tokenize,
    tokenizer_info,
    version,
)
from containers.settings import ServerSettings


def router(server: ServerSettings) -> APIRouter:
    """Collect every route in a router of its own, ready to be included in an app.

    Args:
        server: Server settings, which some routes are there by.
    """
    nouns = [chat, completions, models, tokenize, probes, version, metrics]
    if server.enable_server_load_tracking:
        nouns.append(load)
    if server.enable_tokenizer_info_endpoint:
        nouns.append(tokenizer_info)
    # Taken over as they are: to include a router makes each of its routes anew.
    return APIRouter(
        route_class=ServingRoute,
        routes=[route for noun in nouns for route in noun.router.routes],
    )
