"""The graph a container declares, read without calling any of its providers."""

from containers.graph.graph import Graph
from containers.graph.node import Edge, Node

__all__ = ["Edge", "Graph", "Node"]
