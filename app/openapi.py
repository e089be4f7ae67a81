"""OpenAPI documents that show vLLM's request and response models.

Routes do not name those models in their signatures, since an app must be up before
vLLM is imported. They note them here, and the document is completed when it is asked
for, once vLLM is loaded.
"""

from __future__ import annotations

import sys
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from containers import vllm_api

BODY_KEY = "x-vllm-request"
ANSWER_KEY = "x-vllm-response"
SCHEMA_REFERENCE = "#/components/schemas/{model}"

Document = dict[str, Any]


def documented(
    request: str | None, response: str, *, streams: bool = False
) -> dict[str, Any]:
    """Route options that note which of vLLM's models a route takes and gives.

    Args:
        request: Name of the request model, or ``None`` for a route without a body.
        response: Name of the response model.
        streams: Whether it can answer with server-sent events as well.
    """
    content: Document = {"application/json": {}}
    if streams:
        content["text/event-stream"] = {}
    extra: Document = {ANSWER_KEY: response}
    if request:
        extra[BODY_KEY] = request
        body: Document = {"required": True, "content": {"application/json": {}}}
        extra["requestBody"] = body
    return {"openapi_extra": extra, "responses": {200: {"content": content}}}


def complete_openapi(app: FastAPI) -> None:
    """Make an app's OpenAPI document show vLLM's models.

    It wraps ``app.openapi``, so what a host app has put there stays in force.
    """
    make = app.openapi

    def openapi() -> Document:
        document = make()
        if "vllm.entrypoints" in sys.modules:
            _complete(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's way to extend it


def _complete(document: Document) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for operations in document.get("paths", {}).values():
        for operation in operations.values():
            if not isinstance(operation, dict) or ANSWER_KEY not in operation:
                continue
            _show(operation.pop(ANSWER_KEY), "serialization", schemas, operation)
            if BODY_KEY in operation:
                _show(operation.pop(BODY_KEY), "validation", schemas, operation)


def _show(
    model: str, mode: JsonSchemaMode, schemas: Document, operation: Document
) -> None:
    if model not in schemas:
        schema = TypeAdapter(getattr(vllm_api, model)).json_schema(
            mode=mode, ref_template=SCHEMA_REFERENCE
        )
        schemas.update(schema.pop("$defs", {}))
        schemas[model] = schema
    place = (
        operation["requestBody"]
        if mode == "validation"
        else operation["responses"]["200"]
    )
    reference = SCHEMA_REFERENCE.format(model=model)
    place["content"]["application/json"]["schema"] = {"$ref": reference}
