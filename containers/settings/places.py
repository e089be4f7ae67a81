"""Paths in a config file are meant from that file's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from containers.settings.location import Location
from containers.settings.lora import LoraModule
from containers.settings.model import ModelSettings
from containers.settings.server import ApiKey, ServerSettings

FolderOf = Callable[[Location], Path]
"""Gives the folder that a relative path at a location is meant from."""

_JINJA = frozenset("{}\n")
_PATH_STARTS = ("/", "./", "../", "~/")
_TEMPLATE_SUFFIXES = (".jinja", ".jinja2", ".j2", ".txt")
SERVER_FILES = (
    *("uds", "ssl_keyfile", "ssl_certfile", "ssl_ca_certs"),
    *("api_keys_file", "admin_keys_file"),
)
"""Keys of ``server`` that take the path of a file."""
_KEYS = ("api_keys", "admin_keys")


def placed_model(model: ModelSettings, at: Location, folder_of: FolderOf) -> Any:
    """The model's settings with absolute paths.

    Args:
        model: The settings as they were written.
        at: Their location.
        folder_of: Gives the folder relative paths are meant from.
    """
    chat = model.chat.model_copy(
        update={
            "template": _template(
                model.chat.template, folder_of((*at, "chat", "template"))
            ),
            "tool_parser_plugin": _file(
                model.chat.tool_parser_plugin,
                folder_of((*at, "chat", "tool_parser_plugin")),
            ),
        }
    )
    modules = tuple(
        _module(module, folder_of((*at, "lora", "modules", index, "path")))
        for index, module in enumerate(model.lora.modules)
    )
    update = {
        "source": _source(model.source, folder_of((*at, "source"))),
        "chat": chat,
        "lora": model.lora.model_copy(update={"modules": modules}),
    }
    return model.model_copy(update=update)


def placed_server(server: ServerSettings, folder_of: FolderOf) -> ServerSettings:
    """The server's settings with absolute paths."""
    update: dict[str, Any] = {
        key: _file(getattr(server, key), folder_of(("server", key)))
        for key in SERVER_FILES
        if getattr(server, key) is not None
    }
    for key in _KEYS:
        entries = getattr(server, key)
        if entries is not None:
            update[key] = tuple(
                _entry(each, folder_of(("server", key, index, "key_file")))
                for index, each in enumerate(entries)
            )
    return server.model_copy(update=update)


def is_path(source: str) -> bool:
    """Whether a model's or adapter's source can only be meant as a path."""
    return source in {".", ".."} or source.startswith(_PATH_STARTS)


def names_folder(source: str, folder: Path) -> bool:
    """Whether a model's or adapter's source is a folder, seen from another."""
    if source.startswith("package:"):
        return False
    return is_path(source) or is_it(folder / expanded(source), Path.is_dir)


def names_text_file(template: str, folder: Path | None) -> bool:
    """Whether a chat template is the path of a file, not Jinja text or a name.

    Args:
        template: The template as it was written.
        folder: Where a file may be looked for; ``None`` to go by the looks alone.
    """
    if _JINJA & set(template):
        return False
    path = expanded(template)
    is_file_name = (
        template.startswith(_PATH_STARTS) or path.suffix in _TEMPLATE_SUFFIXES
    )
    return is_file_name or (folder is not None and is_it(folder / path, Path.is_file))


def _module(module: LoraModule, folder: Path) -> LoraModule:
    return module.model_copy(update={"path": _source(module.path, folder)})


def _entry(entry: SecretStr | ApiKey, folder: Path) -> SecretStr | ApiKey:
    if isinstance(entry, SecretStr) or entry.key_file is None:
        return entry
    return entry.model_copy(update={"key_file": _file(entry.key_file, folder)})


def _file(path: str | None, folder: Path) -> str | None:
    return None if path is None else str(folder / expanded(path))


def _source(source: str, folder: Path) -> str:
    """A folder's name looks like a Hugging Face id: the folder wins if it exists."""
    path = folder / expanded(source)
    return str(path) if names_folder(source, folder) else source


def _template(template: str | None, folder: Path) -> str | None:
    if template is None or not names_text_file(template, folder):
        return template
    return str(folder / expanded(template))


def expanded(path: str) -> Path:
    """The path with ``~`` filled in; as it is where nobody has that home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def is_it(path: Path, test: Callable[[Path], bool]) -> bool:
    """Whether a path, which may be none at all, is a folder or a file."""
    try:
        return test(path)
    except (OSError, ValueError):
        return False  # too long, or with a null character: no path at all
