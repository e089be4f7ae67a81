"""What is said of the status page when a server is ready, and who is let in."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.commands.serving import announce
from app.progress import StartProgress
from containers.settings import ServerSettings

DEPLOY = Path(__file__).parents[2] / "deploy"
KEYS = {"admin_keys": ["mighty"]}


def said(**server: Any) -> str:
    printed = io.StringIO()
    progress = StartProgress({}, stream=printed)
    settings = ServerSettings(**server)
    announce(progress, settings, ("127.0.0.1", 8000), {"m": ("generate",)})
    return printed.getvalue()


def test_the_page_is_announced_where_there_is_one() -> None:
    assert "status page" not in said()
    assert "status page: http://127.0.0.1:8000/ui\n" in said(ui=True)


@pytest.mark.parametrize(
    ("server", "warns"),
    [
        ({"host": "0.0.0.0"}, True),  # noqa: S104  # nothing listens
        ({"host": "0.0.0.0", **KEYS}, False),  # noqa: S104  # as above
        ({"host": "localhost"}, False),
        ({"host": "::1"}, False),
    ],
)
def test_a_page_that_others_reach_without_a_key_is_told(
    server: dict[str, Any], warns: bool
) -> None:
    assert ("set server.admin_keys" in said(ui=True, **server)) is warns


def test_no_example_for_production_shows_it_without_a_key() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for service in compose["services"].values():
        assert "--set=server.ui=${STATUS_PAGE:-false}" in service["command"]
    config_map = yaml.safe_load((DEPLOY / "kubernetes/configmap.yaml").read_text())
    assert "ui" not in yaml.safe_load(config_map["data"]["config.yaml"])["server"]
