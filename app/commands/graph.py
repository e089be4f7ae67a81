"""``vllm-di graph``: a picture of what is built from what."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dependency_injector.containers import Container

from app.timings import read_timings
from containers.application import ApplicationContainer
from containers.graph import Graph, Spans
from containers.model import ModelContainer
from containers.settings import Settings

EXIT_OK = 0


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser(
        "graph", help="draw what is built from what, in the order of a start"
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="PATH",
        help="draw the model of these settings (default: the graph as it is declared)",
    )
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
        SettingsError: The settings are wrong, or the file with the times is.
        GraphError: The graph has a cycle.
    """
    name, container = _model(options.config)
    graph = Graph.of(container)
    spans = _spans(options.timings, name)
    picture = getattr(graph, options.format)
    print(picture({key: spans[key] for key in spans if key in graph.nodes}))
    return EXIT_OK


def _model(config: Path | None) -> tuple[str | None, Container]:
    if config is None:
        return None, ModelContainer()
    models: Mapping[str, Container] = ApplicationContainer(
        settings=Settings.load(config)
    ).models()
    return next(iter(models.items()))


def _spans(timings: Path | None, name: str | None) -> Spans:
    if timings is None:
        return {}
    models = read_timings(timings)
    return models.get(name or "", next(iter(models.values()), {}))
