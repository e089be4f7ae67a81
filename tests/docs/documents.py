"""The documents, cut into the blocks of code that their readers will copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sybil import Document, Example, Region
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

ROOT = Path(__file__).parents[2]
README = "README.md"
FILES = (README, *sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")))

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FENCE = FencedCodeBlockLexer(".*", mapping={"language": "language", "source": "text"})


@dataclass(frozen=True)
class Block:
    """A fenced block of code.

    Attributes:
        file: Document it stands in, from the root.
        heading: Nearest heading above it.
        language: What its fence says it is.
        line: Line of its fence, from 1.
        text: What is in it.
    """

    file: str
    heading: str
    language: str
    line: int
    text: str
    _example: Example

    @property
    def place(self) -> str:
        """Document and heading."""
        return f"{self.file}#{self.heading}"

    def run(self) -> dict[str, Any]:
        """Run a Python block as a program of its own and return its names."""
        self._example.namespace = {"__name__": "__main__"}
        PythonEvaluator()(self._example)
        names: dict[str, Any] = self._example.namespace
        return names


@cache
def blocks(language: str, *, file: str | None = None) -> tuple[Block, ...]:
    """Every block in a language, of one document or of all of them."""
    files = FILES if file is None else (file,)
    return tuple(block for each in files for block in _read(each, language))


def block(language: str, place: str) -> Block:
    """The one block in a language at a place such as ``README.md#Without HTTP``."""
    found = [each for each in blocks(language) if each.place == place]
    assert len(found) == 1, f"{len(found)} {language} blocks at {place}"
    return found[0]


def commands(file: str | None = None) -> list[str]:
    """Every command of the documents; one continued over lines is one."""
    text = "".join(each.text for each in blocks("console", file=file))
    return text.replace("\\\n ", "").splitlines()


def _read(file: str, language: str) -> Iterator[Block]:
    document = Document.parse(str(ROOT / file), _regions)
    for example in document.examples():
        lexemes = example.region.lexemes
        if lexemes["language"] == language:
            prose = _FENCED.sub("", document.text[: example.start])
            yield Block(
                file=file,
                heading=_HEADING.findall(prose)[-1],
                language=language,
                line=example.line,
                text=str(lexemes["text"]),
                _example=example,
            )


def _regions(document: Document) -> Iterator[Region]:
    for region in _FENCE(document):
        region.parsed = region.lexemes["text"]
        yield region
