"""Routes: one file a noun, each thin, over an injected serving object."""

from types import ModuleType

from fastapi import APIRouter

from app.errors import ServingRoute
from app.lora_switch import is_enabled
from app.routes import (
    audio,
    caches,
    chat,
    chat_v2,
    chat_v2_render,
    classify,
    completions,
    derender,
    drain,
    embeddings,
    generative_scoring,
    invocations,
    load,
    loggers,
    lora,
    messages,
    metrics,
    models,
    no_scale_out,
    page,
    ping,
    pooling,
    probes,
    profile,
    realtime,
    reload,
    render,
    rerank,
    responses,
    score,
    server_info,
    sleep,
    status,
    structured_decisions,
    tokenize,
    tokenizer_info,
    tokens,
    unload,
    version,
)
from containers import vllm_api
from containers.settings import ServerSettings
from containers.vllm_api.cohere import is_cohere_enabled


def router(server: ServerSettings) -> APIRouter:
    """Collect every route in a router of its own, ready to be included in an app.

    Args:
        server: Server settings, which some routes are there by.
    """
    nouns = [embeddings, pooling, classify, score, rerank]
    nouns += [chat, completions, models, tokenize, probes, version, metrics]
    nouns += [responses, messages, generative_scoring]
    if vllm_api.offers("ServingStructuredDecisions"):
        nouns.append(structured_decisions)
    nouns += [audio, realtime, ping, invocations]
    nouns += [render, derender, tokens] if server.enable_scale_out else [no_scale_out]
    if is_cohere_enabled():
        nouns += [chat_v2, chat_v2_render] if server.enable_scale_out else [chat_v2]
    if server.enable_server_load_tracking:
        nouns.append(load)
    if server.enable_tokenizer_info_endpoint:
        nouns.append(tokenizer_info)
    if is_enabled(server):
        nouns.append(lora)
    nouns += _for_administrators(server)
    # Taken over as they are: to include a router makes each of its routes anew.
    return APIRouter(
        route_class=ServingRoute,
        routes=[route for noun in nouns for route in noun.router.routes],
    )


def _for_administrators(server: ServerSettings) -> list[ModuleType]:
    nouns: list[ModuleType] = []
    if server.has_admin_keys:
        nouns += [sleep, profile, caches, server_info, reload, loggers]
        nouns += [drain] if server.frontends > 1 else [unload, drain]
    if server.has_admin_keys or server.ui:
        nouns.append(status)
    if server.ui:
        nouns.append(page)
    return nouns
