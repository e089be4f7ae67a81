"""What validators raise, and how it all becomes one ``SettingsError``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from containers.errors import SettingsError
from containers.settings.keys import suggestion
from containers.settings.kinds import kind_of_section
from containers.settings.location import Location, dotted, kind_at
from containers.settings.origin import Origin, Origins
from containers.settings.sentences import sentence
from containers.vllm_api.kinds import is_secret

Problems = dict[Location, PydanticCustomError]

_REFUSED = "refused"
_UNKNOWN = "unknown_key"
_VALUE = "{value}"


def refuse(
    reason: str, hint: str, *, value: Any = None, shown: str = ""
) -> PydanticCustomError:
    """What a validator raises against the value it was given.

    Args:
        reason: What is wrong; ``{value}`` in it is shown only where it may be.
        hint: What to do.
        value: The value.
        shown: How it is shown; by default as Python writes it.
    """
    context = {"reason": reason, "hint": hint, "shown": shown or repr(value)}
    return PydanticCustomError(_REFUSED, "refused", context)


def unknown_key() -> PydanticCustomError:
    """The problem of a key that does not exist; the nearest name is added later."""
    return PydanticCustomError(_UNKNOWN, "unknown key")


def refuse_keys(problems: Problems) -> ValidationError:
    """What a validator raises against keys below the value it was given."""
    return ValidationError.from_exception_data(
        _REFUSED,
        [
            InitErrorDetails(type=problem, loc=location, input=None)
            for location, problem in problems.items()
        ],
        hide_input=True,
    )


def settings_error(
    error: ValidationError, root: type[BaseModel], origins: Origins | None = None
) -> SettingsError:
    """Every problem in pydantic's error, as one of ours.

    Args:
        error: What pydantic raised.
        root: The section that was validated.
        origins: Where its values came from, if they were loaded.

    Returns:
        The first problem (in the order of the sources), holding the others.
    """
    known = origins or Origins()
    problems = [_Problem(detail, root, known) for detail in error.errors()]
    return first_of([each.error() for each in sorted(problems, key=_Problem.order)])


def first_of(problems: list[SettingsError]) -> SettingsError:
    """The first of these problems, holding the others."""
    first, *others = problems
    first.others = tuple(others)
    return first


class _Problem:
    def __init__(
        self, detail: ErrorDetails, root: type[BaseModel], origins: Origins
    ) -> None:
        self._detail = detail
        self._root = kind_of_section(root)
        # pydantic marks a mapping's key, as opposed to its value, by an extra step.
        self._location = tuple(part for part in detail["loc"] if part != "[key]")
        self._origin: Origin | None = origins.nearest(self._location)
        self._is_exact = origins.of(self._location) is not None
        self._is_filled = origins.is_filled(self._location)

    def order(self) -> tuple[int, int]:
        """Where it stands among the problems."""
        origin = self._origin
        return (origin.order, origin.line or 0) if origin else (0, 0)

    def error(self) -> SettingsError:
        """It as an error of ours."""
        reason, hint = self._reason_and_hint()
        return SettingsError(
            key=dotted(self._location),
            reason=reason,
            hint=hint,
            file=self._origin.source if self._origin else None,
            line=self._origin.line if self._origin else None,
        )

    def _reason_and_hint(self) -> tuple[str, str]:
        detail = self._detail
        if detail["type"] in {_UNKNOWN, "extra_forbidden"}:
            return "unknown key", suggestion(self._root, self._location)
        if detail["type"] == _REFUSED:
            context = detail["ctx"]
            shown = self._stand_in() or context["shown"]
            return context["reason"].replace(_VALUE, shown), context["hint"]
        if detail["loc"][-1:] == ("[key]",):
            return sentence({**detail, "type": "invalid_key"})
        return sentence(detail, self._stand_in())

    def _stand_in(self) -> str:
        """What to say for a value that must not be shown."""
        if self._origin and self._is_exact and self._origin.variables:
            names = (f"${{{name}}}" for name in self._origin.variables)
            return f"the value of {' and '.join(names)}"
        is_hidden = self._is_filled or is_secret(kind_at(self._root, self._location))
        if is_hidden:
            return "a value that is not shown"
        return ""
