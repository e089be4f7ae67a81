"""Secrets kept out of cassettes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

SCRUBBED = "[scrubbed]"

Secret = str | re.Pattern[str]

_PATTERNS = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}"  # OpenAI's and those of many others
    r"|\bhf_[A-Za-z0-9]{16,}"
    r"|\b(?:ghp|gho|ghs|github_pat)_\w{16,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"  # a JSON web token
    r"|(?<=Bearer )[\w.~+/=-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
)
_KEYS = re.compile(
    r"api_?key|authorization|password|passwd|secret|credential|cookie|access_token"
    r"|cache_salt",
    re.IGNORECASE,
)
_VARIABLES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$")
_SHORTEST = 12


class Scrubber:
    """Replaces secrets in texts, and whatever stands under a telling name.

    It knows the usual forms of keys and tokens, and the values of environment
    variables whose names end in KEY, TOKEN, SECRET or PASSWORD.

    Args:
        secrets: Further secrets, each a literal text or a compiled pattern.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        values = {
            value
            for name, value in os.environ.items()
            if _VARIABLES.search(name) and len(value) >= _SHORTEST
        }
        values |= {secret for secret in secrets if isinstance(secret, str) and secret}
        # The longest first: one secret may be a part of another.
        literals = [re.escape(value) for value in sorted(values, key=len, reverse=True)]
        self._patterns = [_PATTERNS]
        self._patterns += [s for s in secrets if isinstance(s, re.Pattern)]
        if literals:
            self._patterns.append(re.compile("|".join(literals)))

    def text(self, text: str) -> str:
        """The text with every secret replaced."""
        for pattern in self._patterns:
            text = pattern.sub(SCRUBBED, text)
        return text

    def data(self, value: Any) -> Any:
        """Nested data with every secret replaced, in keys' values and in texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.data(inner) for inner in value]
        if isinstance(value, Mapping):
            return {
                key: SCRUBBED if inner and _KEYS.search(key) else self.data(inner)
                for key, inner in value.items()
            }
        return value

    def request(self, description: Mapping[str, Any]) -> dict[str, Any]:
        """A request's description; token ids that would spell a secret are left out."""
        scrubbed: dict[str, Any] = self.data(description)
        if scrubbed["prompt"] != description["prompt"]:
            del scrubbed["prompt_token_ids"]
        return scrubbed
