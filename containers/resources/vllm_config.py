"""The engine's configuration."""

from __future__ import annotations

from typing import Annotated, Any

from containers.errors import SettingsError
from containers.graph import Expected
from containers.settings import ModelSettings

BuiltConfig = Annotated[Any, Expected("a VllmConfig", has=("model_config",))]


def vllm_config(*, settings: ModelSettings, model: str) -> BuiltConfig:
    """Build vLLM's ``VllmConfig`` for one engine; loads no weights.

    The first call in a process imports vLLM, which takes 6 to 13 s.

    Args:
        settings: The model's settings.
        model: Model folder or Hugging Face id.

    Returns:
        A fresh ``VllmConfig``, for one engine alone.

    Raises:
        VllmMismatchError: vLLM is not installed or not supported.
        SettingsError: vLLM refuses an engine argument.
    """
    from containers.vllm_api.configuration import create_vllm_config

    arguments = dict(settings.engine)
    if settings.chat.reasoning_parser:
        arguments["reasoning_parser"] = settings.chat.reasoning_parser
    try:
        return create_vllm_config(
            model=model, served_model_name=settings.names, arguments=arguments
        )
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise SettingsError(
            key="engine",
            reason=f"vLLM refuses the engine arguments of {settings.name!r}: {error}",
            hint="Mend models[].engine; the names are those of `vllm serve --help`.",
        ) from error
