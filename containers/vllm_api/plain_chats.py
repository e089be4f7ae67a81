"""Conversations of plain text, templated the short way once vLLM has shown how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from containers import vllm_api

MAX_KINDS = 16
"""Kinds of requests, by what they tell the template, that are known at a time."""
MAX_SYSTEM_TEXTS = 64
"""Texts of system messages that are known at a time: vLLM leaves out how some begin."""

_FIELDS = {"role", "content"}
_ROLES = ("user", "assistant")
_SYSTEM = "system"
_UNLIKE_OTHERS = (str, bool, type(None))
"""Types whose values equal none of another type, as 1 does ``True``."""

Messages = Sequence[Any]
Template = Callable[..., Any]


class PlainChats:
    """A renderer's ``render_messages``, at a third of its time for plain conversations.

    What vLLM makes of a message, and what it gives to the template besides, differs by
    the settings, the release and what the request says, and not by the text. So it is
    learnt from vLLM: the first conversation of each kind, and the first message of each
    role, is made in both ways and compared. What differs is left to vLLM.

    Args:
        renderer: vLLM's ``HfRenderer`` of a model of text alone.

    Source:
        vllm/renderers/hf.py ``HfRenderer.render_messages`` and
        ``safe_apply_chat_template`` (0.32.0).
    """

    def __init__(self, renderer: Any) -> None:
        self._stock: Callable[[Messages, Any], tuple[list[Any], Any]]
        self._stock = renderer.render_messages
        self._model_config = renderer.model_config
        self._tokenizer = renderer.tokenizer
        self._kinds: list[_Kind] = []

    def render_messages(self, messages: Messages, params: Any) -> tuple[list[Any], Any]:
        """A conversation as vLLM writes it, and its prompt."""
        kind = self._kind_of(params)
        conversation = kind.conversation(messages) if kind else None
        text = kind.text(conversation) if kind and conversation else None
        if conversation and text is not None:
            return conversation, {"prompt": text}
        written, prompt = self._stock(messages, params)
        self._learn(kind, messages, params, written, prompt)
        return written, prompt

    def forget(self) -> None:
        """Begin anew, so that kinds that come no more leave room for others."""
        self._kinds = []

    def _kind_of(self, params: Any) -> _Kind | None:
        for kind in self._kinds:
            if kind.params == params and _is_unlike_others(params):
                self._put_first(kind)
                return kind
        return None

    def _put_first(self, kind: _Kind) -> None:
        """Have a kind known for longer than those that were asked for before it."""
        known = self._kinds
        if known[:1] != [kind]:
            # A new list, for threads read the old one.
            others = [each for each in known if each is not kind]
            self._kinds = [kind, *others[: MAX_KINDS - 1]]

    def _learn(
        self,
        kind: _Kind | None,
        messages: Messages,
        params: Any,
        written: list[Any],
        prompt: Any,
    ) -> None:
        if not _is_unlike_others(params) or not all(map(_is_plain, messages)):
            return
        if kind is None:
            kind = _Kind(params, *self._shown(params, written, prompt))
            self._put_first(kind)
        if len(messages) == len(written):
            kind.learn(messages, written)

    def _shown(
        self, params: Any, written: list[Any], prompt: Any
    ) -> tuple[Template | None, dict[str, Any]]:
        """How vLLM calls the template; no template if that does not tell all."""
        recorder, template = _Recorder(self._tokenizer), _unpooled(self._tokenizer)
        try:
            text = vllm_api.safe_apply_chat_template(
                self._model_config,
                recorder,
                written,
                **params.get_apply_chat_template_kwargs(),
            )
            again = template(conversation=written, **recorder.given)
        except Exception:  # noqa: BLE001  # vLLM has just done it, so it is not for us
            return None, {}
        is_all = prompt == {"prompt": text} and text == again
        return (template, recorder.given) if is_all else (None, {})


class _Kind:
    """Requests that tell the template the same.

    Args:
        params: vLLM's ``ChatParams``.
        template: Calls the template; ``None`` if vLLM has to.
        given: What it is given besides the conversation.

    Attributes:
        params: The same.
    """

    def __init__(
        self, params: Any, template: Template | None, given: dict[str, Any]
    ) -> None:
        self.params = params
        self._template = template
        self._given = given
        self._roles: dict[str, bool] = {}
        self._system_texts: dict[str, None] = {}

    def conversation(self, messages: Messages) -> list[Any] | None:
        """The messages as vLLM writes them, or ``None`` if it has to say how."""
        if self._template is None or not all(map(self._is_known, messages)):
            return None
        return [_as_it_is(message) for message in messages]

    def text(self, conversation: list[Any]) -> Any:
        """The prompt of a conversation; ``None`` if vLLM has to say what is wrong."""
        assert self._template is not None  # noqa: S101  # or there was no conversation
        try:
            return self._template(conversation=conversation, **self._given)
        except Exception:  # noqa: BLE001  # a template refuses in many ways
            return None

    def learn(self, messages: Messages, written: list[Any]) -> None:
        """Learn from what vLLM has made of plain messages."""
        for message, as_written in zip(messages, written, strict=True):
            role, is_same = message["role"], as_written == _as_it_is(message)
            if role != _SYSTEM:
                self._roles[role] = is_same and self._roles.get(role, True)
            elif is_same:
                self._know(message["content"])

    def _know(self, system_text: str) -> None:
        self._system_texts[system_text] = None
        if len(self._system_texts) > MAX_SYSTEM_TEXTS:
            del self._system_texts[next(iter(self._system_texts))]

    def _is_known(self, message: Any) -> bool:
        if not _is_plain(message):
            return False
        if message["role"] == _SYSTEM:
            return message["content"] in self._system_texts
        return self._roles.get(message["role"], False)


def _is_plain(message: Any) -> bool:
    """Whether a message is one's text, which is not empty, and no more."""
    if not isinstance(message, Mapping) or message.keys() != _FIELDS:
        return False
    role, content = message["role"], message["content"]
    return (
        (role in _ROLES or role == _SYSTEM)
        and isinstance(content, str)
        and content != ""
    )


def _is_unlike_others(params: Any) -> bool:
    return all(
        type(value) in _UNLIKE_OTHERS for value in params.chat_template_kwargs.values()
    )


def _as_it_is(message: Any) -> dict[str, Any]:
    return {"role": message["role"], "content": message["content"]}


def _unpooled(tokenizer: Any) -> Template:
    """A tokenizer's own template; vLLM's pool of copies is for what may change them."""
    template: Template = tokenizer.apply_chat_template
    if isinstance(tokenizer, vllm_api.ThreadSafeHFTokenizerMixin):
        template = super(type(tokenizer), tokenizer).apply_chat_template
    return template


class _Recorder:
    """A tokenizer that notes what its template is given besides the conversation."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.given: dict[str, Any] = {}
        template = tokenizer.apply_chat_template

        @wraps(template)
        def noting(*, conversation: list[Any], **given: Any) -> Any:
            self.given = given
            return template(conversation=conversation, **given)

        self.apply_chat_template = noting

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)
