"""What is secret in plain values, told by its name or its look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import SecretStr

from containers.masks import is_secret_name

_URL = r"[a-z][a-z0-9+.-]*://"
_SECRET_IN_URL = re.compile(
    rf"{_URL}[^/\s@]+@"
    rf"|{_URL}\S*[?&][^=&\s]*(?:key|token|secret|password|signature|sig)=[^&\s]"
    r"|\bbearer\s+\S|\b\w*(?:token|secret|password|api_key)=\S",
    re.IGNORECASE,
)


def is_secret_text(name: str, text: str) -> bool:
    """Whether the text of a key is a secret, or an address that holds one."""
    return bool(text) and (is_secret_name(name) or bool(_SECRET_IN_URL.search(text)))


def hidden(name: str, value: Any) -> Any:
    """A value in which every secret is a :class:`~pydantic.SecretStr`, at any depth."""
    if isinstance(value, dict):
        return {key: hidden(str(key), each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([hidden(name, each) for each in value])
    if isinstance(value, str) and is_secret_text(name, value):
        return SecretStr(value)
    return value


def in_clear(value: Any) -> Any:
    """The value with its secrets as texts again."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, dict):
        return {key: in_clear(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([in_clear(each) for each in value])
    return value


def secrets_in(value: Any) -> Iterator[str]:
    """Every secret in a value that is not empty."""
    if isinstance(value, SecretStr):
        if value.get_secret_value():
            yield value.get_secret_value()
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from secrets_in(each)
