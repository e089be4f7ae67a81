"""Where a model comes from: a package's shipped files, a folder, or a hub id."""

from containers.source.adapter import check_adapter
from containers.source.find import model_folder
from containers.source.hub import cached_snapshot, is_offline
from containers.source.locate import Located, locate
from containers.source.weights import Weights, weights_in

__all__ = [
    "Located",
    "Weights",
    "cached_snapshot",
    "check_adapter",
    "is_offline",
    "locate",
    "model_folder",
    "weights_in",
]
