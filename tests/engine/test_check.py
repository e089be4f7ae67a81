"""``vllm-di check`` on the configuration this repository ships."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.engine.servers import CONFIG

pytestmark = [pytest.mark.engine, pytest.mark.timeout(240)]

CHECK = (sys.executable, "-m", "app", "check")


def test_the_shipped_config_passes_in_seconds(model_folder: str) -> None:
    done = subprocess.run(
        [*CHECK, "--config", str(CONFIG), "--set", "server.port=0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,  # beside engines that start
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"unpacked in {model_folder}" in done.stdout
    assert "49152 tokens" in done.stdout
    assert "from tokenizer, renders a user's turn" in done.stdout
    assert re.search(
        r"\nok +smollm2\.memory +weights \d+\.\d MiB and KV cache", done.stdout
    )
    assert done.stdout.endswith("All is well.\n")
    assert done.stderr == ""
