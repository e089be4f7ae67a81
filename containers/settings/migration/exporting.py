"""Settings as a command line of ``vllm serve``."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, SecretStr

from containers.settings.location import Location
from containers.settings.migration.keys import DEFAULTS_THERE, OPTIONS, value_there
from containers.settings.model import ModelSettings
from containers.settings.root import Settings
from containers.vllm_api.serve_arguments import Flag

_MARK = re.compile("\ue000(.*?)\ue000")
_NOT_OPTIONS = frozenset({"frontend", "name", "names", "source", "workers"})


@dataclass
class Exported:
    """A command line that serves what settings serve.

    Attributes:
        words: Its words; a secret is a shell variable in double quotes.
        notes: Keys that have no option, and what differs.
        variables: The shell variables it reads.
    """

    words: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The command as a shell takes it, an option a line."""
        return " \\\n  ".join(self.words)


def exported(settings: Settings, name: str | None = None) -> Exported:
    """The command line of ``vllm serve`` for a model. Imports vLLM, for its options.

    Args:
        settings: The settings.
        name: One of the model's names; by default the first model's.

    Raises:
        SettingsError: No model has that name.
    """
    from containers.vllm_api.serve_arguments import flags

    by_name = {flag.name: (text, flag) for text, flag in _long(flags())}
    index = settings.index_of(name)
    model, place = settings.models[index], ("models", index)
    result = Exported([f"vllm serve {shlex.quote(model.source)}"])
    if model.source.startswith("package:"):
        result.notes.append("models[].source: vLLM wants the package's model folder")
    exporting = _Exporting(settings, by_name, result)
    exporting.names(model)
    exporting.section(settings.server, "server", ("server",))
    exporting.arguments(model.engine, "models[].engine", (*place, "engine"))
    exporting.section(model.chat, "models[].chat", (*place, "chat"))
    frontend = (*place, "chat", "frontend")
    exporting.arguments(model.chat.frontend, "models[].chat.frontend", frontend)
    exporting.section(model.lora, "models[].lora", (*place, "lora"))
    others = [each.name for each in settings.models if each is not model]
    if others:
        result.notes.append(f"left out, a server each: {', '.join(others)}")
    if model.canary is not None:
        result.notes.append("models[].canary has no option in vLLM")
    return result


def _variable_of(location: Location) -> str:
    if location[0] == "server":
        return "VLLM_API_KEY"
    if location[3:] == ("hf_token",):
        return "HF_TOKEN"
    return re.sub(r"\W", "_", "_".join(map(str, ("VLLM", *location[3:])))).upper()


def _long(flags: Mapping[str, Flag]) -> Iterator[tuple[str, Flag]]:
    for text, flag in flags.items():
        if text.startswith("--") and text not in flag.negations:
            yield text, flag


class _Exporting:
    def __init__(
        self,
        settings: Settings,
        by_name: Mapping[str, tuple[str, Flag]],
        result: Exported,
    ) -> None:
        self._origins = settings.origins
        self._by_name = by_name
        self._result = result
        self._options = {option.key: name for name, option in OPTIONS.items()}

    def names(self, model: ModelSettings) -> None:
        """``--served-model-name``, unless it is the model itself."""
        if model.names != (model.source,):
            self._add("served_model_name", list(model.names), ())

    def section(self, section: BaseModel, path: str, location: Location) -> None:
        """The options of a section, but for those that are as vLLM has them."""
        fields = type(section).model_fields
        for name in fields:
            value, key = getattr(section, name), f"{path}.{name}"
            option = self._options.get(key)
            is_default = value == fields[name].get_default(call_default_factory=True)
            if name in {"reasoning_parser", "enable_log_requests", *_NOT_OPTIONS}:
                continue
            if is_default and key not in DEFAULTS_THERE:
                continue
            if option is None:
                self._result.notes.append(f"{key} has no option in vLLM")
            else:
                self._add(option, value_there(option, value), (*location, name))

    def arguments(
        self, values: Mapping[str, Any], path: str, location: Location
    ) -> None:
        """Those of vLLM's arguments that are set by its own names."""
        for name, value in values.items():
            if name in self._by_name:
                there = value_there(name, value)
                self._add(name, there, (*location, name))
            else:
                key = f"{path}.{name}"
                self._result.notes.append(f"{key} has no option in vLLM")

    def _add(self, name: str, value: Any, location: Location) -> None:
        text, flag = self._by_name[name]
        if value is None:
            if flag.default is not None:
                self._result.notes.append(f"{name}: null cannot be said to vLLM")
        elif isinstance(value, bool) and flag.takes in {"none", "maybe"}:
            switch = text if value else flag.negation
            self._result.words += [switch] if switch else []
        elif flag.adds:
            self._result.words += [self._pair(text, each, location) for each in value]
        elif flag.takes == "some":
            values = [
                self._word(each, (*location, index)) for index, each in enumerate(value)
            ]
            self._result.words += [" ".join([text, *values])] if values else []
        else:
            self._result.words.append(self._pair(text, value, location))

    def _pair(self, text: str, value: Any, location: Location) -> str:
        word = self._word(value, location)
        return f"{text}={word}" if word.startswith(("-", "'-")) else f"{text} {word}"

    def _word(self, value: Any, location: Location) -> str:
        if isinstance(value, SecretStr):
            return f'"${self._variable(location)}"'
        if isinstance(value, BaseModel):
            value = value.model_dump(exclude_defaults=True)
        if isinstance(value, dict | list):
            value = self._with_variables(value, location)
            word = shlex.quote(json.dumps(value, ensure_ascii=False))
            return _MARK.sub(r"""'"$\1"'""", word)
        return shlex.quote(str(value))

    def _with_variables(self, value: Any, location: Location) -> Any:
        """A nested value whose secrets are marks, for the variables to be put there."""
        if isinstance(value, SecretStr):
            return f"\ue000{self._variable(location)}\ue000"
        if isinstance(value, dict):
            return {
                key: self._with_variables(each, (*location, key))
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [
                self._with_variables(each, (*location, index))
                for index, each in enumerate(value)
            ]
        return value

    def _variable(self, location: Location) -> str:
        """The variable a secret came from, or one to set."""
        origin = self._origins.of(location)
        name = _variable_of(location)
        if origin is not None and len(origin.variables) == 1:
            name = origin.variables[0]
        elif name in self._result.variables:
            name = f"{name}_{len(self._result.variables) + 1}"
        self._result.variables.append(name)
        return name
