"""What the app offers around its routes."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from containers.settings.dotted import ImportPath
from containers.settings.problems import refuse, refuse_keys
from containers.settings.section import Section, as_tuple


class SurfaceSettings(Section):
    """Middleware, documents and extra endpoints.

    Attributes:
        middleware: Import paths of pure ASGI middleware classes, the outermost last;
            functions are refused, since they would keep a client's leaving from being
            noticed.
        enable_request_id_headers: Whether answers have an ``X-Request-Id`` header.
        disable_fastapi_docs: Whether ``/docs``, ``/redoc`` and ``/openapi.json`` are
            left out.
        enable_offline_docs: Whether ``/docs`` takes its files from vLLM's package, not
            from the internet.
        enable_server_load_tracking: Whether ``/load`` tells the requests in flight.
        enable_runtime_lora: Whether adapters may be loaded and unloaded by request;
            ``None`` for what the variable ``VLLM_ALLOW_RUNTIME_LORA_UPDATING`` says.
        enable_tokenizer_info_endpoint: Whether ``/tokenizer_info`` shows the
            tokenizer's configuration and chat template.
        enable_scale_out: Whether requests can be rendered to token ids, generated from
            them, and answers made of them, each by itself; otherwise those routes
            answer 403.
        ui: Whether ``/ui`` is a page that shows how the server stands. Where there are
            API keys it needs ``admin_keys``, of which it asks for one.
        sse_keep_alive_interval: Seconds after which a silent stream gets a comment
            line, so that proxies keep it open, 0 or more; 0 for never.
    """

    middleware: Annotated[tuple[ImportPath, ...], BeforeValidator(as_tuple)] = ()
    enable_request_id_headers: bool = False
    disable_fastapi_docs: bool = False
    enable_offline_docs: bool = False
    enable_server_load_tracking: bool = False
    enable_runtime_lora: bool | None = None
    enable_tokenizer_info_endpoint: bool = False
    enable_scale_out: bool = False
    ui: bool = False
    sse_keep_alive_interval: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _some_docs(self) -> Self:
        if self.enable_offline_docs and self.disable_fastapi_docs:
            problem = refuse(
                "contradicts disable_fastapi_docs", "Set only one of them."
            )
            raise refuse_keys({("enable_offline_docs",): problem})
        return self
