"""What a release takes differently when it is called, one table for every release.

Whoever builds one of vLLM's objects writes the newest supported release's spelling:
``vllm_api.OnlineRenderer(..., reasoning_effort_map=None)``, or the same keywords in
``super().__init__(...)`` of a subclass. The door does the rest: on an older release the
class or function it hands out takes those keywords and passes on what that release
knows. Nothing else asks which release is installed.

A release that changes how something is called is one entry in :data:`CHANGED`, which
says what it changed; the releases before it follow from that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from containers.vllm_api.names import later_than


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How one release changed the keywords of one callable.

    Attributes:
        added: Keywords it takes since; before, they are left out.
        renamed: Old keyword to the new one.
        reworded: Keyword to a value that it takes since, and the older word for it.
        dropped: Keywords it takes no more, and what they were given before.
    """

    added: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    reworded: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    dropped: Mapping[str, Any] = field(default_factory=dict)

    def undone(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Keywords as the release before this one takes them."""
        older = {new: old for old, new in self.renamed.items()}
        found = {
            older.get(name, name): self._older_word(name, value)
            for name, value in keywords.items()
            if name not in self.added
        }
        return {**self.dropped, **found}

    def _older_word(self, name: str, value: Any) -> Any:
        new, old = self.reworded.get(name, (value, value))
        return old if value == new else value


_STRICT = {"tool_strict_level": (None, "auto")}
_LOGGED = ("enable_log_outputs", "enable_log_deltas")

CHANGED: dict[str, dict[str, Change]] = {
    "0.33": {
        "OnlineRenderer": Change(added=("reasoning_effort_map",), reworded=_STRICT),
        "OnlineDerenderer": Change(added=("reasoning_effort_map",), reworded=_STRICT),
        "OpenAIServingChat": Change(reworded=_STRICT),
        "OpenAIServingChatBatch": Change(reworded=_STRICT),
        "OpenAIServingResponses": Change(reworded=_STRICT),
        "AnthropicServingMessages": Change(reworded=_STRICT),
        "CohereServingChatV2": Change(added=_LOGGED, reworded=_STRICT),
        "OpenAIServingCompletion": Change(added=_LOGGED),
        "ServingTokens": Change(added=("online_derenderer",)),
        "ServingRender": Change(
            added=("disabled_thinking_effort", "disabled_thinking_effort_resolver")
        ),
    },
    "0.32": {
        "AnthropicServingMessages": Change(added=_LOGGED),
        "ServingRender.render_chat_request": Change(added=("raw_request",)),
        "ServingRender.render_messages_request": Change(added=("raw_request",)),
        "ServingRender.render_completion_request": Change(added=("raw_request",)),
    },
}
"""Release line to what it changed, by the door's name of the class or function.

A method is ``Class.method``; what differs is handed to it by keyword.
"""


def adapted(name: str, found: Any, line: str) -> Any:
    """What the door hands out for a name: it takes the newest release's keywords.

    Args:
        name: The door's name of it.
        found: vLLM's class or function.
        line: The installed release line.

    Returns:
        ``found`` itself where nothing changed since, else a subclass or a function
        around it.
    """
    methods = {
        key.removeprefix(f"{name}."): _changes(key, line)
        for release in later_than(line)
        for key in CHANGED.get(release, {})
        if key.startswith(f"{name}.")
    }
    changes = _changes(name, line)
    if not changes and not methods:
        return found
    if isinstance(found, type):
        return _adapted_class(found, changes, methods)
    return _adapted_function(found, changes)


def _changes(name: str, line: str) -> list[Change]:
    """What happened to a callable since a release line, the latest first."""
    return [
        CHANGED[release][name]
        for release in reversed(later_than(line))
        if name in CHANGED.get(release, {})
    ]


def _undone(changes: list[Change], keywords: dict[str, Any]) -> dict[str, Any]:
    return functools.reduce(lambda each, change: change.undone(each), changes, keywords)


def _adapted_function(
    function: Callable[..., Any], changes: list[Change]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*places: Any, **keywords: Any) -> Any:
        return function(*places, **_undone(changes, keywords))

    return call


def _adapted_class(
    kind: type[Any], changes: list[Change], methods: Mapping[str, list[Change]]
) -> type[Any]:
    @functools.wraps(kind.__init__)
    def init(self: Any, *places: Any, **keywords: Any) -> None:
        kind.__init__(self, *places, **_undone(changes, keywords))

    names: dict[str, Any] = {
        name: _adapted_function(getattr(kind, name), since)
        for name, since in methods.items()
    }
    names |= {"__init__": init, "__module__": kind.__module__, "__doc__": kind.__doc__}
    metaclass: Any = type(kind)
    made: type[Any] = metaclass(kind.__name__, (kind,), names)
    return made
