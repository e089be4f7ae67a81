"""LoRA adapters that come and go while their models serve."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from weakref import WeakKeyDictionary

from containers.errors import AdapterError, NotReadyError
from containers.registry.served_model import ServedModel
from containers.source import check_adapter

_HINT = "Set engine.enable_lora: true for it."


class Adapters:
    """Loads and unloads adapters, one after the other.

    An engine takes them one at a time anyway, and a name is given once for all models
    of an app.
    """

    def __init__(self) -> None:
        # A lock is an event loop's, and an app may be started on one after another.
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def load(
        self, models: Sequence[ServedModel], model: ServedModel, request: Any
    ) -> Any:
        """Load an adapter into a model.

        Args:
            models: All models of the app.
            model: The model it is for.
            request: vLLM's ``LoadLoRAAdapterRequest``.

        Returns:
            vLLM's sentence, or its ``ErrorResponse``, such as for a name it has.

        Raises:
            AdapterError: The name is taken by another model, the model takes no
                adapters, or this one cannot be loaded.
            NotReadyError: The model is not ready, or has died meanwhile.

        Source:
            vllm/entrypoints/serve/lora/api_router.py (0.32.0).
        """
        async with self._lock:
            self._refuse_taken(models, model, request.lora_name)
            if request.lora_path:
                await asyncio.to_thread(
                    check_adapter,
                    request.lora_path,
                    name=request.lora_name,
                    max_rank=_lora_config(model, request.lora_name).max_lora_rank,
                    hidden_size=_hidden_size(model),
                )
            return await self._load(model, request)

    async def unload(self, models: Sequence[ServedModel], request: Any) -> Any:
        """Take an adapter from the model that has it.

        Args:
            models: All models of the app.
            request: vLLM's ``UnloadLoRAAdapterRequest``.

        Returns:
            vLLM's sentence, or its ``ErrorResponse``, such as for an unknown name.

        Raises:
            NotReadyError: No model is ready.
        """
        async with self._lock:
            having = (each for each in models if request.lora_name in each.adapters)
            ready = (each for each in models if each.is_ready)
            model = next(having, next(ready, models[0]))
            gone = model.adapters.get(request.lora_name)
            result = await model.loaded.models.unload_lora_adapter(request)
            if gone is not None and request.lora_name not in model.adapters:
                work = _remove(model, gone.lora_int_id)
                model.in_background(work, name=f"removing {request.lora_name}")
            return result

    @property
    def _lock(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @staticmethod
    def _refuse_taken(
        models: Sequence[ServedModel], model: ServedModel, name: str
    ) -> None:
        for other in models:
            if other is not model and name in (*other.settings.names, *other.adapters):
                raise AdapterError(
                    adapter=name,
                    reason=f"the model {other.name} answers to that name",
                    hint="Choose another name.",
                )

    @staticmethod
    async def _load(model: ServedModel, request: Any) -> Any:
        loaded = model.loaded
        before = await loaded.engine.list_loras()
        result = await loaded.models.load_lora_adapter(request)
        error = getattr(result, "error", None)
        if error is None or error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
            return result
        if model.is_errored or not model.is_ready:
            raise NotReadyError(
                provider=f"the model {model.name!r}",
                state="engine dead",
                hint="Ask again once it is replaced.",
            )
        with suppress(Exception):  # tidying up after the failure that is told
            for left in await loaded.engine.list_loras() - before:
                await loaded.engine.remove_lora(left)
        raise AdapterError(adapter=request.lora_name, reason=error.message.rstrip("."))


async def _remove(model: ServedModel, lora_id: int) -> None:
    """Remove an adapter from its engine, once no request uses it any more."""
    from containers.vllm_api.adapters import remove

    engine = model.loaded.engine
    await model.quiesce(model.server.drain_timeout_s)
    if model.is_ready and model.loaded.engine is engine:
        await remove(engine, lora_id)


def _lora_config(model: ServedModel, name: str) -> Any:
    config = getattr(model.loaded.vllm_config, "lora_config", None)
    if config is None:
        reason = f"the model {model.name} takes no adapters"
        raise AdapterError(adapter=name, reason=reason, hint=_HINT)
    return config


def _hidden_size(model: ServedModel) -> int | None:
    """The width of its layers; ``None`` where they have several."""
    config = model.loaded.vllm_config.model_config
    if config.is_multimodal_model:
        return None
    size = getattr(config.hf_text_config, "hidden_size", None)
    return size if isinstance(size, int) else None
