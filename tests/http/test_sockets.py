"""Unix sockets, HTTPS and what uvicorn is told, over real connections."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import certificates
from app.certificates import refresh_certificates
from app.http_config import curl_address, uvicorn_config
from app.server import Server, listen
from containers import ServerSettings
from containers.errors import SettingsError


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers its root path."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    text = f"{scope['scheme']} {scope['root_path']}"
    await send({"type": "http.response.body", "body": text.encode()})


@contextmanager
def served(settings: ServerSettings) -> Iterator[Any]:
    """Serve on a socket as the command does; gives the socket's name."""
    listener = listen(settings)
    server = Server(uvicorn_config(app, settings, close_timeout_s=1))
    thread = threading.Thread(
        target=asyncio.run, args=(server.serve(sockets=[listener]),)
    )
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a self-signed certificate for localhost, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    folder.mkdir(exist_ok=True)
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(pem))
    files[1].write_bytes(
        key.private_bytes(
            pem,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def name_in_certificate(address: tuple[str, int], ca: str) -> str:
    """Name the server shows to a client that trusts this certificate."""
    context = ssl.create_default_context(cadata=ca)
    with (
        socket.create_connection(address) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as wrapped,
    ):
        found: Any = wrapped.getpeercert()
    return str(dict(part[0] for part in found["subject"])["commonName"])


def test_a_unix_socket(tmp_path: Path) -> None:
    settings = ServerSettings(uds=str(tmp_path / "s"), root_path="/llm")
    for _ in range(2):  # the socket a server leaves is taken over by the next
        with served(settings) as address:
            transport = httpx.HTTPTransport(uds=str(tmp_path / "s"))
            with httpx.Client(transport=transport) as client:
                assert client.get("http://localhost/").text == "http /llm"
            told = curl_address(settings, address)
            assert told == f"--unix-socket {tmp_path}/s http://localhost"
            with pytest.raises(SettingsError, match=r"server\.uds: cannot listen on"):
                listen(settings)


def test_a_file_in_its_place_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_text("mine")
    with pytest.raises(SettingsError, match="cannot listen"):
        listen(ServerSettings(uds=str(file)))
    assert file.read_text() == "mine"


def test_https(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "one")
    settings = ServerSettings(port=0, ssl_certfile=str(cert), ssl_keyfile=str(key))
    with served(settings) as address:
        context = ssl.create_default_context(cafile=str(cert))
        url = f"https://localhost:{address[1]}/"
        assert httpx.get(url, verify=context).text == "https "
        assert curl_address(settings, address) == f"https://127.0.0.1:{address[1]}"


def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(
    tmp_path: Path,
) -> None:
    cert, key = certificate(tmp_path, "one")
    settings = ServerSettings(
        port=0,
        ssl_certfile=str(cert),
        ssl_keyfile=str(key),
        ssl_ca_certs=str(cert),
        ssl_cert_reqs=2,
    )
    context = ssl.create_default_context(cafile=str(cert))
    with served(settings) as address:
        url = f"https://localhost:{address[1]}/"
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=context)
        context.load_cert_chain(cert, key)
        assert httpx.get(url, verify=context).text == "https "


@pytest.mark.parametrize("broken", ["cert.pem", "key.pem"])
def test_files_that_are_no_certificate_are_refused(tmp_path: Path, broken: str) -> None:
    cert, key = certificate(tmp_path, "one")
    (tmp_path / broken).write_text("nonsense")
    settings = ServerSettings(ssl_certfile=str(cert), ssl_keyfile=str(key))
    with pytest.raises(SettingsError, match=r"server\.ssl_certfile: cannot be used"):
        listen(settings)


async def until(attempt: Callable[[], Awaitable[str]]) -> str:
    """What an attempt gives once it is no longer refused, within 10 s."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await attempt()
            except ssl.SSLError:
                await asyncio.sleep(0.02)


async def test_a_renewed_certificate_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "LOOK_EVERY_S", 0.02)
    cert, key = certificate(tmp_path, "one")
    settings = ServerSettings(
        port=0,
        ssl_certfile=str(cert),
        ssl_keyfile=str(key),
        enable_ssl_refresh=True,
    )
    config = uvicorn_config(app, settings, close_timeout_s=1)
    assert config.ssl is not None
    server = Server(config)
    with listen(settings) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        refreshing = asyncio.create_task(refresh_certificates(config.ssl, settings))
        address = listener.getsockname()
        old = cert.read_text()
        shown = partial(asyncio.to_thread, name_in_certificate, address)
        assert await shown(old) == "one"
        certificate(tmp_path / "new", "two")
        cert.write_text((tmp_path / "new" / "cert.pem").read_text())
        await asyncio.sleep(0.1)
        assert await shown(old) == "one"  # the key is still to come
        key.write_text((tmp_path / "new" / "key.pem").read_text())
        assert await until(lambda: shown(cert.read_text())) == "two"
        refreshing.cancel()
        server.should_exit = True
        await serving


def test_what_uvicorn_is_told() -> None:
    settings = ServerSettings(
        h11_max_incomplete_event_size=1000,
        timeout_keep_alive_s=7,
        disable_uvicorn_access_log=True,
    )
    config = uvicorn_config(app, settings, close_timeout_s=3)
    assert config.http_protocol_class.__name__ == "H11Protocol"
    assert config.h11_max_incomplete_event_size == 1000
    assert config.timeout_keep_alive == 7
    assert not config.access_log


def test_too_large_a_header_is_refused() -> None:
    settings = ServerSettings(port=0, h11_max_incomplete_event_size=2000)
    with served(settings) as address, socket.create_connection(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nx: " + b"y" * 3000)
        assert client.recv(100).startswith(b"HTTP/1.1 400")


def test_requests_of_some_paths_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = ServerSettings(
        port=0,
        uvicorn_log_level="info",
        logs={"requests": False},
        disable_access_log_for_endpoints=("/health",),
    )
    access = logging.getLogger("uvicorn.access")
    with served(settings) as (host, port), caplog.at_level(logging.INFO):
        access.addHandler(caplog.handler)
        try:
            for path in ("/health", "/health?x=1", "/v1/models"):
                httpx.get(f"http://{host}:{port}{path}")
        finally:
            access.removeHandler(caplog.handler)
    texts = [
        record.getMessage() for record in caplog.records if record.name == access.name
    ]
    assert [text.split('"')[1] for text in texts] == ["GET /v1/models HTTP/1.1"]
