"""Requests that carry a key, which nobody else than who was asked may get."""

from __future__ import annotations

from http.client import HTTPMessage, HTTPResponse
from typing import IO, cast
from urllib.request import HTTPRedirectHandler, Request, build_opener


class _Stay(HTTPRedirectHandler):
    def redirect_request(  # noqa: PLR0913, PLR0917  # urllib's own signature
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Follow nowhere: the answer is then an error with its status."""
        del req, fp, code, msg, headers, newurl


_opener = build_opener(_Stay)


def opened(request: Request, *, timeout_s: float) -> HTTPResponse:
    """The answer to a request.

    Raises:
        HTTPError: It is no success; a redirection is none either.
        URLError: There is no answer.
    """
    return cast("HTTPResponse", _opener.open(request, timeout=timeout_s))
