"""Where a model comes from: a package's shipped files, a folder, or a hub id."""

from containers.source.find import model_folder

__all__ = ["model_folder"]
