"""Metrics of several replicas as one text."""

from __future__ import annotations

from collections.abc import Sequence

LABEL = "replica"


def merged(measured: Sequence[tuple[str, bytes]]) -> bytes:
    """The metrics of replicas in Prometheus' text format, each with its replica's name.

    Args:
        measured: Name and metrics of each replica.
    """
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for replica, text in measured:
        family = ""
        for line in text.decode().splitlines():
            if line.startswith("# "):
                _, kind, family, *_ = line.split(" ", 3)
                head = heads.setdefault(family, [])
                if not any(each.startswith(f"# {kind} ") for each in head):
                    head.append(line)
            elif line:
                samples.setdefault(family, []).append(_labelled(line, replica))
    lines = [
        line
        for family, head in heads.items()
        for line in (*head, *samples.get(family, ()))
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _labelled(line: str, replica: str) -> str:
    label = f'{LABEL}="{replica}"'
    name, brace, rest = line.partition("{")
    if brace and " " not in name:
        return f"{name}{{{label},{rest}" if rest[0] != "}" else f"{name}{{{label}{rest}"
    name, _, value = line.partition(" ")
    return f"{name}{{{label}}} {value}"
