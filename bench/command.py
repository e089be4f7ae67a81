"""The command of a part: how many turns, its figures, and the file they go to."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.figures import Figure, save


def run(
    about: str,
    part: str,
    measure: Callable[[int], Sequence[Figure]],
    *,
    n: int,
    prints: bool = True,
) -> None:
    """Measure, print, and write if asked to.

    Args:
        about: What is measured, as ``--help`` says it: the module's text.
        part: Name of the file the figures go to.
        measure: Measures so many times.
        n: How many times unless told otherwise.
        prints: Whether the figures are still to be printed.
    """
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument(
        "n", nargs="?", type=int, default=n, help=f"turns (default: {n})"
    )
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where figures go")
    options = parser.parse_args()
    figures = measure(options.n)
    if prints:
        print(*(figure.line() for figure in figures), sep="\n", flush=True)
    if options.json is not None:
        print(save(options.json, part, figures, []))
