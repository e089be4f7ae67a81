"""Figures of two that are compared: medians, spread, ratio, and what they were of."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from containers import __version__
from containers.vllm_api import installed_version

PACKAGES = ("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "pydantic")


@dataclass
class Comparison:
    """One figure of ours and of what it is compared with, measured in turns.

    Attributes:
        name: What it is a figure of.
        unit: What it counts, such as ``chunks/s``.
        target: What the ratio ours/other must reach: at least, or at most if ``less``.
        ours: A value for each turn.
        other: The same of the other one.
        less: Whether less is better.
        against: What the other one is.
    """

    name: str
    unit: str
    target: float | None = None
    ours: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    less: bool = False
    against: str = "stock"

    @property
    def ratios(self) -> list[float]:
        """Ours divided by the other's, turn by turn."""
        return [a / b for a, b in zip(self.ours, self.other, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of these."""
        return statistics.median(self.ratios)

    def line(self) -> str:
        """A row of the table."""
        low, high = min(self.ratios), max(self.ratios)
        target = ""
        if self.target is not None:
            target = f"{'<=' if self.less else '>='} {self.target}"
        return (
            f"{self.name:28} {self.unit:14} {spread(self.ours)} {spread(self.other)} "
            f"{self.ratio:6.2f} ({low:.2f} to {high:.2f})  {target}"
        )


@dataclass
class Single:
    """One figure that is compared with a limit only.

    Attributes:
        name: What it is a figure of.
        unit: Its unit.
        limit: The most it may be; ``None`` for none.
        values: A value for each turn.
    """

    name: str
    unit: str
    limit: float | None = None
    values: list[float] = field(default_factory=list)

    def line(self) -> str:
        """A row of the table."""
        limit = "" if self.limit is None else f"<= {self.limit}"
        return f"{self.name:28} {self.unit:14} {spread(self.values)} {limit:>30}"


@dataclass
class Curve:
    """How a figure grows, for ours and what it is compared with.

    Attributes:
        name: What it is a figure of.
        over: What grows, such as ``streams``.
        unit: Unit of the figure.
        points: For each of the two, by its name: pairs of size and figure.
    """

    name: str
    over: str
    unit: str
    points: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


Figure = Comparison | Single


def spread(values: Sequence[float]) -> str:
    """Median and extremes in one column."""
    middle = statistics.median(values)
    return f"{_short(middle):>8} [{_short(min(values))}, {_short(max(values))}]".ljust(
        28
    )


def _short(value: float) -> str:
    digits = 0 if value >= 1000 else 1 if value >= 10 else 3  # noqa: PLR2004  # as printed
    return f"{value:,.{digits}f}"


def surroundings() -> dict[str, Any]:
    """Machine and versions."""
    return {
        "machine": platform.machine(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "load_average": [round(each, 2) for each in psutil.getloadavg()],
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "vllm_di": __version__,
        "vllm": installed_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((x.partition(": ")[2] for x in lines if x.startswith("model name")), "")


def save(
    folder: Path,
    part: str,
    figures: Sequence[Figure],
    curves: Sequence[Curve],
    **more: Any,
) -> Path:
    """Write all single values of a part to a JSON file."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "part": part,
        **surroundings(),
        **more,
        "figures": [asdict(figure) for figure in figures],
        "curves": [asdict(curve) for curve in curves],
    }
    path = folder / f"{part}.json"
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path
