"""The testing page is a tutorial: its files are written, its commands are run.

Marked ``engine`` though no engine starts: two pytest runs that import vLLM are too slow
for the first tier.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

PAGE = ROOT / "docs" / "testing.md"
_BLOCK = re.compile(r"^```(\S*) ?(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Whoever follows the page records with a model of theirs; here a double says the same.
RECORDED_ENGINE = """
import pytest_vllm_di
from containers.testing import FakeEngine
from containers.testing.session import SharedSession

SharedSession.real_engine = lambda self, settings: FakeEngine("Paris.")
"""


def blocks(language: str) -> list[tuple[str, str]]:
    """File name and text of each block in a language."""
    found = _BLOCK.findall(PAGE.read_text())
    return [(name, text) for lang, name, text in found if lang == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    for name, text in blocks("python") + blocks("ini"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "real_engine.py").write_text(RECORDED_ENGINE)
    return folder


def run(command: str, folder: Path, *options: str) -> str:
    """What a command prints; pytest's settings are the page's, warnings are errors."""
    program, *arguments = command.split()
    assert program == "pytest"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *arguments, "-p", "pytest_vllm_di"),
            *("-p", "no:randomly", *options),
            *("-o", "asyncio_default_fixture_loop_scope=function"),
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_every_block_is_a_file_a_command_or_an_error() -> None:
    names = [name for name, _ in blocks("python")]
    assert len(names) == len(set(names)) >= 8
    assert all(name.endswith(".py") for name in names)
    assert [text.strip() for _, text in blocks("sh")] == [
        "pytest",
        "pytest --vllm-di-record",
    ]
    languages = {language for language, *_ in _BLOCK.findall(PAGE.read_text())}
    assert languages == {"python", "sh", "ini", ""}


@pytest.mark.engine
@pytest.mark.soak
@pytest.mark.timeout(240)
def test_the_tutorial_leads_to_green_tests(folder: Path) -> None:
    plain, record = (text.strip() for _, text in blocks("sh"))
    only = ("test_recorded.py", "-p", "real_engine")
    assert "1 passed" in run(record, folder, *only)
    assert len((folder / "capitals.jsonl").read_text().splitlines()) == 2
    n_tests = len(re.findall(r"^(async )?def test_", PAGE.read_text(), re.MULTILINE))
    assert f"{n_tests + 2} passed" in run(plain, folder)  # one of them is three


def test_the_error_shown_is_the_error_made(tmp_path: Path) -> None:
    from containers.testing.cassettes import tape
    from containers.testing.cassettes.near_miss import near_miss

    (shown,) = (text for _, text in blocks(""))
    prompt = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n" + "x" * 99
    request = {"call": "generate", "prompt": prompt, "params": {"temperature": 0.0}}
    tape.append(
        tmp_path / "c.jsonl", {"request": request, "end": "finished", "outputs": []}
    )
    asked = request | {"params": {"temperature": 0.5}}
    error = near_miss(Path("capitals.jsonl"), asked, tape.read(tmp_path / "c.jsonl"))
    made = str(error).replace(str(error.hint), "").strip()
    assert re.sub(r'"<.*?"\.\.\.', "PROMPT", made) == re.sub(
        r'"<.*"', "PROMPT", shown.strip()
    )
