"""What the app offers around its routes."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from containers.settings.problems import refuse, refuse_keys
from containers.settings.section import NonEmpty, Section, as_tuple

_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def _key(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().strip():
        raise refuse("is empty", "An empty key would let everybody in.")
    return value


def _keys(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise refuse(
            "is an empty list, which nobody can log in with",
            "Write a key, or leave api_keys out to let everybody in.",
        )
    return as_tuple(value)


def _import_path(value: str) -> str:
    if not _IMPORT_PATH.fullmatch(value):
        raise refuse(
            "is {value}, which is no import path",
            "Write package.module.Class.",
            value=value,
        )
    return value


class SurfaceSettings(Section):
    """Authentication, middleware, documents and extra endpoints.

    Attributes:
        api_keys: Keys of which a request has to bear one (``Authorization: Bearer``);
            ``None`` lets everybody in. Probes, ``/health``, ``/metrics``, ``/version``
            and ``/load`` need no key.
        middleware: Import paths of pure ASGI middleware classes, the outermost last;
            functions are refused, since they would keep a client's leaving from being
            noticed.
        enable_request_id_headers: Whether answers have an ``X-Request-Id`` header.
        disable_fastapi_docs: Whether ``/docs``, ``/redoc`` and ``/openapi.json`` are
            left out.
        enable_offline_docs: Whether ``/docs`` takes its files from vLLM's package, not
            from the internet.
        enable_server_load_tracking: Whether ``/load`` tells the requests in flight.
        enable_tokenizer_info_endpoint: Whether ``/tokenizer_info`` shows the
            tokenizer's configuration and chat template.
        sse_keep_alive_interval: Seconds after which a silent stream gets a comment
            line, so that proxies keep it open, 0 or more; 0 for never.
    """

    api_keys: Annotated[
        tuple[Annotated[SecretStr, AfterValidator(_key)], ...] | None,
        BeforeValidator(_keys),
    ] = None
    middleware: Annotated[
        tuple[Annotated[NonEmpty, AfterValidator(_import_path)], ...],
        BeforeValidator(as_tuple),
    ] = ()
    enable_request_id_headers: bool = False
    disable_fastapi_docs: bool = False
    enable_offline_docs: bool = False
    enable_server_load_tracking: bool = False
    enable_tokenizer_info_endpoint: bool = False
    sse_keep_alive_interval: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _some_docs(self) -> Self:
        if self.enable_offline_docs and self.disable_fastapi_docs:
            problem = refuse(
                "contradicts disable_fastapi_docs", "Set only one of them."
            )
            raise refuse_keys({("enable_offline_docs",): problem})
        return self
