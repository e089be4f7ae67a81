"""One entry of ``models``: what is served, under which names, and how."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from containers.settings.canary import CanarySettings
from containers.settings.chat import ChatSettings
from containers.settings.contradictions import contradictions
from containers.settings.engine import SHARED_WITH_CHAT, checked_engine
from containers.settings.lora import LoraSettings
from containers.settings.problems import Problems, refuse, refuse_keys
from containers.settings.ray import RayModelSettings
from containers.settings.section import BARE_AS_EMPTY, NonEmpty, Section, as_tuple


def _served_name(value: str) -> str:
    if not value or value != value.strip():
        raise refuse(
            "is {value}, which is no name: it is empty or has blanks around it",
            "Write the name that requests will send as their model.",
            value=value,
        )
    return value


ServedName = Annotated[str, AfterValidator(_served_name)]
AboveZero = Annotated[float, Field(gt=0)]


class ModelSettings(Section):
    """One model to serve.

    ``name`` and ``names`` are two spellings of one thing: give either. Both are filled
    in afterwards.

    Attributes:
        name: The name requests send as ``model``: the first of ``names``.
        names: All names it answers to; the first is the one answers carry.
        source: ``package:NAME`` for a model that an installed Python package ships, a
            folder, or a Hugging Face id.
        engine: vLLM's engine arguments by vLLM's own names; names and types are checked
            against the installed vLLM.
        chat: How chat requests are rendered and answers read.
        lora: Adapters loaded with the model.
        canary: One-token generations that readiness depends on; ``None`` for none.
        load: When it is loaded: ``eager`` with the server, ``lazy`` at its first
            request.
        idle_timeout_s: Seconds without a request after which it gives its memory back,
            above 0; its next request loads it again. ``None`` for never.
        idle_action: How it does so: ``unload`` ends its engine, ``sleep`` has vLLM move
            the weights to main memory, which takes ``engine.enable_sleep_mode``.
        pinned: Whether it stays, once loaded, whatever other models need.
        memory_gib: GiB it takes when loaded, above 0, for
            ``server.memory_budget_gib``; ``None`` where there is no budget.
        ray: Its deployment, where Ray Serve serves.
    """

    name: ServedName = ""
    names: Annotated[tuple[ServedName, ...], BeforeValidator(as_tuple)] = ()
    source: NonEmpty
    engine: Annotated[
        dict[str, Any],
        BARE_AS_EMPTY,
        AfterValidator(checked_engine),
    ] = Field(default_factory=dict)
    chat: Annotated[ChatSettings, BARE_AS_EMPTY] = ChatSettings()
    lora: Annotated[LoraSettings, BARE_AS_EMPTY] = LoraSettings()
    canary: CanarySettings | None = None
    load: Literal["eager", "lazy"] = "eager"
    idle_timeout_s: AboveZero | None = None
    idle_action: Literal["unload", "sleep"] = "unload"
    pinned: bool = False
    memory_gib: AboveZero | None = None
    ray: Annotated[RayModelSettings, BARE_AS_EMPTY] = RayModelSettings()

    @model_validator(mode="after")
    def _settle(self) -> Self:
        names = self.names or ((self.name,) if self.name else ())
        problems = {
            **self._name_problems(),
            **contradictions(names, self.engine, self.chat, self.lora),
            **self._residency_problems(),
        }
        if problems:
            raise refuse_keys(problems)
        settled = {"name": names[0], "names": names, **self._shared_with_chat()}
        self.__dict__.update(settled)  # a frozen model settles before anyone sees it
        return self

    def _name_problems(self) -> Problems:
        if not self.name and not self.names:
            return {("name",): refuse("is missing", "Add the name requests will send.")}
        if self.name and self.names and self.name != self.names[0]:
            hint = "Give name or names; the first of names is the name."
            return {("name",): refuse("is not the first of names", hint)}
        if len(set(self.names)) < len(self.names):
            return {("names",): refuse("holds a name twice", "Remove one of the two.")}
        return {}

    def _residency_problems(self) -> Problems:
        problems: Problems = {}
        if self.pinned and self.idle_timeout_s is not None:
            problems["idle_timeout_s",] = refuse(
                "contradicts pinned, which keeps the model loaded",
                "Leave out one of the two.",
            )
        if self.idle_action == "sleep" and not self.engine.get("enable_sleep_mode"):
            problems["idle_action",] = refuse(
                "is sleep, but engine.enable_sleep_mode is not true",
                "Set engine.enable_sleep_mode: true, which vLLM has on GPUs, or take "
                "unload.",
            )
        return problems

    def _shared_with_chat(self) -> dict[str, Any]:
        chat = {
            key: self.engine[key] or ChatSettings.model_fields[key].default
            for key in SHARED_WITH_CHAT
            if key in self.engine
        }
        engine = {
            key: value for key in SHARED_WITH_CHAT if (value := getattr(self.chat, key))
        }
        return {
            "chat": self.chat.model_copy(update=chat),
            "engine": {**self.engine, **engine},
        }
