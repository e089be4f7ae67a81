"""The keys that are good here, and whose each is."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

from pydantic import SecretStr
from starlette.datastructures import Headers

from app.middleware.allowance import Allowance
from app.middleware.key_file import KeyFile
from containers.errors import SettingsError
from containers.settings import ApiKey, ServerSettings

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
"""Seconds between two looks at the key files."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose key a request bears.

    Attributes:
        name: The key's name, or its place among the keys.
        is_admin: Whether it is an admin key.
        allowance: What it may still ask for; ``None`` for whatever it wants.
    """

    name: str
    is_admin: bool
    allowance: Allowance | None


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    key: bytes
    is_admin: bool
    limits: tuple[int | None, int | None]


class Keys:
    """API keys and admin keys, from the settings and from the files they name.

    Files are read anew when they change. One that has become unreadable, or has lost
    its last key, leaves the keys as they were: it never opens the door, and a file that
    is being written locks nobody out.

    Args:
        server: Server settings.

    Attributes:
        wants_key: Whether a request needs a key.

    Raises:
        SettingsError: A file cannot be read, or a key is there twice.
    """

    def __init__(self, server: ServerSettings) -> None:
        self.wants_key = server.wants_key
        self._server = server
        self._files = _files(server)
        self._versions = self._seen()
        self._looked = monotonic()
        self._callers: dict[bytes, Caller] = self._made()

    @property
    def n(self) -> int:
        """How many keys are good."""
        return len(self._callers)

    def caller(self, headers: Headers) -> Caller | None:
        """Whose key a request bears, or ``None`` if it bears none that is good.

        Args:
            headers: Its ``Authorization: Bearer KEY`` counts, and its ``X-Api-Key``, in
                which Anthropic's clients send theirs.
        """
        if self._files:
            self._look()
        found = None
        for key in _sent(headers):
            given = _digest(key)
            # Every key is looked at, so the time tells nothing of which came close.
            for digest, caller in self._callers.items():
                if secrets.compare_digest(given, digest):
                    found = caller
        return found

    def replace(self, server: ServerSettings) -> None:
        """Take the keys of new settings; one that stays keeps what it has used up.

        Raises:
            SettingsError: A file cannot be read, or a key is there twice; the keys are
                as they were.
        """
        new = Keys(server)
        new._callers = self._callers  # for what has been used up
        self._callers = new._made()
        self._server, self._files = server, new._files
        self._versions = new._versions

    def _look(self) -> None:
        now = monotonic()
        if now - self._looked < LOOK_EVERY_S:
            return
        self._looked = now
        versions = self._seen()
        if versions == self._versions:
            return
        self._versions = versions
        try:
            self._callers = self._made()
        except SettingsError as error:
            logger.error("The keys stay as they were: %s", error)  # noqa: TRY400  # a sentence
        else:
            logger.info("The key files have changed: %d keys now", self.n)

    def _seen(self) -> list[tuple[int, ...]]:
        return [file.version() for file, _ in self._files]

    def _made(self) -> dict[bytes, Caller]:
        """The callers by digest; a key that stays keeps what it has used up."""
        before: dict[bytes, Caller] = getattr(self, "_callers", {})
        made: dict[bytes, Caller] = {}
        for entry in self._entries():
            digest = _digest(entry.key)
            if digest in made:
                where = f"{entry.name} and {made[digest].name}"
                raise SettingsError(
                    key="server",
                    reason=f"two of the keys are the same: {where}",
                    hint="Remove one of them.",
                )
            kept = before.get(digest)
            allowance = _allowance(entry.limits, kept.allowance if kept else None)
            made[digest] = Caller(entry.name, entry.is_admin, allowance)
        return made

    def _entries(self) -> Iterator[_Entry]:
        server = self._server
        default = (
            server.max_concurrent_requests_per_key,
            server.max_requests_per_minute_per_key,
        )
        for is_admin, keys in ((False, server.api_keys), (True, server.admin_keys)):
            usual = (None, None) if is_admin else default
            kind = "admin key" if is_admin else "API key"
            for number, each in enumerate(keys or (), start=1):
                yield from _written(each, f"{kind} {number}", usual, is_admin=is_admin)
        for file, entry in self._files:
            is_admin = file.setting.startswith("server.admin")
            usual = (None, None) if is_admin else default
            limits = _limits(entry, usual) if entry else usual
            for number, (name, key) in enumerate(file.read(), start=1):
                yield _Entry(name or f"{file.path}:{number}", key, is_admin, limits)


def _written(
    each: SecretStr | ApiKey,
    name: str,
    usual: tuple[int | None, int | None],
    *,
    is_admin: bool,
) -> Iterator[_Entry]:
    if isinstance(each, SecretStr):
        yield _Entry(name, _bytes(each), is_admin, usual)
    elif each.key is not None:
        limits = _limits(each, usual)
        yield _Entry(each.name, _bytes(each.key), is_admin, limits)


def _limits(
    entry: ApiKey, usual: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    concurrent, per_minute = usual
    return (
        entry.max_concurrent_requests or concurrent,
        entry.max_requests_per_minute or per_minute,
    )


def _allowance(
    limits: tuple[int | None, int | None], kept: Allowance | None
) -> Allowance | None:
    concurrent, per_minute = limits
    if concurrent is None and per_minute is None:
        return None
    bounds = {
        "max_concurrent_requests": concurrent,
        "max_requests_per_minute": per_minute,
    }
    if kept is None:
        return Allowance(**bounds)
    kept.change(**bounds)
    return kept


def _files(server: ServerSettings) -> list[tuple[KeyFile, ApiKey | None]]:
    found: list[tuple[KeyFile, ApiKey | None]] = []
    for setting in ("api_keys", "admin_keys"):
        for index, each in enumerate(getattr(server, setting) or ()):
            if isinstance(each, ApiKey) and each.key_file is not None:
                place = f"server.{setting}.{index}.key_file"
                found.append((KeyFile(each.key_file, place, each.name), each))
        path = getattr(server, f"{setting}_file")
        if path is not None:
            found.append((KeyFile(path, f"server.{setting}_file"), None))
    return found


def _sent(headers: Headers) -> Iterator[bytes]:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield key.strip().encode("latin-1")
    if (key := headers.get("x-api-key", "").strip()) != "":
        yield key.encode("latin-1")


def _bytes(key: SecretStr) -> bytes:
    # The environment's bytes, also where they are no UTF-8.
    return key.get_secret_value().encode("utf-8", "surrogateescape")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
