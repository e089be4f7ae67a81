"""The serving objects of models that hear.

Source:
    vllm/entrypoints/speech_to_text/factories.py (0.32.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.realtime import ServingRealtime
    from containers.serving.transcription import ServingTranscription
    from containers.serving.translation import ServingTranslation
else:
    # Their classes import vLLM; a double is known by what it can do.
    ServingTranscription = ServingTranslation = ServingRealtime = Any

LoadedServingTranscription = Annotated[
    ServingTranscription | None,
    Expected("a ServingTranscription", has=("create_transcription",)),
]
LoadedServingTranslation = Annotated[
    ServingTranslation | None,
    Expected("a ServingTranslation", has=("create_translation",)),
]
LoadedServingRealtime = Annotated[
    ServingRealtime | None, Expected("a ServingRealtime", has=("connect",))
]

Tasks = Sequence[str]


def serving_transcription(
    *, supported_tasks: Tasks, **injected: Any
) -> Iterator[LoadedServingTranscription]:
    """Build the serving object that writes down what is said; end its threads."""
    if "transcription" not in supported_tasks:
        yield None
        return
    from containers.serving.transcription import ServingTranscription

    serving = ServingTranscription(**injected)
    yield serving
    serving.shutdown()


def serving_translation(
    *, supported_tasks: Tasks, **injected: Any
) -> Iterator[LoadedServingTranslation]:
    """Build the serving object that translates what is said; end its threads."""
    if "transcription" not in supported_tasks:
        yield None
        return
    from containers.serving.translation import ServingTranslation

    serving = ServingTranslation(**injected)
    yield serving
    serving.shutdown()


def serving_realtime(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingRealtime:
    """Build the serving object that writes down what is being said."""
    if "realtime" not in supported_tasks:
        return None
    from containers.serving.realtime import ServingRealtime

    return ServingRealtime(**injected)
