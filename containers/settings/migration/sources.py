"""Files that hold a command: manifests, compose files, shell text, vLLM's YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from containers.errors import SettingsError
from containers.settings.migration.words import Line, line_of_words, split

_YAML = {".yaml", ".yml", ".json"}


def line_of_file(path: Path) -> Line:
    """The command in a file.

    Args:
        path: ``.yaml``, ``.yml`` or ``.json``: a Kubernetes manifest, a compose file, a
            list of arguments, or the file of ``vllm serve --config``. Any other is
            shell text, such as a ``docker run`` line.

    Raises:
        SettingsError: It cannot be read, or holds no command or more than one.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SettingsError(
            file=str(path), reason=f"cannot be read: {reason}"
        ) from None
    if path.suffix not in _YAML:
        return line_of_words(split(text), is_literal=False)
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (yaml.YAMLError, RecursionError):
        raise SettingsError(file=str(path), reason="is not YAML") from None
    if len(documents) == 1 and isinstance(documents[0], list):
        return line_of_words([str(word) for word in documents[0]], is_literal=False)
    found = [each for document in documents for each in _commands(document)]
    if not found and len(documents) == 1 and isinstance(documents[0], dict):
        return Line(("serve", "--config", str(path)), is_literal=True)
    if len(found) != 1:
        raise SettingsError(
            file=str(path),
            reason=f"holds {len(found) or 'no'} commands that start vLLM",
            hint="Keep one of them in the file.",
        )
    return found[0]


def _commands(value: Any) -> Iterator[Line]:
    """Every container of a manifest, and service of a compose file, that runs vLLM."""
    if isinstance(value, list):
        for each in value:
            yield from _commands(each)
    if not isinstance(value, dict):
        return
    words = [*_words(value, "entrypoint"), *_words(value, "command")]
    words += _words(value, "args")
    about = " ".join([str(value.get("image", "")), *words])
    if words and "vllm" in about:
        environment = _environment(value.get("env", value.get("environment")))
        notes = ("the container's other keys stay in its own file",)
        yield line_of_words(
            words, environment=environment, is_literal=False, notes=notes
        )
        return
    for each in value.values():
        yield from _commands(each)


def _words(container: Mapping[str, Any], key: str) -> list[str]:
    value = container.get(key)
    if isinstance(value, str):
        return split(value)
    return [str(word) for word in value] if isinstance(value, list) else []


def _environment(value: Any) -> dict[str, str | None]:
    if isinstance(value, dict):
        return {str(name): _text(text) for name, text in value.items()}
    found: dict[str, str | None] = {}
    for each in value if isinstance(value, list) else []:
        if isinstance(each, dict):
            found[str(each.get("name"))] = _text(each.get("value"))
        else:
            name, equals, text = str(each).partition("=")
            found[name] = text if equals else None
    return found


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
