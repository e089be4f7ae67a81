"""The ``server`` section: where and how HTTP is served, by noun."""

from containers.settings.server.authentication import ApiKey
from containers.settings.server.settings import ServerSettings

__all__ = ["ApiKey", "ServerSettings"]
