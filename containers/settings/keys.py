"""Which key somebody meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from containers.settings.location import Location, dotted, kind_at
from containers.vllm_api.kinds import Kind, ListOf, Record, options_of

_OUR_NAME_OF = {
    "api_key": "api_keys",
    "chat_template": "template",
    "chat_template_content_format": "content_format",
    "lora_modules": "modules",
    "model": "source",
    "served_model_name": "names",
}


def suggestion(root: Kind, location: Location) -> str:
    """What to do about the unknown key at ``location`` of ``root``, as a sentence."""
    *parents, last = location
    key = str(last).strip().lstrip("-").replace("-", "_")
    known = sorted(_known_keys(root, tuple(parents)))
    if key in known:
        return f"Did you mean {key}?"
    for path in _every_key(root, _index(parents)):
        if path[-1] == _OUR_NAME_OF.get(key, key):
            return f"It belongs at {dotted(path)}."
    near = get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]}?"
    if parents[-1:] == ["engine"]:
        return "The installed vLLM has no engine argument of that name."
    if "engine" in parents:
        return f"The installed vLLM's {parents[-1]} has no key of that name."
    return f"Known keys here: {', '.join(known)}."


def _index(parents: list[int | str]) -> int:
    return next((part for part in parents if isinstance(part, int)), 0)


def _known_keys(root: Kind, parents: Location) -> Mapping[str, Kind]:
    kind = kind_at(root, parents)
    record = _record(kind) if kind is not None else None
    return record.fields if record is not None else {}


def _record(kind: Kind) -> Record | None:
    records = (each for each in options_of(kind) if isinstance(each, Record))
    return next(records, None)


def _every_key(kind: Kind, index: int, path: Location = ()) -> Iterator[Location]:
    """Paths of the keys of every section, nested ones of the engine left out."""
    record = _record(kind)
    if record is None:
        return
    yield from ((*path, name) for name in record.fields)
    if path[-1:] == ("engine",):
        return
    for name in record.fields:
        for option in options_of(record.fields[name]):
            if isinstance(option, ListOf):
                yield from _every_key(option.item, index, (*path, name, index))
            else:
                yield from _every_key(option, index, (*path, name))
