"""What a fake engine answers: a script, opened anew for every answer."""

from __future__ import annotations

import inspect
import re
import zlib
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from containers.errors import InjectionError
from containers.testing.requests import RecordedRequest

END_TOKEN_ID = 2
"""Id of the one token an empty answer consists of, the usual end of sequence."""

_FIRST_ID = 300
_IDS = 256
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


@dataclass(frozen=True, slots=True)
class Token:
    """One scripted token.

    Attributes:
        text: What it adds to the answer; may be empty.
        token_id: Its id; ``None`` derives one from the text, the same every time.
        logprob: Its log-probability, at most 0; ``None`` takes the fake's own.
        delay_s: Seconds to wait before it; ``None`` takes the engine's ``delay_s``.
    """

    text: str
    token_id: int | None = None
    logprob: float | None = None
    delay_s: float | None = None


Item: TypeAlias = str | Token | Exception
Answer: TypeAlias = str | Exception | Iterable[Item] | AsyncIterable[Item]
Script: TypeAlias = Answer | Callable[[RecordedRequest], Answer | Awaitable[Answer]]
Items: TypeAlias = Iterator[Item] | AsyncIterator[Item]


def require_script(script: Any) -> None:
    """Refuse what can never be played, before any request needs it.

    Raises:
        InjectionError: It is no script, or a list without a token.
    """
    if isinstance(script, Sequence) and not isinstance(script, (str, bytes)):
        if not script:
            raise _refused("an empty list", "Write '' for an answer without text.")
        for item in script:
            require_item(item)
    elif inspect.isclass(script) or not (_is_answer(script) or callable(script)):
        raise _refused(f"{script!r}")


def require_item(item: Any) -> None:
    """Refuse an item of a script that is no token.

    Raises:
        InjectionError: It is neither a string, nor a :class:`Token`, nor an exception.
    """
    if not isinstance(item, (str, Token, Exception)):
        raise _refused(
            f"{item!r} among its tokens",
            "A token is a string, a Token or an exception.",
        )


async def open_script(
    script: Script, request: RecordedRequest, tokenizer: Any
) -> Items:
    """Start one answer: call the script if it is callable and cut a string.

    Args:
        script: What the engine was given.
        request: What is answered; a callable script gets it.
        tokenizer: Cuts strings when there is one; otherwise words do.

    Raises:
        Exception: The one the script is, raises or returns.
        InjectionError: A callable returned something that is no answer.
    """
    answer: Any = script(request) if callable(script) else script
    if inspect.isawaitable(answer):
        answer = await answer
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, str):
        return iter(cut(answer, tokenizer))
    if not _is_answer(answer):
        raise _refused(f"a callable that returned {answer!r}")
    items: Items = aiter(answer) if hasattr(answer, "__aiter__") else iter(answer)
    return items


def cut(text: str, tokenizer: Any = None) -> list[Token]:
    """Cut a text into tokens that joined give it back.

    Without a tokenizer a token is a word or a punctuation mark with the space before
    it; the empty text is one end-of-sequence token, a model's shortest answer.
    """
    if not text:
        return [Token("", token_id=END_TOKEN_ID)]
    if tokenizer is None:
        return [Token(piece) for piece in _PIECE.findall(text)]
    ids = tokenizer.encode(text, add_special_tokens=False)
    tokens, done = [], ""
    for count, token_id in enumerate(ids, start=1):
        whole = tokenizer.decode(ids[:count])
        # A character's first bytes have no text yet, as in vLLM's detokenizer.
        piece = "" if whole.endswith("�") else whole[len(done) :]
        done += piece
        tokens.append(Token(piece, token_id=token_id))
    return tokens


def resolve(item: str | Token, tokenizer: Any) -> Token:
    """A token with an id: its own, the tokenizer's, or one derived from its text."""
    token = Token(item) if isinstance(item, str) else item
    if token.token_id is not None:
        return token
    return replace(token, token_id=_id_of(token.text, tokenizer))


def _id_of(text: str, tokenizer: Any) -> int:
    if tokenizer is not None:
        ids = tokenizer.encode(text, add_special_tokens=False)
        if len(ids) == 1:
            return int(ids[0])
    return _FIRST_ID + zlib.crc32(text.encode()) % _IDS


def _is_answer(answer: Any) -> bool:
    if isinstance(answer, (bytes, Mapping)):
        return False
    kinds = (str, Exception, Iterable, AsyncIterable)
    return isinstance(answer, kinds) and not inspect.isclass(answer)


def _refused(found: str, hint: str = "") -> InjectionError:
    return InjectionError(
        owner="FakeEngine",
        argument="script",
        expected="a string, a list or iterator of tokens, or a callable of the request",
        found=found,
        hint=hint or "See containers.testing.script.Script.",
    )
