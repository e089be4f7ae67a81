"""An engine client as the serving objects see it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import cached_property
from typing import Any

from containers import vllm_api
from containers.request_record import current_request
from containers.vllm_api.counted import CountedGeneration, counted_encoding
from containers.vllm_api.remembered import remember


class EngineView:
    """An engine client whose renderer and configuration are the injected ones.

    vLLM's serving classes take renderer, input processor and configuration from the
    engine client, and only in their constructor. This view hands them ours and passes
    everything else on, so any client will do, a double without a renderer too.

    Args:
        engine: The client that generates: vLLM's ``AsyncLLM`` or a double.
        renderer: The injected renderer.
        vllm_config: The injected configuration.

    Source:
        vllm/entrypoints/generate/base/serving.py ``GenerateBaseServing.__init__``
        (0.32.0).
    """

    def __init__(self, engine: Any, *, renderer: Any, vllm_config: Any) -> None:
        remember(vllm_config)
        self._engine = engine
        self.renderer = renderer
        self.vllm_config = vllm_config
        self.model_config = vllm_config.model_config

    @cached_property
    def input_processor(self) -> Any:
        """The engine's own input processor, or one around the injected renderer."""
        own = getattr(self._engine, "input_processor", None)
        if own is not None and own.renderer is self.renderer:
            return own
        return vllm_api.InputProcessor(self.vllm_config, self.renderer)

    def generate(
        self, prompt: Any, sampling_params: Any, request_id: str, **kw: Any
    ) -> AsyncGenerator[Any, None]:
        """Generate, the tokens counted if an HTTP request is answered with them."""
        results: AsyncGenerator[Any, None] = self._engine.generate(
            prompt, sampling_params, request_id, **kw
        )
        record = current_request.get()
        if record is None:
            return results
        kinds = vllm_api.RequestOutputKind
        cumulative = sampling_params.output_kind == kinds.CUMULATIVE
        return CountedGeneration(results, record, cumulative=cumulative)

    def encode(self, *args: Any, **kw: Any) -> AsyncGenerator[Any, None]:
        """Encode, the tokens counted if an HTTP request is answered with them."""
        results: AsyncGenerator[Any, None] = self._engine.encode(*args, **kw)
        record = current_request.get()
        return results if record is None else counted_encoding(results, record)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)
