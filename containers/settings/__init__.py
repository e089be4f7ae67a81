"""``config.yaml`` as frozen, validated objects."""

from containers.settings.canary import CanarySettings
from containers.settings.chat import ChatSettings
from containers.settings.lora import LoraModule, LoraSettings
from containers.settings.model import ModelSettings
from containers.settings.performance import PerformanceSettings
from containers.settings.ray import RayModelSettings, RaySettings
from containers.settings.root import Settings
from containers.settings.server import ApiKey, ServerSettings

__all__ = [
    "ApiKey",
    "CanarySettings",
    "ChatSettings",
    "LoraModule",
    "LoraSettings",
    "ModelSettings",
    "PerformanceSettings",
    "RayModelSettings",
    "RaySettings",
    "ServerSettings",
    "Settings",
]
