"""Our routes are those of the stock server; each difference has a reason."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import WebSocketRoute

from app import create_app
from containers import Settings, vllm_api
from containers.vllm_api.names import later_than

Routes = set[tuple[str, str]]

GENERATE = ("generate",)
POOLING = ("embed", "token_embed", "classify")
HEARING = ("generate", "transcription", "realtime")

EVERYTHING: dict[str, Any] = {
    "enable_scale_out": True,
    "enable_server_load_tracking": True,
    "enable_tokenizer_info_endpoint": True,
    "enable_runtime_lora": True,
    "admin_keys": ["for-administration"],
}

ONLY_THEIRS = {
    ("GET", "/kv_event_sources"): "tells where caches of engines on other machines "
    "publish; the router that reads it is started with vLLM's own server",
    ("POST", "/is_scaling_elastic_ep"): "experts are moved between Ray's workers",
    ("POST", "/scale_elastic_ep"): "as above",
    ("POST", "/abort_requests"): "the guarded /inference/v1/abort_requests is here; "
    "this one is of vLLM's tokens-only mode",
    ("POST", "/v1/decisions"): "came with vLLM 0.33; /v1/systemone is here",
}
LATER = {
    ("POST", "/v1/decisions"): "0.33",
    ("POST", "/weight_checker"): "0.32",
    ("POST", "/shutdown_weight_transfer_engine"): "0.32",
    ("POST", "/inference/v1/abort_requests"): "0.32",
}
"""Routes that the stock server has only since a later release than the oldest."""

TRAINING = "changes weights in place for a trainer; one that embeds the engine calls it"
DEVELOPMENT = {
    ("POST", "/collective_rpc"): "runs any method in the workers, so any code",
    ("POST", "/abort_requests"): "/inference/v1/abort_requests is here",
    ("POST", "/release_kv_cache_memory"): "/sleep is here",
} | dict.fromkeys(
    [
        ("GET", "/get_world_size"),
        ("GET", "/is_paused"),
        ("GET", "/weight_info"),
        ("POST", "/finish_weight_update"),
        ("POST", "/init_weight_transfer_engine"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/shutdown_weight_transfer_engine"),
        ("POST", "/start_draft_weight_update"),
        ("POST", "/start_weight_update"),
        ("POST", "/update_weight_version"),
        ("POST", "/update_weights"),
        ("POST", "/weight_checker"),
    ],
    TRAINING,
)
"""Routes of its development mode that are left out."""

SAGEMAKER = "SageMaker's names for loading and unloading an adapter"
ONLY_THEIRS |= dict.fromkeys(
    [("POST", "/adapters"), ("DELETE", "/adapters/{adapter_name}")], SAGEMAKER
)
ONLY_OURS = {
    ("GET", "/livez"): "whether the process answers",
    ("GET", "/readyz"): "which models take requests",
    ("GET", "/startupz"): "how far the start is",
}


def absent() -> Routes:
    """Routes that the installed release does not have yet."""
    later = later_than(vllm_api.release_line())
    return {route for route, line in LATER.items() if line in later}


def stock(tasks: tuple[str, ...], **model: Any) -> Routes:
    """Routes of vLLM's own app for a model that can do these tasks."""
    from vllm.entrypoints.launchers.app import build_app

    parser = vllm_api.make_arg_parser(vllm_api.FlexibleArgumentParser())
    args: argparse.Namespace = parser.parse_args(
        [
            "--enable-scale-out",
            "--enable-server-load-tracking",
            "--enable-tokenizer-info-endpoint",
        ]
    )
    return routes_of(build_app(args, tasks, model.get("model_config")))


def ours(**server: Any) -> Routes:
    models = [{"name": "m", "source": "org/m"}]
    settings = Settings.model_validate({"models": models, "server": server})
    return routes_of(create_app(settings))


def routes_of(app: FastAPI) -> Routes:
    found: Routes = set()
    for route in app.routes:
        if isinstance(route, WebSocketRoute):
            found.add(("WebSocket", route.path))
        for method in getattr(route, "methods", None) or ():
            found.add((method, route.path))  # type: ignore[attr-defined]  # each has one
    return {route for route in found if route[0] != "HEAD"}


class PoolingModel:
    """What vLLM asks a model's configuration when it registers pooling routes."""

    io_processor_plugin = None

    @staticmethod
    def get_pooling_task(tasks: tuple[str, ...]) -> str:
        return "embed"

    is_cross_encoder = False
    score_type = "bi-encoder"
    num_labels = 1
    is_multimodal_model = False


@pytest.fixture(autouse=True)
def same_log_level() -> Iterator[None]:
    """The stock app sets the root logger's level, which is every other test's."""
    level = logging.root.level
    yield
    logging.root.setLevel(level)


@pytest.fixture
def runtime_lora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1")


@pytest.mark.usefixtures("runtime_lora")
@pytest.mark.parametrize("tasks", [GENERATE, POOLING, HEARING])
def test_every_route_of_the_stock_server_is_here_or_has_a_reason(
    tasks: tuple[str, ...],
) -> None:
    model = {"model_config": PoolingModel()} if tasks == POOLING else {}
    missing = stock(tasks, **model) - ours(**EVERYTHING)
    assert missing <= set(ONLY_THEIRS), missing - set(ONLY_THEIRS)


@pytest.mark.usefixtures("runtime_lora")
def test_of_its_development_mode_those_for_administration_are_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    normal = stock(GENERATE)
    monkeypatch.setenv("VLLM_SERVER_DEV_MODE", "1")
    missing = stock(GENERATE) - normal - ours(**EVERYTHING)
    assert missing == set(DEVELOPMENT) - absent()


@pytest.mark.usefixtures("runtime_lora")
def test_the_reasons_are_of_routes_that_the_stock_server_has() -> None:
    theirs = stock(GENERATE) | stock(POOLING, model_config=PoolingModel())
    assert set(ONLY_THEIRS) - {("POST", "/abort_requests")} - absent() <= theirs


def test_what_only_we_have_is_a_short_list() -> None:
    theirs = stock(HEARING) | stock(POOLING, model_config=PoolingModel())
    more = ours() - theirs
    more -= absent()
    assert more == set(ONLY_OURS), more ^ set(ONLY_OURS)
