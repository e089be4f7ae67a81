"""Who may ask: API keys, admin keys, and what each key may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SecretStr,
    model_validator,
)

from containers.settings.problems import Problems, refuse, refuse_keys
from containers.settings.section import NonEmpty, Section, as_tuple

Limit = Annotated[int, Field(ge=1)]


def _not_blank(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().strip():
        raise refuse("is empty", "An empty key would let everybody in.")
    return value


class ApiKey(Section):
    """A key with a name.

    Attributes:
        name: Whose it is, for logs and for what its owner is told.
        key: The key itself.
        key_file: Path of a file that holds the key instead, read anew when it changes.
        max_concurrent_requests: Requests with it that may be answered at the same time,
            1 or more; ``None`` for ``server.max_concurrent_requests_per_key``.
        max_requests_per_minute: Requests with it within any 60 seconds, 1 or more;
            ``None`` for ``server.max_requests_per_minute_per_key``.
    """

    name: NonEmpty
    key: Annotated[SecretStr, AfterValidator(_not_blank)] | None = None
    key_file: NonEmpty | None = None
    max_concurrent_requests: Limit | None = None
    max_requests_per_minute: Limit | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.key is None) == (self.key_file is None):
            problem = refuse("has to have a key or a key_file", "Write one of them.")
            raise refuse_keys({("key",): problem})
        return self


def _entry(value: Any) -> SecretStr | ApiKey:
    if isinstance(value, str):
        value = SecretStr(value)
    if isinstance(value, SecretStr):
        return _not_blank(value)
    # A mapping with any other key may be a secret that has a colon in it.
    if isinstance(value, dict) and {*value} <= {*ApiKey.model_fields}:
        made: ApiKey = ApiKey.__pydantic_validator__.validate_python(value)
        return made
    if isinstance(value, ApiKey):
        return value
    raise refuse(
        "is neither text nor a mapping of name and key",
        f"A mapping may have {', '.join(ApiKey.model_fields)}; put text in quotes.",
    )


def _masked(entry: SecretStr | ApiKey) -> Any:
    return entry.model_dump(mode="json") if isinstance(entry, ApiKey) else str(entry)


def _entries(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise refuse(
            "is an empty list, which nobody can log in with",
            "Write a key, or leave it out.",
        )
    return as_tuple(value)


def _path(value: str) -> str:
    if not value.startswith("/") or "?" in value or "*" in value.removesuffix("/*"):
        raise refuse(
            "is {value}, which is no path",
            "Write a path such as /metrics, or /static/* for all below one.",
            value=value,
        )
    return value


Keys = Annotated[
    tuple[
        Annotated[
            SecretStr | ApiKey,
            PlainValidator(_entry, json_schema_input_type=SecretStr | ApiKey),
            PlainSerializer(_masked, when_used="json"),
        ],
        ...,
    ]
    | None,
    BeforeValidator(_entries),
]


class AuthenticationSettings(Section):
    """Keys, and what they are for.

    Attributes:
        api_keys: Keys of which a request has to bear one (``Authorization: Bearer KEY``
            or ``X-Api-Key: KEY``), each the key itself or a mapping of name and key;
            ``None`` lets everybody in. Probes need no key.
        api_keys_file: Path of a file of further such keys, read anew when it changes:
            a line each, ``KEY`` or ``NAME KEY``; lines that begin with ``#`` are
            comments.
        admin_keys: Keys for what concerns the server itself (``/sleep``,
            ``/start_profile`` and their like), which is not there without admin keys.
            They are good for everything else too.
        admin_keys_file: Path of a file of further admin keys, as ``api_keys_file``.
        open_paths: Paths that need no key beside the probes, such as ``/metrics``;
            ``/static/*`` is all below ``/static``.
        max_concurrent_requests_per_key: Requests with one key that may be answered at
            the same time, 1 or more; ``None`` for any number.
        max_requests_per_minute_per_key: Requests with one key within any 60 seconds,
            1 or more; ``None`` for any number.
    """

    api_keys: Keys = None
    api_keys_file: NonEmpty | None = None
    admin_keys: Keys = None
    admin_keys_file: NonEmpty | None = None
    open_paths: Annotated[
        tuple[Annotated[NonEmpty, AfterValidator(_path)], ...],
        BeforeValidator(as_tuple),
    ] = ()
    max_concurrent_requests_per_key: Limit | None = None
    max_requests_per_minute_per_key: Limit | None = None

    @property
    def wants_key(self) -> bool:
        """Whether requests need a key."""
        return self.api_keys is not None or self.api_keys_file is not None

    @property
    def has_admin_keys(self) -> bool:
        """Whether there are keys for what concerns the server itself."""
        return self.admin_keys is not None or self.admin_keys_file is not None

    @model_validator(mode="after")
    def _settle_keys(self) -> Self:
        problems = {**_repeated(self._entries()), **self._without_keys()}
        if problems:
            raise refuse_keys(problems)
        return self

    def _entries(self) -> dict[tuple[str, int], SecretStr | ApiKey]:
        lists: Mapping[str, Sequence[SecretStr | ApiKey]] = {
            "api_keys": self.api_keys or (),
            "admin_keys": self.admin_keys or (),
        }
        return {
            (where, index): entry
            for where, entries in lists.items()
            for index, entry in enumerate(entries)
        }

    def _without_keys(self) -> Problems:
        names = ("max_concurrent_requests_per_key", "max_requests_per_minute_per_key")
        return {
            (name,): refuse("has no meaning without api_keys", "Set api_keys too.")
            for name in names
            if getattr(self, name) is not None and not self.wants_key
        }


def _repeated(entries: Mapping[tuple[str, int], SecretStr | ApiKey]) -> Problems:
    """Keys and names that an entry shares with one before it."""
    problems: Problems = {}
    keys, names = set[str](), set[str]()
    for place, entry in entries.items():
        secret = entry if isinstance(entry, SecretStr) else entry.key
        key = secret.get_secret_value() if secret is not None else None
        if key in keys:
            problems[place] = refuse("is a key before it again", "Remove one of them.")
        if isinstance(entry, ApiKey) and entry.name in names:
            problems[*place, "name"] = refuse(
                "is {value}, as a key before it", "Rename one.", value=entry.name
            )
        keys |= {key} if key is not None else set()
        names |= {entry.name} if isinstance(entry, ApiKey) else set()
    return problems
