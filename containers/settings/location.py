"""Key paths: how one is written, and what its value is allowed to be."""

from __future__ import annotations

from collections.abc import Iterable

from containers.vllm_api.kinds import Kind, inner

Location = tuple[int | str, ...]

_FREE_TEXT = frozenset(
    {
        ("chat", "template"),
        ("chat", "default_chat_template_kwargs"),
        ("engine", "override_generation_config"),  # has stop strings
        ("engine", "reasoning_config"),  # has the marks around a thought
    }
)


def dotted(location: Iterable[int | str]) -> str:
    """The key path as people write it: ``models.0.engine.max_model_len``."""
    return ".".join(str(part) for part in location)


def is_free_text(location: Location) -> bool:
    """Whether the value is text for a model, in which ``${`` means nothing to us."""
    return location[:1] == ("models",) and location[2:4] in _FREE_TEXT


def kind_at(root: Kind, location: Location) -> Kind | None:
    """Kind of the value at ``location``; ``None`` when there can be none."""
    kind: Kind | None = root
    for part in location:
        if kind is None:
            return None
        kind = inner(kind, part)
    return kind
