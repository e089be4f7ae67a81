"""Pictures of a graph; the same graph always gives the same text.

All but the text show only the edges that no longer way implies: with ``a`` used by
``b`` and both used by ``c``, the edge from ``a`` to ``c`` adds nothing to the order.
"""

from containers.graph.pictures.dot import dot
from containers.graph.pictures.mermaid import mermaid
from containers.graph.pictures.span import Span, Spans
from containers.graph.pictures.svg import svg
from containers.graph.pictures.text import text

__all__ = ["Span", "Spans", "dot", "mermaid", "svg", "text"]
