"""A command line of ``vllm serve`` as a config file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from containers.errors import SettingsError
from containers.settings.location import is_free_text
from containers.settings.migration.expansion import Expansion
from containers.settings.migration.keys import DEFAULTS_THERE, option_of, value_here
from containers.settings.migration.known import sorted_words
from containers.settings.migration.moving import Mover
from containers.settings.migration.secrets import Masker, literal, placeholders
from containers.settings.migration.shell import DOLLAR
from containers.settings.migration.words import Line
from containers.settings.migration.writing import written
from containers.settings.root import Settings

_STAND_IN = "a-value-that-is-set-later"
_MODEL_BY_DEFAULT = "Qwen/Qwen3-0.6B"


@dataclass(frozen=True)
class Imported:
    """A config file made of a command line.

    Attributes:
        text: The file.
        notes: What is left out or differs, each with its reason.
        variables: Variables to set, with the key that takes each.
    """

    text: str
    notes: tuple[str, ...]
    variables: Mapping[str, str]


def imported(line: Line, folder: Path | None = None) -> Imported:
    """Make the config file that serves what a command line serves.

    Imports vLLM, whose own parser reads the line.

    Args:
        line: The command line.
        folder: Where the file is to be, for relative paths in it; by default where the
            command is run.

    Raises:
        SettingsError: vLLM refuses the line, or it cannot be served here.
    """
    from containers.vllm_api.serve_arguments import (
        ServeArgumentsError,
        flags,
        parsed_arguments,
    )

    expansion = Expansion(line.environment)
    words = expansion.words(line.words)
    try:
        known = sorted_words(words, flags())
        values = parsed_arguments(known.words)
    except ServeArgumentsError as error:
        raise SettingsError(
            reason=f"vLLM refuses the command: {_without_mappings(str(error))}",
            hint="Mend it, or write the value of a variable that is not set.",
        ) from None
    notes = [*line.notes, *expansion.notes, *known.notes]
    making = _Making(line, notes, Mover(folder, is_known=not line.is_in_container))
    making.take(values)
    return making.made()


def _without_mappings(text: str) -> str:
    """What vLLM says, but for what may hold a secret somewhere inside."""
    text = re.sub(r", input_value=.*", "]", text.replace(DOLLAR, "$"))
    return re.sub(r"\{.*\}", "{...}", text, flags=re.DOTALL)


def _with_adapters_in(folder: str, document: dict[str, Any]) -> dict[str, Any]:
    """A document whose adapters are there: the file may be meant for elsewhere."""
    (model,) = document["models"]
    lora = model.get("lora", {})
    modules = [{**each, "path": folder} for each in lora.get("modules", ())]
    model = {**model, "lora": {**lora, "modules": modules}} if modules else model
    return {**document, "models": [model]}


class _Making:
    def __init__(self, line: Line, notes: list[str], mover: Mover) -> None:
        self._line = line
        self._notes = notes
        self._mover = mover
        self._masker = Masker()
        self._server: dict[str, Any] = {}
        self._model: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._remarks: dict[str, str] = {}

    def take(self, values: dict[str, Any]) -> None:
        """Put every option under its key, or note why it has none."""
        rest = dict(values)
        self._take_model(rest)
        self._take_keys(rest)
        if rest.pop("cohere_format", None) is not None:
            kwargs = rest.get("default_chat_template_kwargs") or {}
            rest["default_chat_template_kwargs"] = {
                "cohere_format": values["cohere_format"],
                **kwargs,
            }
        for name, value in rest.items():
            option = option_of(name)
            if not option.key:
                self._leave_out(name, option.reason)
                continue
            here = value_here(name, value)
            if here is not None:
                self._put(name, option.key, here)
        for key, (default, remark) in DEFAULTS_THERE.items():
            section, _, name = key.partition(".")
            if name not in self._server:
                self._server[name] = default
                self._remarks[f"{section}.{name}"] = remark
        self._note_environment()

    def made(self) -> Imported:
        """The file, without what cannot be meant here."""
        self._notes += self._mover.notes
        while True:
            try:
                self._check()
                break
            except SettingsError as error:
                self._drop(error)
        variables = self._masker.variables
        needs = [
            f"set {name}, which {key} takes" for name, key in sorted(variables.items())
        ]
        header = ["Made of a vllm serve command by vllm-di config import."]
        header += [f"- {note}." for note in [*needs, *self._notes]]
        text = written(self._document(), header, self._remarks)
        return Imported(text, tuple(self._notes), variables)

    def _take_model(self, rest: dict[str, Any]) -> None:
        tag, model = rest.pop("model_tag", None), rest.pop("model", None)
        if self._line.words[:1] != ("serve",):
            if tag is not None:
                self._notes.append("MODEL left out: the module takes it as --model")
            tag = None
        source = tag or model
        if source is None:
            source = _MODEL_BY_DEFAULT
            self._notes.append(f"no model is named: vLLM's default is {source}")
        names = rest.pop("served_model_name", None) or [source]
        names = [self._masker.masked(name, "models[].names") for name in names]
        key, value = ("name", names[0]) if len(names) == 1 else ("names", names)
        source = self._mover.moved("models[].source", source)
        source = self._masker.masked(source, "models[].source")
        self._model |= {key: value, "source": source}

    def _take_keys(self, rest: dict[str, Any]) -> None:
        keys = [key for key in rest.pop("api_key", None) or () if key]
        if keys:
            self._server["api_keys"] = [
                self._masker.secret(key, "VLLM_API_KEY", "server.api_keys")
                for key in keys
            ]
        elif self._line.environment.get("VLLM_API_KEY", ""):
            key = self._masker.secret("", "VLLM_API_KEY", "server.api_keys")
            self._server["api_keys"] = [key]
        token = rest.get("hf_token")
        if isinstance(token, str):
            key = "models[].engine.hf_token"
            masked = self._masker.secret(token, "HF_TOKEN", key)
            self._section("engine")["hf_token"] = masked
            del rest["hf_token"]

    def _put(self, name: str, key: str, value: Any) -> None:
        section, _, inner = key.removeprefix("models[].").rpartition(".")
        value = self._mover.moved(key, value)
        if is_free_text(("models", 0, section, inner)):
            names = dict.fromkeys(placeholders(value))
            self._notes += [f"{key} has no variables: ${{{n}}} is text" for n in names]
            value = literal(value)
        else:
            value = self._masker.masked(value, key)
        self._names[inner] = name
        self._section(section)[inner] = value

    def _section(self, name: str) -> dict[str, Any]:
        if name == "server":
            return self._server
        section = self._model
        for part in name.split("."):
            section = section.setdefault(part, {})
        return section

    def _leave_out(self, name: str, reason: str) -> None:
        flag = f"--{name.replace('_', '-')}"
        self._notes.append(f"{flag} left out: {reason}")

    def _note_environment(self) -> None:
        names = ", ".join(sorted(self._line.environment))
        if names:
            self._notes.append(f"variables to set for vllm-di serve as well: {names}")

    def _document(self) -> dict[str, Any]:
        return {"server": self._server, "models": [self._model]}

    def _check(self) -> None:
        environment = {name: f"{_STAND_IN}: {name}" for name in self._masker.variables}
        with tempfile.TemporaryDirectory() as folder:
            text = written(_with_adapters_in(folder, self._document()), (), {})
            path = Path(folder) / "config.yaml"
            path.write_text(text, "utf-8")
            Settings.load(path, environment=environment)

    def _drop(self, error: SettingsError) -> None:
        """Take the key out that an error is about, with a note; or raise the error."""
        parts = error.key.split(".")
        parts = parts[2:] if parts[0] == "models" else parts
        section = self._server if parts[0] == "server" else self._model.get(parts[0])
        name = parts[1] if len(parts) > 1 else ""
        if not isinstance(section, dict) or name not in section:
            raise SettingsError(key=error.key, reason=error.reason, hint=error.hint)
        del section[name]
        if not section and parts[0] != "server":
            del self._model[parts[0]]
        self._leave_out(self._names.get(name, name), f"it {error.reason}")
