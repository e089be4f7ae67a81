"""A folder is looked at before an engine is asked to load an adapter from it."""

from __future__ import annotations

import pytest

from containers.errors import AdapterError
from containers.source import check_adapter


@pytest.mark.parametrize("path", ["./absent", "~nobody-of-that-name/adapter"])
def test_a_path_that_leads_nowhere_is_absent(path: str) -> None:
    with pytest.raises(AdapterError, match="is no folder") as caught:
        check_adapter(path, name="sql", max_rank=8)
    assert caught.value.is_absent
