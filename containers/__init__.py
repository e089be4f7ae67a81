"""A dependency-injection service container for vLLM.

Importing it loads neither vLLM nor torch; builders import those when they run.
"""

from containers.application import ApplicationContainer
from containers.chat_template import ChatTemplate
from containers.errors import ServingError
from containers.lifecycle import Lifecycle, Running, running
from containers.model import ModelContainer
from containers.registry import ModelRegistry
from containers.settings import ChatSettings, ModelSettings, ServerSettings, Settings
from containers.version import __version__

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
