"""Where the commands' settings come from, and what a second look at it gives."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from app.commands.options import add_settings_options, load_settings, setting_files
from containers.errors import SettingsError

CONFIG = """
server: {host: "${VLLM_DI_TEST_HOST}", root_path: "${VLLM_DI_TEST_PATH:-}"}
models: [{name: m, source: org/m}]
"""
HOST, PATH = "VLLM_DI_TEST_HOST", "VLLM_DI_TEST_PATH"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    for name in (HOST, PATH):
        monkeypatch.setenv(name, "")  # so that it is as it was after the test
        monkeypatch.delenv(name)
    config, file = tmp_path / "config.yaml", tmp_path / ".env"
    config.write_text(CONFIG)
    file.write_text(f"{HOST}=first\n")
    parser = argparse.ArgumentParser()
    add_settings_options(parser)
    return parser.parse_args(["--config", str(config), "--env-file", str(file)])


def test_an_env_file_is_read_anew(options: argparse.Namespace) -> None:
    assert load_settings(options).server.host == "first"
    options.env_file[0].write_text(f"{HOST}=second\n{PATH}=/x\n")
    again = load_settings(options).server
    assert (again.host, again.root_path) == ("second", "/x")
    options.env_file[0].write_text(f"{HOST}=third\n")
    assert load_settings(options).server.root_path == ""


def test_vllm_finds_its_variables_as_they_were_at_the_start(
    options: argparse.Namespace,
) -> None:
    load_settings(options)
    options.env_file[0].write_text(f"{HOST}=second\n{PATH}=/x\n")
    load_settings(options)
    assert os.environ[HOST] == "first"
    assert PATH not in os.environ


def test_what_is_set_already_stays(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOST, "mine")
    for text in ("first", "second"):
        options.env_file[0].write_text(f"{HOST}={text}\n")
        assert load_settings(options).server.host == "mine"
    assert os.environ[HOST] == "mine"


def test_of_several_the_last_one_counts(
    options: argparse.Namespace, tmp_path: Path
) -> None:
    options.env_file.append(tmp_path / "more.env")
    options.env_file[1].write_text(f"{HOST}=more\n")
    assert load_settings(options).server.host == "more"
    assert os.environ[HOST] == "more"


def test_one_that_is_gone_changes_nothing(options: argparse.Namespace) -> None:
    options.env_file[0].unlink()
    with pytest.raises(SettingsError):
        load_settings(options)
    assert HOST not in os.environ


def test_all_of_the_files_are_watched(options: argparse.Namespace) -> None:
    files = setting_files(options)
    assert [*files] == [options.config[0], options.env_file[0]]
    assert None not in files.values()
