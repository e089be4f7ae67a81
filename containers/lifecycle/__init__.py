"""The life of a container: an ordered, parallel start and an exact reverse stop.

dependency-injector declares the graph; this package loads and closes it.
"""

from containers.lifecycle.container import LoadedContainer, lifecycle_of
from containers.lifecycle.lifecycle import Lifecycle
from containers.lifecycle.record import Record, State
from containers.lifecycle.resource import Part, Resource
from containers.lifecycle.running import Running, running

__all__ = [
    "Lifecycle",
    "LoadedContainer",
    "Part",
    "Record",
    "Resource",
    "Running",
    "State",
    "lifecycle_of",
    "running",
]
