"""vLLM's engine arguments and what each takes, read from its source text."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import cast

from containers.vllm_api.declarations import declared_fields
from containers.vllm_api.kinds import NULL, Kind, Record, Scalar, one_of
from containers.vllm_api.names import place_of
from containers.vllm_api.release import nearest_line

_CLASSES = ("EngineArgs", "AsyncEngineArgs")

_MADE_LATER = {
    "speculative_config": ("vllm.config.speculative", "SpeculativeConfig"),
    "diffusion_config": ("vllm.config.diffusion", "DiffusionConfig"),
    "watermark_config": ("vllm.config.watermarking", "WatermarkConfig"),
}
"""Arguments declared as any mapping, of which vLLM makes an object of this class."""

_SECRET: dict[str, Kind] = {
    "hf_token": one_of(Scalar(bool), Scalar(str, is_secret=True), NULL),
}


@cache
def engine_arguments() -> Mapping[str, Kind] | None:
    """What the installed vLLM takes as engine arguments.

    Takes about 0.1 s once, then nothing: settings can be checked without the seconds
    that importing vLLM costs. Nested configurations are read when one is asked for.

    Returns:
        The kind of each argument by its name, such as ``max_model_len``; ``None`` when
        vLLM is not installed.

    Source:
        the public fields of ``vllm.engine.arg_utils.AsyncEngineArgs`` (0.32.0).
    """
    module, _ = place_of("AsyncEngineArgs", nearest_line())
    declared = declared_fields(module, *_CLASSES)
    if not declared:
        return None
    made_later: dict[str, Kind] = {
        name: one_of(NULL, _record(*place))
        for name, place in _MADE_LATER.items()
        if name in declared
    }
    secret = {name: kind for name, kind in _SECRET.items() if name in declared}
    return ChainMap(secret, made_later, cast("MutableMapping[str, Kind]", declared))


def engine_argument_names() -> frozenset[str] | None:
    """Names of the engine arguments; ``None`` when vLLM is not installed."""
    known = engine_arguments()
    return None if known is None else frozenset(known)


def _record(module: str, name: str) -> Kind:
    return Record(name, lambda: declared_fields(module, name))
