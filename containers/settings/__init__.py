"""``config.yaml`` as frozen, validated objects."""

from containers.settings.canary import CanarySettings
from containers.settings.chat import ChatSettings
from containers.settings.lora import LoraModule, LoraSettings
from containers.settings.model import ModelSettings
from containers.settings.root import Settings
from containers.settings.server import ServerSettings

__all__ = [
    "CanarySettings",
    "ChatSettings",
    "LoraModule",
    "LoraSettings",
    "ModelSettings",
    "ServerSettings",
    "Settings",
]
