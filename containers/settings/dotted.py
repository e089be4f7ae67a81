"""Places of Python objects, as settings name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator

from containers.settings.problems import refuse
from containers.settings.section import NonEmpty

_NAME = r"[A-Za-z_]\w*"
_MODULE = rf"{_NAME}(?:\.{_NAME})*"


def _written(separator: str, what: str, example: str) -> Callable[[str], str]:
    pattern = re.compile(rf"{_MODULE}{re.escape(separator)}{_NAME}")

    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise refuse(
                f"is {{value}}, which is no {what}", f"Write {example}.", value=value
            )
        return value

    return check


ImportPath = Annotated[
    NonEmpty, AfterValidator(_written(".", "import path", "package.module.Class"))
]
"""A class by its import path."""

FunctionPath = Annotated[
    str, AfterValidator(_written(":", "function", "package.module:function"))
]
"""A function by its module and name."""
