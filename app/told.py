"""What may be told of an error: its text, and no secret of the settings in it."""

from __future__ import annotations

import re

from pydantic import SecretStr

from app.service import Service
from containers.settings.secrets import secrets_in

MASKED = str(SecretStr("secret"))

_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+(?=@)")


def told(error: object, service: Service) -> str:
    """Text of an error for those who ask a server.

    Libraries put into their errors what they were given, an access token among it.

    Args:
        error: The error, or a text.
        service: The server, whose settings say what is secret.
    """
    text = str(error)
    settings = service.container.settings()
    for secret in {*secrets_in(settings.model_dump())}:
        text = text.replace(secret, MASKED)
    return _CREDENTIALS.sub(MASKED, text)
