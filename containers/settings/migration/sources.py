"""Files that hold a command: manifests, compose files, shell text, vLLM's YAML."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from containers.errors import SettingsError
from containers.settings.migration.shell import DOLLAR, VARIABLE
from containers.settings.migration.words import Line, found_in, line_of_text

_YAML = {".yaml", ".yml", ".json"}
_OF_KUBERNETES = re.compile(r"\$\$|\$\(([A-Za-z_]\w*)\)|\$")
_OF_COMPOSE = re.compile(r"\$\$|\$([A-Za-z_]\w*)|\$\{|\$")


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
        return line_of_text(text) if path.suffix not in _YAML else _in_yaml(path, text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SettingsError(
            file=str(path), reason=f"cannot be read: {reason}"
        ) from None
    except SettingsError as error:
        raise SettingsError(
            file=str(path), reason=error.reason, hint=error.hint
        ) from None


def _in_yaml(path: Path, text: str) -> Line:
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (yaml.YAMLError, RecursionError, ValueError):
        raise SettingsError(reason="is not YAML") from None
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, list):
        return found_in(_kubernetes_words(only), Line((), is_in_container=True))
    found = [each for document in documents for each in _commands(document)]
    if not found and isinstance(only, dict) and all(isinstance(k, str) for k in only):
        return Line(("serve", "--config", str(path).replace("$", DOLLAR)))
    if len(found) != 1:
        raise SettingsError(
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
    given = [value[key] for key in ("entrypoint", "command", "args") if key in value]
    about = " ".join(map(str, [value.get("image", ""), *given]))
    if any(given) and "vllm" in about:
        yield _in_container(value)
        return
    for each in value.values():
        yield from _commands(each)


def _in_container(container: Mapping[str, Any]) -> Line:
    is_compose = not {"name", "args", "env"} & set(container)
    environment = _environment(container.get("env", container.get("environment")))
    notes = ["the container's other keys stay in its own file"]
    from_files = container.get("env_file", [])
    for each in from_files if isinstance(from_files, list) else [from_files]:
        file = each.get("path") if isinstance(each, dict) else each
        notes.append(f"variables of {file}: give it to --env-file")
    if "envFrom" in container:
        notes.append("variables of envFrom: give them to vllm-di serve as well")
    words: list[str] = []
    for key in ("entrypoint", "command", "args"):
        value = container.get(key)
        words += (
            _compose_words(value)
            if is_compose
            else _kubernetes_words(value, environment)
        )
    around = Line((), environment, tuple(notes), is_in_container=True)
    return found_in(words, around)


def _kubernetes_words(value: Any, known: Container[str] = ()) -> list[str]:
    """Words in which the kubelet fills in ``$(NAME)``, and leaves other dollars alone.

    A name in small letters that is no variable is a command of the shell inside.
    """

    def made(match: re.Match[str]) -> str:
        name = match[1]
        if name and (name in known or name.isupper()):
            return f"{VARIABLE}{{{name}}}"
        return f"{DOLLAR}({name})" if name else DOLLAR

    words = value if isinstance(value, list) else []
    return [_OF_KUBERNETES.sub(made, str(word)) for word in words]


def _compose_words(value: Any) -> list[str]:
    """Words in which compose fills in ``${NAME}``, in whatever quotes."""

    def made(match: re.Match[str]) -> str:
        if match[1]:
            return f"{VARIABLE}{{{match[1]}}}"
        return f"{VARIABLE}{{" if match[0] == "${" else DOLLAR

    words = value if isinstance(value, list) else []
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError:
            raise SettingsError(
                reason="the command cannot be read: a quote is missing",
                hint="Close the quote.",
            ) from None
    return [_OF_COMPOSE.sub(made, str(word)) for word in words]


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
