"""What a ``docker run`` command starts, and with which environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_PROGRAMS = frozenset({"docker", "podman", "nerdctl", "nvidia-docker"})
_SWITCHES = frozenset(
    {
        "--detach",
        "--disable-content-trust",
        "--init",
        "--interactive",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--privileged",
        "--publish-all",
        "--quiet",
        "--read-only",
        "--replace",
        "--rm",
        "--sig-proxy",
        "--tty",
    }
)
_SHORT_SWITCHES = re.compile(r"-[ditPq]+")


@dataclass
class Container:
    """What runs in a container.

    Attributes:
        words: The command, with the entry point in front if it was changed.
        environment: Variables; ``None`` for one that is handed through.
        notes: Docker's own options, in words.
    """

    words: list[str] = field(default_factory=list)
    environment: dict[str, str | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def inside_container(words: Sequence[str]) -> Container | None:
    """What a command starts in a container; ``None`` if it is no such command."""
    start = next(
        (
            index + 2
            for index, word in enumerate(words[:-1])
            if word.rsplit("/", 1)[-1] in _PROGRAMS and words[index + 1] == "run"
        ),
        None,
    )
    if start is None:
        return None
    found, others, entry = Container(), list[str](), list[str]()
    rest = list(words[start:])
    while rest and rest[0].startswith("-"):
        name, value = _option(rest)
        if name in {"-e", "--env"}:
            variable, equals, text = value.partition("=")
            found.environment[variable] = text if equals else None
        elif name == "--entrypoint":
            entry = [value] if value else []
        elif name == "--env-file":
            found.notes.append(f"variables of {value}: give it to --env-file")
        elif name in {"-p", "--publish"}:
            found.notes.append(f"docker publishes port {value}; server.port is inside")
        else:
            others.append(name)
    if others:
        unique = ", ".join(dict.fromkeys(others))
        found.notes.append(f"docker's own options, which stay with docker: {unique}")
    found.words = [*entry, *rest[1:]]
    return found


def _option(rest: list[str]) -> tuple[str, str]:
    """Take the first option, with its value, off a command."""
    word = rest.pop(0)
    name, equals, value = word.partition("=")
    if equals:
        return name, value
    if name in _SWITCHES or _SHORT_SWITCHES.fullmatch(name):
        return name, ""
    if len(name) > 2 and name[0] != name[1] and name[1] in "evpwu":  # noqa: PLR2004  # -eNAME
        return name[:2], name[2:]
    return name, rest.pop(0) if rest else ""
