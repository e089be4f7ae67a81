"""The error tree is documented whole."""

from __future__ import annotations

import re

from containers import errors
from containers.errors import ServingError


def test_the_picture_in_the_docstring_shows_every_class() -> None:
    drawn = set(re.findall(r"─ ([A-Z]\w+Error)", errors.__doc__ or ""))
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, ServingError)
    }
    assert drawn | {"ServingError"} == defined
