"""Secrets become placeholders, and the variables of a command stay variables."""

from __future__ import annotations

import re
from typing import Any

from containers.settings.migration.shell import DOLLAR
from containers.settings.secrets import is_secret_text

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def literal(value: Any) -> Any:
    """Free text as it is in the file, where a dollar is always one."""
    if isinstance(value, dict):
        return {key: literal(each) for key, each in value.items()}
    if isinstance(value, list):
        return [literal(each) for each in value]
    return value.replace(DOLLAR, "$") if isinstance(value, str) else value


def placeholders(value: Any) -> list[str]:
    """Names of the variables in a value, at any depth."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return [name for each in inside for name in placeholders(each)]
    return _PLACEHOLDER.findall(value) if isinstance(value, str) else []


class Masker:
    """Takes secrets out of values.

    Attributes:
        variables: Variables that have to be set, each with the key it is for.
    """

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}

    def secret(self, text: str, variable: str, key: str) -> str:
        """A placeholder for a secret; its own, if it is a variable already."""
        own = _PLACEHOLDER.fullmatch(text)
        if own:
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
                literal(name): self.masked(each, f"{key}.{name}")
                for name, each in value.items()
            }
        if isinstance(value, list):
            return [self.masked(each, key) for each in value]
        if not isinstance(value, str):
            return value
        if is_secret_text(key, value):
            name = re.sub(r"\W+", "_", key.rsplit("engine.", maxsplit=1)[-1])
            return self.secret(value, f"VLLM_{name.strip('_').upper()}", key)
        return self._with_dollars(value, key)

    def _with_dollars(self, text: str, key: str) -> str:
        parts = _PLACEHOLDER.split(text)
        self.variables |= dict.fromkeys(parts[1::2], key)
        return "".join(
            f"${{{part}}}"
            if index % 2
            else part.replace("$", "$$").replace(DOLLAR, "$$")
            for index, part in enumerate(parts)
        )
