"""Which keys exist where, and which one somebody meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel

from containers.vllm_api.engine_arguments import engine_argument_names

Location = tuple[int | str, ...]

_OUR_NAME_OF = {
    "chat_template": "template",
    "chat_template_content_format": "content_format",
    "model": "source",
    "served_model_name": "names",
}


def dotted(location: Iterable[int | str]) -> str:
    """The key path as people write it: ``models.0.engine.max_model_len``."""
    return ".".join(str(part) for part in location)


def suggestion(root: type[BaseModel], location: Location) -> str:
    """What to do about the unknown key at ``location`` of ``root``, as a sentence."""
    *parents, last = location
    key = str(last).strip().lstrip("-").replace("-", "_")
    known = sorted(_known_keys(root, parents))
    if key in known:
        return f"Did you mean {key}?"
    for path in _every_key(root, parents):
        if path[-1] == _OUR_NAME_OF.get(key, key):
            return f"It belongs at {dotted(path)}."
    near = get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]}?"
    if parents and parents[-1] == "engine":
        return "The installed vLLM has no engine argument of that name."
    return f"Known keys here: {', '.join(known)}."


def _known_keys(root: type[BaseModel], parents: Iterable[int | str]) -> Iterable[str]:
    section = root
    for part in parents:
        if isinstance(part, int):
            continue
        if part == "engine":
            return engine_argument_names() or ()
        field = section.model_fields.get(part)
        section = (field and _section_in(field.annotation)) or section
    return section.model_fields


def _every_key(
    section: type[BaseModel], parents: list[int | str], path: Location = ()
) -> Iterator[Location]:
    """Paths of all keys, section by section, under the list indices of ``parents``."""
    yield from ((*path, name) for name in section.model_fields)
    for name, field in section.model_fields.items():
        inner = _section_in(field.annotation)
        if inner:
            listed = not isinstance(field.annotation, type)
            index = next((part for part in parents if isinstance(part, int)), 0)
            step = (name, index) if listed else (name,)
            yield from _every_key(inner, parents, (*path, *step))
        elif name == "engine":
            yield from ((*path, name, key) for key in engine_argument_names() or ())


def _section_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_section_in(argument) for argument in get_args(annotation))
    return next((section for section in inner if section), None)
