"""The models of an app: which one answers to which name, and how each stands."""

from containers.registry.registry import ModelRegistry
from containers.registry.served_model import ModelState, ServedModel

__all__ = ["ModelRegistry", "ModelState", "ServedModel"]
