"""The metrics of several processes of one server as one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ADDED_UP = ("counter", "histogram", "summary")
"""Kinds of which each process has its own share."""

OURS, OURS_OF_REQUESTS = "vllm_di_", ("vllm_di_request", "vllm_di_session")
"""Beginning of metrics of ours, of which each process has a share of these alone: what
becomes of the model and the server is told by the process that owns the engine.
"""

GAUGES_ADDED_UP = frozenset(
    {
        "vllm_di_requests_in_flight",
        "vllm_di_sessions_open",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_open_fds",
    }
)

OF_THE_ENGINE = "vllm:"
"""Beginning of gauges that tell of the engine: who heard of it last knows them best."""

ONLY_OWN = ("_created", "_sleep_state")
"""Ends of those that the process that owns the engine sets by itself."""


@dataclass
class Family:
    """One metric.

    Attributes:
        head: Its lines of help and type.
        kind: Prometheus' type.
        samples: Its values, by name and labels.
    """

    head: list[str] = field(default_factory=list)
    kind: str = ""
    samples: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process has measured.

    Attributes:
        text: Its metrics in Prometheus' text format.
        heard_at: Seconds of the machine's monotonic clock at which the engine last told
            it how it stands; 0 for never.
    """

    text: bytes
    heard_at: float = 0.0


def together(own: Measured, others: Sequence[Measured], gone: bytes = b"") -> bytes:
    """Metrics of a whole server.

    What a process counts is added up. Gauges are those of the process that owns the
    engine, or, where they tell of the engine itself, of the one that heard of it last.

    Args:
        own: Of the process that owns the engine.
        others: Of each other front end.
        gone: What front ends that are gone had counted, as :func:`counted` gives it.
    """
    families = _read(own.text)
    latest, latest_at = families, own.heard_at
    read = [_read(each.text) for each in others]
    for each, found in zip(others, read, strict=True):
        if each.heard_at > latest_at:
            latest, latest_at = found, each.heard_at
    for found in [*read, _read(gone)]:
        _add(families, found)
    _tell_of_the_engine(families, latest)
    return _text(families)


def counted(texts: Sequence[bytes]) -> bytes:
    """Only what was counted, added up, of processes that are gone."""
    families: dict[str, Family] = {}
    for text in texts:
        _add(families, _read(text), also_gauges=False)
    return _text(families)


def _add(
    families: dict[str, Family], more: dict[str, Family], *, also_gauges: bool = True
) -> None:
    for name, family in more.items():
        is_gauge = name in GAUGES_ADDED_UP and also_gauges
        is_owners = name.startswith(OURS) and not name.startswith(OURS_OF_REQUESTS)
        if is_owners or (family.kind not in ADDED_UP and not is_gauge):
            continue
        known = families.setdefault(name, Family(family.head, family.kind))
        for key, value in family.samples.items():
            known.samples[key] = known.samples.get(key, 0.0) + value


def _tell_of_the_engine(families: dict[str, Family], latest: dict[str, Family]) -> None:
    for name, family in latest.items():
        is_gauge = family.kind == "gauge" and not name.endswith(ONLY_OWN)
        if is_gauge and name.startswith(OF_THE_ENGINE):
            known = families.setdefault(name, Family(family.head, family.kind))
            known.samples |= family.samples


def _read(text: bytes) -> dict[str, Family]:
    families: dict[str, Family] = {}
    family = Family()
    for line in text.decode().split("\n"):  # labels may hold other ends of lines
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            family = families.setdefault(name, Family())
            family.head.append(line)
            if word == "TYPE":
                family.kind = rest
        elif line:
            key, _, value = line.rpartition(" ")
            family.samples[key] = float(value)
    return families


def _text(families: dict[str, Family]) -> bytes:
    lines: list[str] = []
    for family in families.values():
        lines += family.head
        lines += [f"{key} {value}" for key, value in family.samples.items()]
    return "".join(f"{line}\n" for line in lines).encode()
