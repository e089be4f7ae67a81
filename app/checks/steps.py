"""The checks of one config file, in the order of a start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from dependency_injector import providers
from dependency_injector.containers import Container

from app.checks.files import check_files
from app.checks.memory import check_memory, check_weights
from app.checks.report import Report
from app.checks.server import check_server
from app.checks.words import described
from containers.application import ApplicationContainer
from containers.errors import ServingError, StartError
from containers.graph import Graph
from containers.lifecycle import Record, State, lifecycle_of, running
from containers.settings import ModelSettings, Settings
from containers.source import Located, locate
from containers.vllm_api import installed_version, release_line

ROOT = "online_renderer"
"""What is loaded for a check: it and what it needs, which is no engine."""

LOADED = ("vllm_config", "tokenizer", "chat_template", ROOT)

GIVE_UP_AFTER_S = 1.0
"""Seconds to wait, after Ctrl-C, for a builder that cannot be interrupted."""


def check_config(load: Callable[[], Settings], words: str, report: Report) -> None:
    """Check everything that a start needs, up to the chat template.

    Settings, vLLM's release, the graphs, address, certificates and middleware; then of
    each model its files, weights, configuration, tokenizer, template and memory. No
    weights are loaded, no engine is started, nothing is fetched or unpacked.

    Args:
        load: Loads the settings.
        words: What they are loaded from.
        report: Told how each check came out.
    """
    settings = report.attempt(
        "settings",
        lambda: _with_room(load(), report),
        lambda found: f"{words}, serving {_names(found)}",
    )
    release = report.attempt(
        "vllm", release_line, lambda _: f"release {installed_version()}"
    )
    if settings is None:
        for name in ("graph", "address", "model", *LOADED, "memory"):
            report.not_tried(name, "the settings are wrong")
        return
    application = ApplicationContainer(settings=settings)
    graph = report.attempt("graph", lambda: _check_graphs(application), str)
    check_server(settings.server, report)
    obstacle = "the graph is wrong" if graph is None else ""
    obstacle = "this vLLM cannot be used" if release is None else obstacle
    for index, (name, container) in enumerate(application.models().items()):
        prefix = _prefix(name, settings)
        key = f"models.{index}"
        check_files(container.settings(), report, prefix=prefix, key=key)
        _check_model(container, report, prefix, obstacle)


def _with_room(settings: Settings, report: Report) -> Settings:
    for model in settings.models:
        report.make_room(_prefix(model.name, settings) + ROOT)
    return settings


def _prefix(name: str, settings: Settings) -> str:
    """What the names of a model's checks begin with, where there are several."""
    return f"{name}." if len(settings.models) > 1 else ""


def _names(settings: Settings) -> str:
    return ", ".join(name for model in settings.models for name in model.names)


def _check_graphs(application: Container) -> str:
    containers = [application, *application.models().values()]
    graphs = [Graph.of(container) for container in containers]
    for graph in graphs:
        graph.check()
    n_resources = sum(len(graph.resources) for graph in graphs)
    return f"{n_resources} resources in order, every argument fits its builder"


def _check_model(
    container: Container, report: Report, prefix: str, obstacle: str
) -> None:
    settings: ModelSettings = container.settings()
    revision = settings.engine.get("revision")
    located = report.attempt(
        f"{prefix}model",
        lambda: locate(settings.source, revision=revision),
        lambda found: found.description,
    )
    weights = None
    if located is not None and located.path is not None:
        weights = check_weights(settings, located.path, report, prefix=prefix)
    if obstacle or located is None or located.path is None:
        for name in (*LOADED, "memory"):
            report.not_tried(prefix + name, obstacle or _obstacle(located))
        return
    container.model.override(providers.Object(located.path))
    vllm_config = asyncio.run(_load(container, report, prefix))
    check_memory(vllm_config, weights, report, prefix=prefix)


def _obstacle(located: Located | None) -> str:
    if located is None:
        return "there is no model"
    return "the model is not here yet; after the first start this can be checked"


async def _load(container: Container, report: Report, prefix: str) -> Any:
    """Load and describe each object; the configuration is returned, if there is one."""
    lifecycle = lifecycle_of(container)
    lifecycle.stop_timeout_s = GIVE_UP_AFTER_S
    left = list(LOADED)
    configs: list[Any] = []

    def on_change(record: Record) -> None:
        if record.name in left and record.state is State.STARTING:
            report.doing(f"{prefix}{record.name} ...")
        if record.name in left and record.state is State.READY:
            left.remove(record.name)
            loaded = lifecycle.objects[record.name]
            if record.name == LOADED[0]:
                configs.append(loaded)
            text = described(record.name, loaded)
            report.ok(prefix + record.name, text, seconds=record.seconds)

    lifecycle.listen(on_change)
    try:
        async with running(container, ROOT):
            pass
    except StartError as error:
        report.failed(prefix + error.resource, _cause(error))
        for name in left:
            if name != error.resource:
                report.not_tried(prefix + name, f"{error.resource} failed")
    return configs[0] if configs else None


def _cause(error: StartError) -> BaseException:
    cause = error.__cause__
    return cause if isinstance(cause, ServingError) else error
