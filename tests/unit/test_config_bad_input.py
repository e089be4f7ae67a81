"""What is no config file: one clear error, exit status 2, and nothing is started."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import main

pytestmark = pytest.mark.usefixtures("logging_put_back")

MODELS = "models:\n- name: m\n  source: org/model\n"
ROOT = Path(__file__).parents[2]

BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "comment": ("# nothing\n", "is empty"),
    "null": ("null\n", "is not a mapping"),
    "list": ("- a\n", "is not a mapping"),
    "text": ("hello\n", "is not a mapping"),
    "not UTF-8": (b"server: {host: \xff}\n", "is not UTF-8"),
    "UTF-16": ("server: {}".encode("utf-16"), "is not UTF-8"),
    "tab": ("server:\n\tport: 1\n", "Indent with blanks, not tabs"),
    "open bracket": ("server: [\n", "not valid YAML"),
    "two documents": (f"{MODELS}---\n{MODELS}", "expected a single document"),
    "key twice": (f"{MODELS}{MODELS}", "the key models is given twice"),
    "alias to nothing": ("a: *b\n", "undefined alias"),
    "alias in itself": ("a: &a [*a]\n", "an alias may not stand inside its own anchor"),
    "bomb": (
        "a0: &a0 [x, x]\n"
        + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
        "more than 100000 values",
    ),
    "merge bomb": (
        "a: &a {k: v}\nb: &b {<<: [*a, *a, *a]}\nserver: {<<: [*b, *b], port: x}\n",
        "unknown key",
    ),
    "10 MB": ("# " + "x" * 10_000_000, "is larger than 1 MiB"),
    "deep": ("a: " + "[" * 90 + "]" * 90, "unknown key"),
    "deeper": ("a: " + "[" * 150 + "]" * 150, "more than 100 sections"),
    "octal": (f"server: {{port: 0777}}\n{MODELS}", "0777 is the number 511 to YAML"),
    "base 60": (f"server: {{port: 1:30}}\n{MODELS}", "1:30 is the number 90 to YAML"),
    "float of base 60": ("a: 1:30.5\n", "1:30.5 is the number 90.5 to YAML"),
    "tag": ("a: !!python/name:os.system\n", "could not determine a constructor"),
    "control character": ("a: \x07\n", "a character that YAML does not allow"),
    "wrong type": (f"server: {{port: eighty}}\n{MODELS}", "takes a whole number"),
    "negative": (f"server: {{port: -1}}\n{MODELS}", "must be 0 or more"),
    "workers": (f"server: {{workers: 2}}\n{MODELS}", "each worker would load"),
    "no models": ("server: {}\n", "models: is missing"),
    "misspelt": (f"{MODELS}  engine: {{modle: x}}\n", "unknown key"),
    "engine type": (
        f"{MODELS}  engine: {{max_model_len: 4k}}\n",
        "takes a whole number of at least -1 or nothing (null), got text",
    ),
    "engine number out of range": (
        f"{MODELS}  engine: {{tensor_parallel_size: -1}}\n",
        "takes a whole number of at least 1, got the number -1",
    ),
    "engine number over its range": (
        f"{MODELS}  engine: {{gpu_memory_utilization: 1.5}}\n",
        "takes a number over 0 and at most 1, got the number 1.5",
    ),
    "nested engine number out of range": (
        f"{MODELS}  engine: {{speculative_config: {{num_speculative_tokens: 0}}}}\n",
        "takes a whole number over 0, got the number 0",
    ),
    "pooling with chat": (
        (
            f"{MODELS}  engine: {{runner: pooling}}\n"
            "  chat: {enable_auto_tool_choice: true, tool_call_parser: hermes}\n"
        ),
        "has no meaning with engine.runner: pooling",
    ),
    "metrics without stats": (
        (
            f"{MODELS}  engine: {{disable_log_stats: true}}\n"
            "  chat: {enable_per_request_metrics: true}\n"
        ),
        "needs the statistics that engine.disable_log_stats turns off",
    ),
    "credentials of nobody": (
        f"server: {{allow_credentials: true}}\n{MODELS}",
        "has no meaning without allowed_origins",
    ),
    "key without certificate": (
        f"server: {{ssl_keyfile: k}}\n{MODELS}",
        "has no meaning without ssl_certfile",
    ),
    "no certificate there": (
        f"server: {{ssl_certfile: absent.pem, port: 0}}\n{MODELS}",
        "ssl_certfile: cannot be read: No such file",
    ),
    "no socket folder": (
        f"server: {{uds: absent/socket}}\n{MODELS}",
        "server.uds: cannot listen on",
    ),
    "no middleware": (
        f"server: {{middleware: [no.such.Thing], port: 0}}\n{MODELS}",
        "server.middleware.0: no.such.Thing cannot be imported",
    ),
    "docs twice": (
        f"server: {{disable_fastapi_docs: true, enable_offline_docs: true}}\n{MODELS}",
        "contradicts disable_fastapi_docs",
    ),
    "adapters without LoRA": (
        f"{MODELS}  lora: {{modules: [{{name: x, path: y}}]}}\n",
        "engine.enable_lora is not true",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content, words = BAD[name]
    file = tmp_path / "config.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    threads = threading.active_count()
    assert main(["serve", "--config", str(file)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("vllm-di: ")
    assert words in told.err
    assert "Traceback" not in told.err
    assert len(told.err) < 2000
    assert not told.out
    assert threading.active_count() == threads
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("path_of", "words"),
    [
        (lambda folder: folder / "absent.yaml", "no such file"),
        (lambda folder: folder, "is a folder"),
        (lambda folder: folder / "config.yaml" / "x", "cannot be read"),
        (lambda folder: folder / ("x" * 300), "cannot be read"),
    ],
)
def test_a_file_that_is_not_there_is_one_too(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    path_of: Callable[[Path], Path],
    words: str,
) -> None:
    (tmp_path / "config.yaml").write_text(MODELS)
    assert main(["serve", "--config", str(path_of(tmp_path))]) == 2
    assert words in capsys.readouterr().err


def test_a_bad_variable_or_override_is_one_too(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(MODELS)
    command = ["serve", "--config", str(file)]
    assert main([*command, "--set", "server.port=x"]) == 2
    assert main([*command, "--env-file", str(tmp_path / "absent")]) == 2
    monkeypatch.setenv("VLLM_DI__SERVER__PORT", "hunter2")
    assert main(command) == 2
    told = capsys.readouterr().err
    assert "--set: server.port: takes a whole number" in told
    assert "absent: no such file" in told
    assert "VLLM_DI__SERVER__PORT: server.port: takes a whole number" in told
    assert "hunter2" not in told


@pytest.mark.heavy
def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m app config schema | head -c 1"
    done = subprocess.run(
        ["bash", "-c", command], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("{", "")


@pytest.mark.heavy
def test_it_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from app.cli import main\n"
        "assert main(['serve', '--config', sys.argv[1]]) == 2\n"
        "assert not {'vllm', 'torch', 'transformers'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
