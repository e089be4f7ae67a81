"""HTTPS."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from containers.settings.problems import Problems, refuse, refuse_keys
from containers.settings.section import NonEmpty, Section

_NEEDS_CERTIFICATE = (
    "ssl_keyfile",
    "ssl_ca_certs",
    "ssl_ciphers",
    "enable_ssl_refresh",
    "ssl_cert_reqs",
)


class TlsSettings(Section):
    """The files and rules of HTTPS, by uvicorn's own names; without them it is HTTP.

    Attributes:
        ssl_keyfile: Path of the private key, a PEM file; ``None`` if it stands in the
            certificate's file.
        ssl_certfile: Path of the certificate and its chain, a PEM file.
        ssl_ca_certs: Path of the certificates that clients' are checked against.
        ssl_cert_reqs: Whether clients need a certificate: 0 no, 1 if they have one it
            is checked, 2 yes.
        ssl_ciphers: Ciphers for TLS 1.2 and below, in OpenSSL's words.
        enable_ssl_refresh: Whether the files are read anew when they change.
    """

    ssl_keyfile: NonEmpty | None = None
    ssl_certfile: NonEmpty | None = None
    ssl_ca_certs: NonEmpty | None = None
    ssl_cert_reqs: Literal[0, 1, 2] = 0
    ssl_ciphers: NonEmpty | None = None
    enable_ssl_refresh: bool = False

    @model_validator(mode="after")
    def _needs_certificate(self) -> Self:
        hint = "Set ssl_certfile too, or leave it out."
        problems: Problems = {
            (key,): refuse("has no meaning without ssl_certfile", hint)
            for key in _NEEDS_CERTIFICATE
            if getattr(self, key) and not self.ssl_certfile
        }
        if self.ssl_cert_reqs and self.ssl_certfile and not self.ssl_ca_certs:
            problems["ssl_cert_reqs",] = refuse(
                "asks for clients' certificates without ssl_ca_certs to check them",
                "Set ssl_ca_certs too.",
            )
        if problems:
            raise refuse_keys(problems)
        return self
