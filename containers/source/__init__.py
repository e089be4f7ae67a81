"""Where a model comes from: a package's shipped files, a folder, or a hub id."""

from containers.source.find import model_folder
from containers.source.locate import Located, locate

__all__ = ["Located", "locate", "model_folder"]
