"""One entry of ``models``: what is served, under which names, and how."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from containers.settings.canary import CanarySettings
from containers.settings.chat import ChatSettings
from containers.settings.problems import Problems, refuse, refuse_keys, unknown_key
from containers.settings.section import BARE_AS_EMPTY, NonEmpty, Section
from containers.settings.sentences import described
from containers.vllm_api.engine_arguments import engine_argument_names

_OURS = {
    "model": "source",
    "served_model_name": "name (or names)",
}
_IN_BOTH = {
    "reasoning_parser": (str, "text"),
    "enable_log_requests": (bool, "true or false"),
}


def _served_name(value: str) -> str:
    if not value or value != value.strip():
        raise refuse(
            f"{value!r} is no name: it is empty or has blanks around it",
            "Write the name that requests will send as their model.",
        )
    return value


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _engine_arguments(engine: dict[str, Any]) -> dict[str, Any]:
    problems: Problems = {
        (key,): problem
        for key, value in engine.items()
        if (problem := _engine_problem(key, value))
    }
    if problems:
        raise refuse_keys(problems)
    return engine


def _engine_problem(key: str, value: Any) -> PydanticCustomError | None:
    known = engine_argument_names()
    if key in _OURS:
        return refuse("is not set here", f"Write it as the model's {_OURS[key]}.")
    if known is not None and key not in known:
        return unknown_key()
    if key == "skip_tokenizer_init" and value:
        reason = "cannot be true: serving is built on a loaded tokenizer"
        return refuse(reason, "Leave it out.")
    kind, words = _IN_BOTH.get(key, (object, ""))
    if value is not None and not isinstance(value, kind):
        return refuse(f"takes {words}, got {described(value)}", "")
    return None


ServedName = Annotated[str, AfterValidator(_served_name)]


class ModelSettings(Section):
    """One model to serve.

    ``name`` and ``names`` are two spellings of one thing: give either. Both are filled
    in afterwards.

    Attributes:
        name: The name requests send as ``model``: the first of ``names``.
        names: All names it answers to; the first is the one answers carry.
        source: ``package:NAME`` for a model that an installed Python package ships, a
            folder, or a Hugging Face id.
        engine: vLLM's engine arguments by vLLM's own names. Their names are checked
            against the installed vLLM, their values by vLLM when it starts.
        chat: How chat requests are rendered and answers read.
        canary: One-token generations that readiness depends on; ``None`` for none.
    """

    name: ServedName = ""
    names: Annotated[tuple[ServedName, ...], BeforeValidator(_as_tuple)] = ()
    source: NonEmpty
    engine: Annotated[
        dict[str, Any],
        BARE_AS_EMPTY,
        AfterValidator(_engine_arguments),
    ] = Field(default_factory=dict)
    chat: Annotated[ChatSettings, BARE_AS_EMPTY] = ChatSettings()
    canary: CanarySettings | None = None

    @model_validator(mode="after")
    def _settle(self) -> Self:
        problems = {**self._name_problems(), **self._contradictions()}
        if problems:
            raise refuse_keys(problems)
        names = self.names or (self.name,)
        settled = {"name": names[0], "names": names, **self._shared_with_chat()}
        self.__dict__.update(settled)  # a frozen model settles before anyone sees it
        return self

    def _name_problems(self) -> Problems:
        if not self.name and not self.names:
            return {("name",): refuse("is missing", "Add the name requests will send.")}
        if self.name and self.names and self.name != self.names[0]:
            hint = "Give name or names; the first of names is the name."
            return {
                ("name",): refuse(f"is not the first of names, {self.names[0]}", hint)
            }
        if len(set(self.names)) < len(self.names):
            return {("names",): refuse("holds a name twice", "Remove one of the two.")}
        return {}

    def _contradictions(self) -> Problems:
        """Options vLLM counts among both kinds may be set in either section."""
        return {
            ("engine", key): refuse(f"contradicts chat.{key}", "Set only one of them.")
            for key in _IN_BOTH
            if key in self.engine
            and key in self.chat.model_fields_set
            and (self.engine[key] or None) != (getattr(self.chat, key) or None)
        }

    def _shared_with_chat(self) -> dict[str, Any]:
        chat = {
            key: self.engine[key] or ChatSettings.model_fields[key].default
            for key in _IN_BOTH
            if key in self.engine
        }
        engine = {key: value for key in _IN_BOTH if (value := getattr(self.chat, key))}
        return {
            "chat": self.chat.model_copy(update=chat),
            "engine": {**self.engine, **engine},
        }
