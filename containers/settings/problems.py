"""What validators raise, and how it all becomes one ``SettingsError``."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from containers.errors import SettingsError
from containers.settings.document import Document
from containers.settings.keys import Location, dotted, suggestion
from containers.settings.sentences import sentence

Problems = dict[Location, PydanticCustomError]

_REFUSED = "refused"
_UNKNOWN = "unknown_key"


def refuse(reason: str, hint: str) -> PydanticCustomError:
    """What a validator raises against the value it was given."""
    return PydanticCustomError(_REFUSED, "{reason}", {"reason": reason, "hint": hint})


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
    )


def settings_error(
    error: ValidationError, root: type[BaseModel], document: Document | None = None
) -> SettingsError:
    """Every problem in pydantic's error, as one of ours.

    Args:
        error: What pydantic raised.
        root: The section that was validated.
        document: The file its values came from, if they came from one.

    Returns:
        The first problem (in the file's order), holding the others.
    """
    problems = [_problem(detail, root, document) for detail in error.errors()]
    first, *others = sorted(problems, key=lambda problem: problem.line or 0)
    first.others = tuple(others)
    return first


def _problem(
    detail: ErrorDetails, root: type[BaseModel], document: Document | None
) -> SettingsError:
    # pydantic marks a mapping's key, as opposed to its value, by an extra step.
    location = tuple(part for part in detail["loc"] if part != "[key]")
    reason, hint = _reason_and_hint(detail, root)
    return SettingsError(
        key=dotted(location),
        reason=reason,
        hint=hint,
        file=document.file if document else None,
        line=document.line_of(location) if document else None,
    )


def _reason_and_hint(detail: ErrorDetails, root: type[BaseModel]) -> tuple[str, str]:
    if detail["type"] in {_UNKNOWN, "extra_forbidden"}:
        return "unknown key", suggestion(root, detail["loc"])
    if detail["type"] == _REFUSED:
        return detail["ctx"]["reason"], detail["ctx"]["hint"]
    if detail["loc"][-1:] == ("[key]",):
        return sentence({**detail, "type": "invalid_key"})
    return sentence(detail)
