"""An app called in process, on an event loop of its own."""

from containers.testing.http.own_loop import OwnLoop
from containers.testing.http.transport import AppTransport

__all__ = ["AppTransport", "OwnLoop"]
