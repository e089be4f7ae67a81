"""What cannot be imported: one clear error, exit status 2, no file, no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import main

FILES: dict[str, tuple[str | bytes, str]] = {
    "empty.sh": ("", "no commands that start vLLM"),
    "none.sh": ("apt update\nls\n", "no commands that start vLLM"),
    "two.sh": ("vllm serve a\nvllm serve b\n", "there are 2 commands that start vLLM"),
    "quote.sh": ("vllm serve 'a", "a ' is missing. Close the quote"),
    "substitution.sh": ("vllm serve m --seed $(date +%s)", "after --seed that a shell"),
    "array.sh": ('vllm serve m "${ARGS[@]}"', "something that a shell fills in"),
    "arguments.sh": ('vllm serve m "$@"', "something that a shell fills in"),
    "bench.sh": ("vllm bench serve --model m", "the command is not vllm serve"),
    "unset.sh": ("vllm serve m --seed $SEED", "write the value of a variable"),
    "binary.sh": (b"vllm \xff", "it is not UTF-8"),
    "empty.yaml": ("", "holds no commands"),
    "scalar.yaml": ("5", "holds no commands"),
    "broken.yaml": ("a: [", "is not YAML"),
    "date.yaml": ("a: 2024-99-99", "is not YAML"),
    "deep.yaml": ("[" * 5000, "is not YAML"),
    "other.yaml": ("no-such-option: 5\nmodel: m\nport: x\n", "invalid int value"),
    "keys.yaml": ("1: 2\n", "holds no commands"),
    "two.yaml": (
        "services: {a: {image: vllm, args: [m]}, b: {image: vllm, args: [n]}}",
        "holds 2 commands",
    ),
    "quote.yaml": (
        'services: {a: {image: vllm, command: "--model \'a"}}',
        "a quote is",
    ),
    "grpc.json": ('{"model": "m"}', "yaml/yml type"),
    "secret.sh": (
        'vllm serve m --kv-transfer-config \'{"password": "hunter2"}\'',
        "vLLM refuses the command",
    ),
    "json.sh": (
        'vllm serve m --kv-transfer-config \'{"password": "hunter2"\'',
        "vLLM refuses the command",
    ),
    "dotted.sh": (
        "vllm serve m --kv-transfer-config.password=hunter2",
        "vLLM refuses the command",
    ),
}


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["config", "import", *arguments]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert "Traceback" not in told.err
    assert "hunter2" not in told.err
    return told.err


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, words = FILES[name]
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    output = tmp_path / "config.yaml"
    told = refused(["--from", str(file), "--output", str(output)], capsys)
    assert words in told
    assert not output.exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "there is no one command to import"),
        (["vllm"], "the command is not vllm serve"),
        (["vllm", "chat"], "the command is not vllm serve"),
        (["vllm", "serve", "m", "n"], "unrecognized arguments"),
        (["vllm", "serve", "m", "--port"], "expected one argument"),
        (["vllm", "serve", "m", "--port", "x"], "invalid int value"),
        (["vllm", "serve", "m", "--dtype", "x"], "invalid choice"),
        (["vllm", "serve", "--config", "absent.yaml"], "No such file"),
        (["vllm", "serve", "m", "--max-model-len", "4x"], "vLLM refuses the command"),
        (["docker", "run"], "there is no command"),
        (["docker", "run", "image"], "there is no command"),
        (["bash", "-c", "vllm serve 'a"], "a ' is missing"),
    ],
)
def test_a_command(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in refused(["--", *words], capsys)


def test_a_file_that_is_not_there_and_one_that_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent, there = tmp_path / "absent.sh", tmp_path / "there.sh"
    there.write_text("vllm serve m")
    assert "cannot be read: No such file" in refused(["--from", str(absent)], capsys)
    assert "cannot be read: Is a directory" in refused(
        ["--from", str(tmp_path)], capsys
    )
    both = ["--from", str(there), "--", "vllm", "serve", "m"]
    assert "not both" in refused(both, capsys)
    output = ["--from", str(there), "--output", str(there)]
    assert "exists. Name a new file" in refused(output, capsys)
    assert there.read_text() == "vllm serve m"
