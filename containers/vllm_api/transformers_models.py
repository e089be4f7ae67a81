"""transformers' table of its models, read from their files once instead of twice.

transformers reads the source of a thousand files to learn which names they export,
when it is imported and again when its ``models`` are: what it remembers of the first
time is too little to serve the second, a fourth of a second later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

MODELS = "transformers.models"
TABLES = "transformers.utils.import_utils"
READ = "create_import_structure_from_path"


def read_models_once() -> None:
    """Import vLLM and transformers, in vLLM's order, so that it happens once.

    A transformers that does otherwise is left as it is; what cannot be imported is for
    those to tell who need it.

    Source:
        transformers/utils/import_utils.py ``define_import_structure`` (5.x).
    """
    if MODELS in sys.modules:
        return
    with suppress(Exception):
        import_module("vllm")  # sets what torch shall find, which transformers imports
        package, tables = import_module("transformers"), import_module(TABLES)
        read = getattr(tables, READ)
        if package.__file__ is not None and hasattr(read, "cache_info"):
            folder = Path(package.__file__).parent / "models"
            setattr(tables, READ, _remembering(read, folder))


def _remembering(read: Any, folder: Path) -> Callable[..., Any]:
    """What reads a folder, and knows what is in one: the one that was read last."""
    table = read(folder)
    known = (folder, folder / "__init__.py")

    def remembering(*asked: Any, **options: Any) -> Any:
        if not options and len(asked) == 1 and Path(asked[0]) in known:
            return table
        return read(*asked, **options)

    return remembering
