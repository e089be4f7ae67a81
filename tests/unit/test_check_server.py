"""``vllm-di check``: what it says of address, certificates and middleware."""

from __future__ import annotations

import io
import socket
from pathlib import Path
from typing import Any

import pytest

from app.checks import Report
from app.checks.server import check_server
from containers.settings import ServerSettings

PURE = "starlette.middleware.gzip.GZipMiddleware"


def said(**server: Any) -> list[list[str]]:
    """Outcome, name and text of each check."""
    stream = io.StringIO()
    check_server(ServerSettings(**server), Report(stream))
    return [line.split(maxsplit=2) for line in stream.getvalue().splitlines()]


def test_an_address_is_free_until_somebody_listens_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ((outcome, name, text),) = said(port=port)
        assert (outcome, name) == ("failed", "address")
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in text
    assert said(port=port) == [["ok", "address", f"127.0.0.1:{port} is free"]]


def test_a_unix_socket_is_not_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    assert said(uds=str(path)) == [["ok", "address", f"{path} can be listened on"]]
    assert not path.exists()


def test_a_unix_socket_in_use_stays_in_use(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        ((outcome, *_),) = said(uds=str(path))
        assert outcome == "failed"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


@pytest.mark.parametrize("key", ["ssl_certfile", "ssl_keyfile"])
def test_a_certificate_that_cannot_be_used_fails(key: str, tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    certificate.write_text("no certificate")
    files = {"ssl_certfile": str(certificate), key: str(tmp_path / "absent.pem")}
    _, (outcome, name, text) = said(port=0, **files)
    assert (outcome, name) == ("failed", "certificate")
    assert text.startswith(f"server.{key}: cannot be read: No such file")


def test_each_middleware_is_imported() -> None:
    _, first, second = said(port=0, middleware=[PURE, "starlette.absent.Middleware"])
    assert first == ["ok", "middleware.0", f"{PURE} is a pure ASGI class"]
    assert second[:2] == ["failed", "middleware.1"]
    assert "starlette.absent.Middleware cannot be imported" in second[2]
