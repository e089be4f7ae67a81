"""The files of the status page: who gets them, and what they may do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import create_app, include_serving
from app.ui import FOLDER, page_files
from containers import Settings
from containers.errors import SettingsError

MODELS = [{"name": "m", "source": "nowhere"}]


def settings_of(**server: Any) -> Settings:
    return Settings.model_validate({"server": server, "models": MODELS})


def client_of(**server: Any) -> TestClient:
    return TestClient(create_app(settings_of(**server)))


def test_without_the_setting_there_is_no_page() -> None:
    client = client_of(admin_keys=["mighty"])
    assert client.get("/ui").status_code == 404
    assert client.get("/ui/main.js").status_code == 404


def test_its_files_are_open_and_what_it_shows_is_not() -> None:
    client = client_of(ui=True, api_keys=["small"], admin_keys=["mighty"])
    for name, (content, _) in page_files().items():
        path = "/ui" if name == "index.html" else f"/ui/{name}"
        answer = client.get(path)
        assert answer.status_code == 200
        assert "mighty" not in answer.text
        if name != "index.html":
            assert answer.content == content
    for path in ("/admin/status", "/admin/settings", "/ui/../admin/status", "/uix"):
        assert client.get(path).status_code == 401


@pytest.mark.parametrize(
    "name", ["index.html", "..%2f__init__.py", "__init__.py", "a/b", "%00", ""]
)
def test_no_other_file_is_given(name: str) -> None:
    answer = client_of(ui=True).get(f"/ui/{name}", follow_redirects=False)
    assert answer.status_code in (307, 404)


def test_nothing_of_others_may_run_in_it() -> None:
    client = client_of(ui=True)
    for path in ("/ui", "/ui/main.js"):
        policy = client.get(path).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
    for name in page_files():
        text = (FOLDER / name).read_text()
        addresses = set(re.findall(r"https?://[^\s\"')]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}
        assert "innerHTML" not in text
        assert not re.search(r"\s(style|on\w+)=\"", text) or name == "icon.svg"


def test_a_slash_too_many_leads_to_the_page() -> None:
    client = client_of(ui=True, api_keys=["small"], admin_keys=["mighty"])
    assert client.get("/ui/").url.path == "/ui"


def test_the_page_asks_for_a_key_where_there_are_admin_keys() -> None:
    assert 'data-wants-key="no"' in client_of(ui=True).get("/ui").text
    wanting = client_of(ui=True, admin_keys=["mighty"])
    assert 'data-wants-key="yes"' in wanting.get("/ui").text


def test_it_is_refused_where_only_an_api_key_could_open_it() -> None:
    with pytest.raises(SettingsError, match="admin_keys"):
        settings_of(ui=True, api_keys=["small"])


def test_it_is_served_below_a_prefix_of_a_hosts_app() -> None:
    host = FastAPI()
    settings = settings_of(ui=True, api_keys=["small"], admin_keys=["mighty"])
    include_serving(host, settings, prefix="/llm")
    client = TestClient(host)
    assert client.get("/llm/ui").status_code == 200
    assert client.get("/llm/ui/main.js").status_code == 200
    assert client.get("/llm/admin/status").status_code == 401
    assert client.get("/ui").status_code == 404


def test_a_full_server_still_gives_its_page() -> None:
    app = create_app(settings_of(ui=True, max_concurrent_requests=1))
    guarded = {
        route.path: type(route.app).__name__
        for route in app.routes
        if hasattr(route, "app")
    }
    assert guarded["/ui"] == guarded["/livez"]
    assert guarded["/v1/models"] == "ConcurrencyMiddleware"


def test_every_file_the_page_asks_for_is_there() -> None:
    asked = set(re.findall(r"ui/([\w.]+)", page_files()["index.html"][0].decode()))
    for name, (content, _) in page_files().items():
        if name.endswith(".js"):
            asked |= set(re.findall(r'from "\./([\w.]+)"', content.decode()))
    assert asked == page_files().keys() - {"index.html"}
