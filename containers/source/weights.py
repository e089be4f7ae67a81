"""Which weights a model folder holds, without reading them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_PATTERNS = ("*.safetensors", "*.bin", "*.pt")
_MISTRALS_OWN = "consolidated"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a model folder.

    Attributes:
        n_files: Files that would be loaded.
        n_bytes: Their size together.
        missing: Names of files that the folder's index lists and that are not there.
    """

    n_files: int
    n_bytes: int
    missing: tuple[str, ...] = ()

    @property
    def are_whole(self) -> bool:
        """Whether there are weights and no file of them is missing."""
        return self.n_files > 0 and not self.missing


def weights_in(folder: Path) -> Weights:
    """Finds the files a start would load from a model folder.

    Those an index lists, else every safetensors file, else every PyTorch file. A link
    of a cache to a file that is not there counts as missing.

    Source:
        vllm/model_executor/model_loader/default_loader.py ``_prepare_weights``
        (0.32.0).
    """
    for name in _INDEXES:
        listed = _listed(folder / name)
        if listed:
            return _weighed([folder / each for each in listed])
    for pattern in _PATTERNS:
        found = sorted(folder.glob(pattern))
        own = [path for path in found if path.name.startswith(_MISTRALS_OWN)]
        if found:
            return _weighed([path for path in found if path not in own] or own)
    return Weights(0, 0)


def _listed(index: Path) -> list[str]:
    try:
        shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return sorted({str(shard) for shard in shards})


def _weighed(files: list[Path]) -> Weights:
    sizes = {path.name: path.stat().st_size for path in files if path.is_file()}
    missing = tuple(path.name for path in files if path.name not in sizes)
    return Weights(len(sizes), sum(sizes.values()), missing)
