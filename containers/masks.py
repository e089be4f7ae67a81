"""Texts without the secrets in them: libraries put what they were given into errors.

Engine processes write their log lines with it too, so it is light to import.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from string import ascii_letters, digits
from urllib.parse import quote

MASK = "**********"
MIN_CHARS = 4
"""What is shorter protects nothing, and would be masked in the middle of words."""

MIN_CHARS_OF_VARIABLE = 8
"""What is shorter in a variable of such a name is rather ``true`` or ``basic``."""

_SECRET_NAME = re.compile(
    r"(?:^|[_.-]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:password|passwd|passphrase|pwd|secret|authorization|credentials?|auth|token"
    r"|(?:api|access|auth|bearer)[_-]?tokens"
    r"|(?:api|access|secret|private|signing)[_-]?key)$"
)
_NO_SECRET = re.compile(r"(bos|eos|pad|unk|sep|cls|mask|image|audio|video)_token$")

_BY_LOOK = re.compile(
    r"(?<=://)[^\s/]+(?=@)"
    r"|\bhf_[A-Za-z0-9]{16,}|\bsk-[\w-]{16,}"
    r"|(?<=[Bb]earer )(?=\S*\d)[\w.~+/=-]{8,}"
)
_VALUE = re.compile(r"('?\s?=\s?['\"]?|['\"]: ?b?['\"])(?!None\b)([^\s'\"&,;)}\]]{4,})")
_OF_NAMES = f"{ascii_letters}{digits}_.-"
_MAX_NAME_CHARS = 64
_SIGNATURES = ("signature", "sig")


def is_secret_name(name: str) -> bool:
    """Whether a key or variable of that name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET.search(name)


class Secrets:
    """Secrets that are known, to be masked while a block runs.

    Those of settings that are replaced stay: an error of before may be told later.
    """

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Know further ones."""
        self._texts |= dict.fromkeys(texts)
        _settle()

    @contextmanager
    def masked(self) -> Iterator[None]:
        """Have them masked in this process during the block, which may be nested."""
        _in_use.append(self)
        _settle()
        try:
            yield
        finally:
            _in_use.remove(self)
            _settle()

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def of_environment(environment: Mapping[str, str]) -> list[str]:
    """Secrets that libraries find by themselves, such as ``HF_TOKEN``."""
    return [
        text
        for name, text in environment.items()
        if is_secret_name(name) and len(text) >= MIN_CHARS_OF_VARIABLE
    ]


def masked(error: object) -> str:
    """Text of an error, or any other, as it may be told.

    Args:
        error: The error, or a text.

    Returns:
        The text with secrets masked: those that are known, as they are or as they are
        written in addresses and literals, and what looks like one: credentials in an
        address, a value behind the name of a secret, tokens of well-known form.
    """
    text = _BY_LOOK.sub(MASK, masked_where_known(str(error)))
    return _VALUE.sub(_hide, text)


def masked_where_known(text: str) -> str:
    """The same without what only looks like a secret; it takes a microsecond."""
    for form in _forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def _hide(found: re.Match[str]) -> str:
    """A value, masked if a secret's name stands before it."""
    begin = found.start()
    before = found.string[max(0, begin - _MAX_NAME_CHARS) : begin]
    name = before[len(before.rstrip(_OF_NAMES)) :]
    is_secret = is_secret_name(name) or name.lower().endswith(_SIGNATURES)
    return f"{found[1]}{MASK}" if is_secret else found[0]


def _forms_of(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]


def _settle() -> None:
    """Work out what is to be looked for, the longest first."""
    global _forms  # noqa: PLW0603  # one for the process, as its standard error is
    texts = {*_of_process, *(text for secrets in _in_use for text in secrets)}
    long = [text for text in texts if len(text) >= MIN_CHARS]
    found = {form for text in long for form in _forms_of(text)} - {MASK}
    _forms = tuple(sorted(found, key=lambda form: (-len(form), form)))


_of_process = of_environment(os.environ)
_in_use: list[Secrets] = []
_forms: tuple[str, ...] = ()
_settle()
