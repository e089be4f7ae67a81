"""An environment in which vLLM, torch and transformers are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
ABSENT = ("vllm", "torch", "transformers", "tokenizers", "triton")


def environment(folder: Path) -> dict[str, str]:
    """Variables of a Python that finds all that is installed but the absent ones.

    Args:
        folder: Where links to what is installed go.
    """
    installed = Path(sysconfig.get_paths()["purelib"])
    for each in installed.iterdir():
        if not each.name.startswith(ABSENT) and each.suffix != ".pth":
            (folder / each.name).symlink_to(each)
    paths = os.pathsep.join([str(folder), str(ROOT)])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "VLLM"))}
    return kept | {"PYTHONPATH": paths}


def run(*arguments: str, folder: Path, env: dict[str, str]) -> str:
    """What a Python without its site packages prints; it must end well."""
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
