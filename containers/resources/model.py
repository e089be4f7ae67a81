"""The model: a Hugging Face id, or a folder that is there."""

from __future__ import annotations

import asyncio
import logging
import threading

logger = logging.getLogger(__name__)


async def model(*, source: str) -> str:
    """Find, or make, what vLLM loads the model from.

    A source ``package:NAME`` whose package ships a GGUF file is unpacked once into the
    user's cache folder, which takes about 20 s; later starts find it there. Cancelled,
    it ends the unpacking.

    Args:
        source: ``models[].source`` of the settings.

    Returns:
        Path of a model folder, or the Hugging Face id as given.

    Raises:
        SourceError: The folder or package is not there, or cannot be unpacked.
    """
    from containers.source import model_folder

    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(
            model_folder, source, on_progress=logger.info, cancelled=cancelled
        )
    finally:
        cancelled.set()
