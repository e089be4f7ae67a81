"""Links and file names in the documents lead somewhere."""

from __future__ import annotations

import re

import pytest

from tests.docs.documents import FILES, ROOT

LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
FOLDERS = "app|containers|deploy|docs|examples|tests|tools|requirements"
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
DOCUMENTS = (*FILES, "CONTRIBUTING.md", "CHANGELOG.md")


@pytest.mark.parametrize("file", DOCUMENTS)
def test_every_relative_link_leads_to_a_file(file: str) -> None:
    text = (ROOT / file).read_text()
    targets = [link for link in LINK.findall(text) if "://" not in link]
    folder = (ROOT / file).parent
    assert [each for each in targets if not (folder / each).exists()] == []


@pytest.mark.parametrize("file", DOCUMENTS)
def test_every_file_that_is_named_exists(file: str) -> None:
    names = [each.rstrip(".") for each in NAMED.findall((ROOT / file).read_text())]
    assert [each for each in names if not (ROOT / each).exists()] == []
