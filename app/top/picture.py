"""The picture: a server's models, the resources of one, what went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.top.source import Rates, Status

STYLES = {
    **dict.fromkeys(("ready",), "green"),
    **dict.fromkeys(("failed", "engine dead"), "red"),
    **dict.fromkeys(("not started", "stopped", "unloaded", "asleep"), "dim"),
}
BUSY = "yellow"
MARKS = {"green": "●", "red": "✗", "dim": "·", BUSY: "◐"}
CAUSES = {"heal": "engine replaced", "load": "loaded again", "reload": "new settings"}
BAR_CELLS = 24
N_TROUBLES = 5
ROWS_BESIDE = 20
"""Lines that are kept for a start and for troubles when there are many models."""
UNKNOWN = "-"
COLUMNS = ("", "state", "running", "waiting", "tokens/s", "KV cache", "generation")


def picture(status: Status, rates: Rates, *, model: int, rows: int) -> RenderableType:
    """Everything that is told, as far as there is room.

    Args:
        status: What the server told.
        rates: Tokens a second.
        model: Which model's resources to show, counted on and on.
        rows: Lines there are; what took least is left out first, then other models.
    """
    models = window(status["models"], around=model, n=max(3, rows - ROWS_BESIDE))
    troubles = status["troubles"][:N_TROUBLES]
    parts: list[RenderableType] = [headline(status), Text()]
    parts.append(model_table(status, rates, models))
    n_others = len(status["models"]) - len(models)
    if n_others:
        parts.append(Text(f"{n_others} other models", "dim"))
    if models:
        shown = status["models"][model % len(status["models"])]
        room = rows - len(models) - len(troubles) - 9 - bool(n_others)
        parts += [Text(), *resource_part(shown, now=status["at"], rows=max(room, 3))]
    if troubles:
        parts += [Text(), *(trouble_line(each) for each in troubles)]
    return Group(*parts)


def whole(status: Status) -> RenderableType:
    """All that is told, to be printed once."""
    parts: list[RenderableType] = [headline(status), Text()]
    parts.append(model_table(status, Rates(), status["models"]))
    for model in status["models"]:
        n = len(model["resources"])
        parts += [Text(), *resource_part(model, now=status["at"], rows=n)]
    if status["troubles"]:
        parts += [Text(), *(trouble_line(each) for each in status["troubles"])]
    return Group(*parts)


def window(models: list[Any], *, around: int, n: int) -> list[Any]:
    """At most n models, one after the other, the chosen one among them."""
    chosen = around % len(models) if models else 0
    first = max(0, min(chosen - n // 2, len(models) - n))
    return models[first : first + n]


def headline(status: Status) -> Text:
    """The server itself, in a line."""
    phase, figures = status["phase"], status["figures"]
    up_s = int(figures["at"] - status["began_at"])
    line = Text.assemble(
        (f"{MARKS[style_of(phase)]} {clean(phase)}", f"bold {style_of(phase)}"),
        f"   {figures['in_flight']} in flight   up {span(up_s)}",
        (f"   vllm-di {clean(status['versions']['vllm-di'])}", "dim"),
    )
    if status["error"]:
        line.append(f"\n{clean(status['error'])}", "red")
    return line


def model_table(status: Status, rates: Rates, models: list[Any]) -> Table:
    """A line for each of these models."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in COLUMNS:
        is_number = name in COLUMNS[2:6]
        table.add_column(name, justify="right" if is_number else "left")
    for model in models:
        measured = status["figures"]["models"].get(model["name"])
        state = model["trouble"] or model["state"]
        table.add_row(
            Text(clean(model["name"]), "bold"),
            Text(clean(state), "red" if model["trouble"] else style_of(state)),
            *figures(measured, rates.of(model["name"])),
            generation(model),
        )
    return table


def figures(measured: dict[str, Any] | None, rate: float | None) -> list[str]:
    """Running, waiting, tokens a second and KV cache of a model, as texts."""
    if measured is None:
        return [UNKNOWN] * 4
    return [
        f"{measured['n_running']:,}",
        f"{measured['n_waiting']:,}",
        UNKNOWN if rate is None else f"{rate:,.1f}",
        f"{measured['kv_cache_usage'] * 100:.1f} %",
    ]


def generation(model: dict[str, Any]) -> str:
    """The number of a model's generation, and why there is it."""
    cause = model["history"][-1]["cause"] if model["history"] else ""
    why = CAUSES.get(cause, "")
    return f"{model['generation']}  {why}".rstrip()


def resource_part(
    model: dict[str, Any], *, now: float, rows: int
) -> Iterator[RenderableType]:
    """The start of one model as bars, the longest resources in their order."""
    begun = [
        each
        for each in model["resources"]
        if each["started_at"] is not None and not each["is_kept"]
    ]
    wanted = [each for each in model["resources"] if not each["is_left_out"]]
    n_ready = sum(each["state"] == "ready" for each in wanted)
    head = f"{clean(model['name'])}: {n_ready} of {len(wanted)} resources ready"
    yield Text(head, "dim")
    by_length = sorted(begun, key=lambda each: seconds_of(each, now), reverse=True)
    kept = sorted(by_length[:rows], key=lambda each: each["started_at"])
    if not kept:
        return
    began = min(each["started_at"] for each in begun)
    ends = [each["started_at"] + seconds_of(each, now) for each in begun]
    total_s = max(max(ends) - began, 0.001)
    table = Table.grid(padding=(0, 2, 0, 0))
    for each in kept:
        style = "dim" if each["is_left_out"] else style_of(each["state"])
        taken_s = seconds_of(each, now)
        table.add_row(
            Text(MARKS[style], style),
            clean(each["name"]),
            Text(bar(each["started_at"] - began, taken_s, total_s), style),
            Text(f"{taken_s:.2f} s", justify="right"),
            Text(clean(each["error"] or ""), "red"),
        )
    yield table
    if len(begun) > len(kept):
        yield Text(f"{len(begun) - len(kept)} more took less", "dim")


def bar(begin_s: float, taken_s: float, total_s: float) -> str:
    """A bar from begin to end, at least one cell long."""
    first = min(int(begin_s / total_s * BAR_CELLS), BAR_CELLS - 1)
    n = max(1, round(taken_s / total_s * BAR_CELLS))
    return (" " * first + "━" * n)[:BAR_CELLS].ljust(BAR_CELLS)


def seconds_of(resource: dict[str, Any], now: float) -> float:
    """Seconds a resource took, or has taken until now."""
    if resource["seconds"] is not None:
        return float(resource["seconds"])
    is_starting = resource["state"] == "starting"
    return float(max(0.0, now - resource["started_at"])) if is_starting else 0.0


def trouble_line(trouble: dict[str, Any]) -> Text:
    """A warning or an error, in a line."""
    where = " / ".join(filter(None, (trouble["model"], trouble["provider"])))
    style = "red" if trouble["level"] == "error" else BUSY
    clock = time.strftime("%H:%M:%S", time.localtime(trouble["at"]))
    line = Text.assemble(
        (f"{clock}  ", "dim"), (f"{clean(where)}  ", style), clean(trouble["text"])
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def style_of(state: str) -> str:
    """How a state is coloured."""
    return STYLES.get(state, BUSY)


def span(seconds: int) -> str:
    """A span of time in words."""
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def clean(text: str) -> str:
    """A server's text on one line, without what a terminal would obey."""
    return "".join(each if each.isprintable() else " " for each in str(text))
