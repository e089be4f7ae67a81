"""vLLM's speech objects, without the tokenizer each of them would load for itself."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from containers.vllm_api import SpeechToTextBaseServing


class SpeechServing(SpeechToTextBaseServing):
    """vLLM's ``SpeechToTextBaseServing`` whose tokenizer is the renderer's.

    Named as the second base of a class, after vLLM's, it stands between that one and
    vLLM's base class. The constructor's code is vLLM's own; only ``get_tokenizer``
    means something else to it, and nothing global changes.

    Source:
        vllm/entrypoints/speech_to_text/base/serving.py (0.32.0).
    """

    def __init__(self, engine_client: Any, models: Any, **options: Any) -> None:
        def get_tokenizer(**_: Any) -> Any:
            return engine_client.renderer.tokenizer

        own = SpeechToTextBaseServing.__init__
        names = {**own.__globals__, get_tokenizer.__name__: get_tokenizer}
        init = FunctionType(
            own.__code__, names, own.__name__, own.__defaults__, own.__closure__
        )
        init.__kwdefaults__ = own.__kwdefaults__
        init(self, engine_client=engine_client, models=models, **options)
