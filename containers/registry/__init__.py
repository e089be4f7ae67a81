"""The models of an app: which one answers to which name, and how each stands."""

from containers.registry.change import Change
from containers.registry.plan import Plan
from containers.registry.registry import ModelRegistry
from containers.registry.served_model import ServedModel
from containers.registry.states import ModelState

__all__ = ["Change", "ModelRegistry", "ModelState", "Plan", "ServedModel"]
