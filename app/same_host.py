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


def asked(url: str, *, key: str, timeout_s: float, method: str = "GET") -> HTTPResponse:
    """The answer to a request.

    Args:
        url: An address of HTTP, as the command has checked.
        key: The key it carries; empty for none.
        timeout_s: Seconds to wait for an answer.
        method: Its method.

    Raises:
        HTTPError: It is no success; a redirection is none either.
        URLError: There is no answer.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = Request(url, method=method, headers=headers)  # noqa: S310  # HTTP, see above
    return cast("HTTPResponse", _opener.open(request, timeout=timeout_s))
