"""Paths in a config file are meant from that file's folder."""

from __future__ import annotations

from pathlib import Path

from containers.settings.model import ModelSettings

_JINJA = frozenset("{}\n")
_PATH_STARTS = ("/", "./", "../", "~/")
_TEMPLATE_SUFFIXES = (".jinja", ".jinja2", ".j2", ".txt")


def placed(model: ModelSettings, folder: Path) -> ModelSettings:
    """The model's settings with absolute paths for files relative to ``folder``."""
    template = _template(model.chat.template, folder)
    chat = model.chat.model_copy(update={"template": template})
    source = _source(model.source, folder)
    return model.model_copy(update={"source": source, "chat": chat})


def _source(source: str, folder: Path) -> str:
    """A folder's name looks like a Hugging Face id: the folder wins if it exists."""
    if source.startswith("package:"):
        return source
    path = folder / Path(source).expanduser()
    is_path = source in {".", ".."} or source.startswith(_PATH_STARTS)
    return str(path) if is_path or path.is_dir() else source


def _template(template: str | None, folder: Path) -> str | None:
    if template is None or _JINJA & set(template):
        return template
    path = folder / Path(template).expanduser()
    is_path = template.startswith(_PATH_STARTS) or path.suffix in _TEMPLATE_SUFFIXES
    return str(path) if is_path or path.is_file() else template
