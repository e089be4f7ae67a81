"""What web pages of other origins may ask: CORS."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from containers.settings.problems import refuse, refuse_keys
from containers.settings.section import NonEmpty, Section, as_tuple

Names = Annotated[tuple[NonEmpty, ...], BeforeValidator(as_tuple)]


class BrowserSettings(Section):
    """Which web pages may send requests from a browser.

    Attributes:
        allowed_origins: Origins, such as ``https://chat.example``, or ``*`` for any;
            none by default.
        allowed_methods: HTTP methods they may use, or ``*``.
        allowed_headers: Request headers they may send, or ``*``.
        allow_credentials: Whether they may send cookies; needs ``allowed_origins``.
    """

    allowed_origins: Names = ()
    allowed_methods: Names = ("*",)
    allowed_headers: Names = ("*",)
    allow_credentials: bool = False

    @model_validator(mode="after")
    def _needs_origins(self) -> Self:
        if self.allow_credentials and not self.allowed_origins:
            problem = refuse(
                "has no meaning without allowed_origins", "Name the origins too."
            )
            raise refuse_keys({("allow_credentials",): problem})
        return self
