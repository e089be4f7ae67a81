"""Names of vLLM's parsers that it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from containers.errors import SettingsError
from containers.settings import ChatSettings


@contextmanager
def known_parsers(settings: ChatSettings) -> Iterator[None]:
    """Blame the setting when vLLM does not know the parser that it names.

    Raises:
        SettingsError: vLLM knows no tool or reasoning parser of the configured name.
    """
    try:
        yield
    except (TypeError, KeyError) as error:
        for key in ("tool_call_parser", "reasoning_parser"):
            name = getattr(settings, key)
            if name and repr(name) in str(error):
                raise SettingsError(
                    key=f"chat.{key}",
                    reason=f"vLLM has no parser called {name!r}",
                    hint="Take one of those that vLLM's documentation lists.",
                ) from error
        raise
