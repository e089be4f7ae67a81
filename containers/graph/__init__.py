"""The graph a container declares, read without calling any of its providers."""

from containers.graph.expected import Expected
from containers.graph.graph import Graph
from containers.graph.node import Edge, Node
from containers.graph.pictures import Span, Spans

__all__ = ["Edge", "Expected", "Graph", "Node", "Span", "Spans"]
