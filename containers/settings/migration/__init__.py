"""From ``vllm serve`` to ``config.yaml``, and back."""

from containers.settings.migration.exporting import Exported, exported
from containers.settings.migration.importing import Imported, imported
from containers.settings.migration.sources import line_of_file
from containers.settings.migration.words import Line, line_of_text, line_of_words

__all__ = [
    "Exported",
    "Imported",
    "Line",
    "exported",
    "imported",
    "line_of_file",
    "line_of_text",
    "line_of_words",
]
