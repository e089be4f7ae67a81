"""``vllm-di graph``: a picture of what is built from what."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands.options import (
    add_model_option,
    add_settings_options,
    load_settings,
)

if TYPE_CHECKING:
    from dependency_injector.containers import Container

    from containers.graph import Spans

EXIT_OK = 0


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser(
        "graph", help="draw what is built from what, in the order of a start"
    )
    add_settings_options(parser, default="the graph as it is declared")
    add_model_option(parser)
    parser.add_argument(
        "--format",
        choices=("text", "mermaid", "dot", "svg"),
        default="text",
        help="levels as text, or a drawing without the edges a longer way implies"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--timings",
        type=Path,
        metavar="FILE",
        help="add the seconds of a start, from the file of serve --timings",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the picture and return 0.

    Raises:
        SettingsError: The settings are wrong, or the file with the times is, or no
            model has the name.
        GraphError: The graph has a cycle.
    """
    from containers.graph import Graph

    name, container = _model(options)
    graph = Graph.of(container)
    spans = _spans(options.timings, name)
    picture = getattr(graph, options.format)
    print(picture({key: spans[key] for key in spans if key in graph.nodes}))
    return EXIT_OK


def _model(options: argparse.Namespace) -> tuple[str | None, Container]:
    from containers.application import ApplicationContainer
    from containers.model import ModelContainer

    if not (options.config or options.overrides or options.env_file or options.model):
        return None, ModelContainer()
    settings = load_settings(options)
    name = settings.models[settings.index_of(options.model)].name
    models: Mapping[str, Container] = ApplicationContainer(settings=settings).models()
    return name, models[name]


def _spans(timings: Path | None, name: str | None) -> Spans:
    if timings is None:
        return {}
    from app.timings import read_timings

    models = read_timings(timings)
    return models.get(name or "", next(iter(models.values()), {}))
