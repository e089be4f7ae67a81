"""The ``engine`` section: vLLM's engine arguments, by vLLM's own names and types."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr
from pydantic_core import PydanticCustomError

from containers.settings.location import is_free_text
from containers.settings.problems import Problems, refuse, refuse_keys, unknown_key
from containers.settings.secrets import hidden, in_clear, secrets_in
from containers.settings.sentences import described
from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.fitting import Misfit, misfits
from containers.vllm_api.kinds import Kind, Scalar, is_secret

ELSEWHERE = {
    "model": "source",
    "served_model_name": "name (or names)",
}
"""Arguments that are keys of the model itself."""

REFUSED = {
    "skip_tokenizer_init": "serving is built on a loaded tokenizer",
    "tokens_only": "its routes are not served",
    "data_parallel_multi_port_external_lb": "it needs several servers, this is one",
    "shutdown_timeout": "requests are drained by the server: server.drain_timeout_s",
}
"""Arguments that would not do what they say, with the reason."""

SHARED_WITH_CHAT: dict[str, Kind] = {
    "reasoning_parser": Scalar(str),
    "enable_log_requests": Scalar(bool),
}
"""Arguments that vLLM reads in two places, and so may be set in either section."""


def checked_engine(engine: dict[str, Any]) -> dict[str, Any]:
    """Engine arguments whose names and types are those of the installed vLLM."""
    known = engine_arguments()
    problems: Problems = {}
    for key, value in engine.items():
        problem = _problem_of_name(key, value)
        if problem is not None:
            problems[key,] = problem
            continue
        kind = SHARED_WITH_CHAT.get(key) or (known or {}).get(key)
        is_unset = value is None and key in SHARED_WITH_CHAT
        if known is not None and kind is None:
            problems[key,] = unknown_key()
        elif kind is not None and not is_unset:
            problems |= problems_of_type(kind, key, value)
    if problems:
        raise refuse_keys(problems)
    return {key: _hidden(key, value) for key, value in engine.items()}


def revealed(engine: dict[str, Any]) -> dict[str, Any]:
    """Engine arguments with their secrets in clear, for vLLM alone."""
    return {key: in_clear(value) for key, value in engine.items()}


def _problem_of_name(key: str, value: Any) -> PydanticCustomError | None:
    if key in ELSEWHERE:
        return refuse("is not set here", f"Write it as the model's {ELSEWHERE[key]}.")
    if key in REFUSED and value:
        return refuse(f"cannot be set: {REFUSED[key]}", "Leave it out.")
    return None


def problems_of_type(kind: Kind, key: str, value: Any) -> Problems:
    """What is wrong with the type of one argument's value, at any depth."""
    value = in_clear(value)
    stand_in = "a value that is not shown" if is_secret(kind) else ""
    return {
        misfit.path: _refused(misfit, stand_in)
        for misfit in misfits(kind, value, (key,))
    }


def _refused(misfit: Misfit, stand_in: str) -> PydanticCustomError:
    if not misfit.expected:
        return unknown_key()
    value = misfit.value
    if isinstance(value, str) and "'" in misfit.expected:
        return refuse(f"is {{value}}, must be {misfit.expected}", "", value=value)
    shown = described(value, stand_in)
    return refuse(f"takes {misfit.expected}, got {{value}}", "", shown=shown)


def _hidden(key: str, value: Any) -> Any:
    if is_free_text(("models", 0, "engine", key)):
        return value
    kind = (engine_arguments() or {}).get(key)
    if isinstance(value, str) and is_secret(kind):
        return SecretStr(value)
    return hidden(key, value)


def without_secrets(text: str, engine: dict[str, Any]) -> str:
    """A text in which no secret of these engine arguments is left."""
    for secret in secrets_in(engine):
        text = text.replace(secret, str(SecretStr(secret)))
    return text
