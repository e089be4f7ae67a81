"""Where a model comes from: a package's shipped files, a folder, or a hub id."""

from containers.source.adapter import check_adapter
from containers.source.find import model_folder
from containers.source.hub import cached_snapshot, is_offline
from containers.source.locate import Located, locate
from containers.source.weights import Weights, weights_in

__all__ = [
    "check_adapter",
    "Located",
    "Weights",
    "cached_snapshot",
    "is_offline",
    "locate",
    "model_folder",
    "weights_in",
]
