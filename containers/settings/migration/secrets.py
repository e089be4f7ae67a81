"""Secrets become placeholders, and a shell's variables stay variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SECRET_NAME = re.compile(
    r"(^|_)(password|passwd|secret|api_?key|access_?key|secret_?key|token|credentials?)$",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
_VARIABLE = re.compile(
    r"\$\{(?P<braced>[A-Za-z_]\w*)(?::?-(?P<default>[^}]*))?(?::?\?[^}]*)?\}"
    r"|\$\((?P<kubernetes>[A-Za-z_]\w*)\)"
    r"|\$(?P<bare>[A-Za-z_]\w*)"
)
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def is_secret_name(name: str) -> bool:
    """Whether a key or variable of that name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def expanded(word: str, environment: Mapping[str, str | None]) -> str:
    """A word with its variables filled in where the command itself sets them.

    The others, and secrets, become ``${NAME}``.
    """

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["kubernetes"] or match["bare"]
        found = environment.get(name)
        if found is None:
            found = match["default"]
        return f"${{{name}}}" if found is None or is_secret_name(name) else found

    return _VARIABLE.sub(value, word)


class Masker:
    """Takes secrets out of values.

    Args:
        is_literal: Whether a dollar in a value is a dollar.

    Attributes:
        variables: Variables that have to be set, each with the key it is for.
    """

    def __init__(self, *, is_literal: bool) -> None:
        self._is_literal = is_literal
        self.variables: dict[str, str] = {}

    def secret(self, text: str, variable: str, key: str) -> str:
        """A placeholder for a secret; its own, if it is a variable already."""
        own = _PLACEHOLDER.fullmatch(text)
        if own and not self._is_literal:
            variable = own[1]
        elif variable in self.variables:
            n = 2
            while f"{variable}_{n}" in self.variables:
                n += 1
            variable = f"{variable}_{n}"
        self.variables[variable] = key
        return f"${{{variable}}}"

    def masked(self, value: Any, key: str) -> Any:
        """A value without secrets, its dollars written as the file wants them."""
        if isinstance(value, dict):
            return {
                name: self.masked(each, f"{key}.{name}") for name, each in value.items()
            }
        if isinstance(value, list):
            return [self.masked(each, key) for each in value]
        if not isinstance(value, str):
            return value
        if is_secret_name(key.rsplit(".", 1)[-1]) or _PASSWORD_IN_URL.search(value):
            name = (
                re.sub(r"\W+", "_", key.rsplit("engine.", maxsplit=1)[-1])
                .strip("_")
                .upper()
            )
            return self.secret(value, f"VLLM_{name}", key)
        return self._with_dollars(value, key)

    def _with_dollars(self, text: str, key: str) -> str:
        if self._is_literal:
            return text.replace("$", "$$")
        parts = _PLACEHOLDER.split(text)
        self.variables |= dict.fromkeys(parts[1::2], key)
        return "".join(
            f"${{{part}}}" if index % 2 else part.replace("$", "$$")
            for index, part in enumerate(parts)
        )
