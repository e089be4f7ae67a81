"""The ``chat.frontend`` section: front-end arguments that have no key of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from containers.settings.engine import problems_of_type
from containers.settings.options import FRONT_END
from containers.settings.problems import Problems, refuse, refuse_keys, unknown_key
from containers.vllm_api.front_end import passed_on_arguments
from containers.vllm_api.kinds import Kind
from containers.vllm_api.release import package_folder

_ELSEWHERE = {option.name: option for option in FRONT_END}


def frontend_arguments() -> Mapping[str, Kind]:
    """What may be set here, by name: the installed vLLM decides."""
    return {
        name: kind
        for name, kind in passed_on_arguments().items()
        if name not in _ELSEWHERE
    }


def checked_frontend(frontend: dict[str, Any]) -> dict[str, Any]:
    """Arguments whose names and types are those of the installed vLLM."""
    if not frontend:
        return frontend
    known = frontend_arguments()
    problems: Problems = {}
    for key, value in frontend.items():
        if key in _ELSEWHERE:
            problems[key,] = refuse("is not set here", _hint(key))
        elif key in known:
            problems |= problems_of_type(known[key], key, value)
        elif package_folder() is not None:
            problems[key,] = unknown_key()
    if problems:
        raise refuse_keys(problems)
    return frontend


def _hint(name: str) -> str:
    option = _ELSEWHERE[name]
    return f"Write it as {option.key}." if option.key else f"Leave it: {option.reason}."
