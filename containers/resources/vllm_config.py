"""The engine's configuration."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ValidationError

from containers.errors import SettingsError
from containers.graph import Expected
from containers.settings import ModelSettings
from containers.settings.engine import revealed, without_secrets
from containers.vllm_api.sharing import ALONE, EngineSharing

BuiltConfig = Annotated[Any, Expected("a VllmConfig", has=("model_config",))]

HINT = "Mend models[].engine; the names are those of `vllm serve --help`."


def vllm_config(
    *, settings: ModelSettings, model: str, sharing: EngineSharing = ALONE
) -> BuiltConfig:
    """Build vLLM's ``VllmConfig`` for one engine; loads no weights.

    The first call in a process imports vLLM, which takes 6 to 13 s. Plugins with tool
    and reasoning parsers are imported too.

    Args:
        settings: The model's settings.
        model: Model folder or Hugging Face id.
        sharing: How many processes use the engine.

    Returns:
        A fresh ``VllmConfig``, for one engine alone.

    Raises:
        VllmMismatchError: vLLM is not installed or not supported.
        SettingsError: vLLM refuses an engine argument, or a plugin cannot be imported.
    """
    from containers.vllm_api.configuration import create_vllm_config

    _import_plugins(settings)
    arguments = _arguments(settings)
    try:
        return create_vllm_config(
            model=model,
            served_model_name=settings.names,
            arguments=arguments,
            n_clients=sharing.n_clients,
        )
    except ValidationError as error:
        # Its own text and traceback show the arguments, with their secrets.
        raise _refused(settings, _in_words(error)) from None
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise _refused(settings, str(error)) from error


def _arguments(settings: ModelSettings) -> dict[str, Any]:
    """Engine arguments, with what ``vllm serve`` adds from its front-end arguments.

    Source:
        vllm/entrypoints/launchers/cli_args.py ``propagate_flash_late_interaction``
        (0.32.0).
    """
    from containers.vllm_api.behaviour import behaviour

    arguments = revealed(settings.engine)
    if settings.chat.reasoning_parser:
        arguments["reasoning_parser"] = settings.chat.reasoning_parser
    has_half = behaviour().pooler_has_flash_late_interaction
    if has_half and not settings.chat.enable_flash_late_interaction:
        arguments["pooler_config"] = {
            **(arguments.get("pooler_config") or {}),
            "enable_flash_late_interaction": False,
        }
    return arguments


def _refused(settings: ModelSettings, words: str) -> SettingsError:
    reason = f"vLLM refuses the engine arguments of {settings.name!r}: {words}"
    return SettingsError(
        key="engine", reason=without_secrets(reason, settings.engine), hint=HINT
    )


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}".lstrip(
            ": "
        )
        for problem in problems
    )


def _import_plugins(settings: ModelSettings) -> None:
    from containers import vllm_api

    plugins = {
        "chat.tool_parser_plugin": settings.chat.tool_parser_plugin,
        "engine.reasoning_parser_plugin": settings.engine.get(
            "reasoning_parser_plugin"
        ),
    }
    for key, plugin in plugins.items():
        if plugin and vllm_api.import_plugin(plugin) is None:
            raise SettingsError(
                key=key,
                reason=f"{plugin} of {settings.name!r} cannot be imported",
                hint="Name a Python file or an installed module; the log has more.",
            )
