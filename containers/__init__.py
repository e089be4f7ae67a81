"""A dependency-injection service container for vLLM.

Importing it loads neither vLLM nor torch; builders import those when they run. What is
taken from it is imported then, so settings alone need no dependency-injector.
"""

from typing import TYPE_CHECKING, Any

from containers.exports import exported
from containers.version import __version__

if TYPE_CHECKING:
    from containers.application import ApplicationContainer
    from containers.chat_template import ChatTemplate
    from containers.errors import ServingError
    from containers.lifecycle import Lifecycle, Running, running
    from containers.model import ModelContainer
    from containers.registry import ModelRegistry
    from containers.settings import (
        ChatSettings,
        ModelSettings,
        ServerSettings,
        Settings,
    )

__all__ = [
    "ApplicationContainer",
    "ChatSettings",
    "ChatTemplate",
    "Lifecycle",
    "ModelContainer",
    "ModelRegistry",
    "ModelSettings",
    "Running",
    "ServerSettings",
    "ServingError",
    "Settings",
    "__version__",
    "running",
]

_MODULES = {
    "ApplicationContainer": "application",
    "ChatSettings": "settings",
    "ChatTemplate": "chat_template",
    "Lifecycle": "lifecycle",
    "ModelContainer": "model",
    "ModelRegistry": "registry",
    "ModelSettings": "settings",
    "Running": "lifecycle",
    "ServerSettings": "settings",
    "ServingError": "errors",
    "Settings": "settings",
    "running": "lifecycle",
}


def __getattr__(name: str) -> Any:
    """Import a name's module when the name is asked for the first time."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = exported(name, f"{__name__}.{module}")
    return value


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
