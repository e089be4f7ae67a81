"""Keys in the settings: plain or named, from files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from containers.errors import SettingsError
from containers.settings import ApiKey, ServerSettings, Settings
from containers.settings.show import shown

MODELS = [{"name": "m", "source": "s"}]
NAMED = {"name": "a", "key": "hunter2"}


def server_of(**keys: Any) -> ServerSettings:
    settings = Settings.model_validate({"server": keys, "models": MODELS})
    return settings.server


def refused(**keys: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        server_of(**keys)
    assert "hunter2" not in str(caught.value)
    return caught.value


def test_a_key_is_text_or_has_a_name() -> None:
    plain, named = server_of(api_keys=["k", NAMED]).api_keys or ()
    assert isinstance(plain, SecretStr)
    assert plain.get_secret_value() == "k"
    assert isinstance(named, ApiKey)
    assert named == ApiKey(name="a", key=SecretStr("hunter2"))
    assert "hunter2" not in repr(named)


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"api_keys": [{"name": "a"}]}, "api_keys.0.key"),
        ({"api_keys": [NAMED | {"key_file": "f"}]}, "api_keys.0.key"),
        ({"api_keys": [{"key": "hunter2"}]}, "api_keys.0.name"),
        ({"api_keys": [NAMED | {"key": " "}]}, "api_keys.0.key"),
        ({"api_keys": [NAMED | {"nmae": "b"}]}, "api_keys.0"),
        ({"api_keys": [NAMED | {"max_requests_per_minute": 0}]}, "api_keys.0.max_requ"),
        ({"api_keys": [["hunter2"]]}, "api_keys.0"),
        ({"api_keys": ["hunter2", "hunter2"]}, "api_keys.1"),
        ({"api_keys": ["hunter2", NAMED]}, "api_keys.1"),
        ({"api_keys": [NAMED, {"name": "a", "key": "b"}]}, "api_keys.1.name"),
        ({"api_keys": ["hunter2"], "admin_keys": ["hunter2"]}, "admin_keys.0"),
        ({"admin_keys": []}, "admin_keys"),
        ({"open_paths": ["metrics"]}, "open_paths.0"),
        ({"open_paths": ["/a/*/b"]}, "open_paths.0"),
        ({"open_paths": ["/a?b"]}, "open_paths.0"),
        ({"max_requests_per_minute_per_key": 5}, "max_requests_per_minute_per_key"),
        ({"max_body_bytes": 0}, "max_body_bytes"),
        ({"request_timeout_s": 0}, "request_timeout_s"),
    ],
)
def test_what_cannot_be_meant_is_refused(keys: dict[str, Any], place: str) -> None:
    assert refused(**keys).key.startswith(f"server.{place}")


def written(folder: Path, server: dict[str, Any]) -> Path:
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"server": server, "models": MODELS}))
    return file


def test_files_of_keys_are_meant_from_the_config_files_folder(tmp_path: Path) -> None:
    server = {
        "api_keys": ["k", {"name": "a", "key_file": "a.key"}],
        "admin_keys_file": "admins",
    }
    loaded = Settings.load(written(tmp_path, server)).server
    named = (loaded.api_keys or ())[1]
    assert isinstance(named, ApiKey)
    assert named.key_file == str(tmp_path / "a.key")
    assert loaded.admin_keys_file == str(tmp_path / "admins")
    assert loaded.wants_key
    assert loaded.has_admin_keys


def test_a_file_of_keys_answers_vllms_own_variable(tmp_path: Path) -> None:
    file = written(tmp_path, {"api_keys_file": "keys"})
    assert Settings.load(file, environment={"VLLM_API_KEY": "hunter2"})


def test_named_keys_are_shown_without_what_is_secret(tmp_path: Path) -> None:
    keys = ["k", {"name": "a", "key": "${K}", "max_requests_per_minute": 5}]
    settings = Settings.load(
        written(tmp_path, {"api_keys": keys}), environment={"K": "hunter2"}
    )
    text = shown(settings)
    assert "hunter2" not in text
    assert "hunter2" not in settings.model_dump_json()
    read = yaml.safe_load(text)["server"]["api_keys"]
    assert read[0] == "**********"
    assert read[1]["name"] == "a"
    assert read[1]["key"] == "**********"
    assert read[1]["max_requests_per_minute"] == 5
