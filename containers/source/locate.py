"""Where a model is, found out without unpacking or fetching anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from containers.errors import SourceError
from containers.source.find import folder_or_hub_id
from containers.source.hub import cached_snapshot, is_offline
from containers.source.package import shipped_model
from containers.source.unpack import unpacked_before
from containers.source.weights import weights_in


@dataclass(frozen=True, slots=True)
class Located:
    """What is known of a model before its start.

    Attributes:
        path: Model folder, for a Hugging Face id its snapshot in the cache; ``None``
            for one that the first start unpacks or fetches.
        description: Where it is, in words.
    """

    path: str | None
    description: str


def locate(source: str, *, revision: str | None = None) -> Located:
    """Find what :func:`containers.source.model_folder` would give, or what is missing.

    Args:
        source: ``package:NAME``, a folder, or a Hugging Face id.
        revision: Branch, tag or commit of a Hugging Face id.

    Raises:
        SourceError: There is no such model, or it would have to be fetched although
            ``HF_HUB_OFFLINE`` is set.
    """
    if source.startswith("package:"):
        return _packaged(source)
    found = folder_or_hub_id(source)
    if Path(found).is_dir():
        return Located(found, f"folder {found}")
    return _on_the_hub(found, revision)


def _packaged(source: str) -> Located:
    shipped = shipped_model(source)
    package = f"package {shipped.package} {shipped.version}"
    if shipped.path.is_dir():
        return Located(str(shipped.path), f"{package}, folder {shipped.path}")
    folder = unpacked_before(shipped, source)
    if folder is None:
        later = "not unpacked yet: the first start does that, once, in about 20 s"
        return Located(None, f"{package}, {shipped.path.name}, {later}")
    return Located(str(folder), f"{package}, unpacked in {folder}")


def _on_the_hub(name: str, revision: str | None) -> Located:
    snapshot = cached_snapshot(name, revision=revision)
    if snapshot is not None and weights_in(snapshot).are_whole:
        return Located(str(snapshot), f"Hugging Face id, in the cache {snapshot}")
    found = "not in the cache" if snapshot is None else "not whole in the cache"
    if is_offline():
        raise SourceError(
            source=name,
            reason=f"it is {found}, and HF_HUB_OFFLINE is set",
            hint="Unset it, or name a folder.",
        )
    return Located(None, f"Hugging Face id, {found}: the first start fetches it")
