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
LIST = "[]"
JSON = "application/json"
FORM = "multipart/form-data"
SCHEMA_REFERENCE = "#/components/schemas/{model}"

Document = dict[str, Any]


def documented(
    request: str | None,
    response: str | None,
    *,
    streams: bool = False,
    binary: bool = False,
    takes: str = JSON,
) -> dict[str, Any]:
    """Route options that note which of vLLM's models a route takes and gives.

    Args:
        request: Name of the request model, or ``None`` for a route without a body.
        response: Name of the response model, with ``[]`` for a list of such; ``None``
            for plain text.
        streams: Whether it can answer with server-sent events as well.
        binary: Whether it can answer with bare numbers as well, one after the other.
        takes: Media type of the body.
    """
    content: Document = {JSON if response else "text/plain": {}}
    if streams:
        content["text/event-stream"] = {}
    if binary:
        numbers: Document = {"type": "string", "format": "binary"}
        content["application/octet-stream"] = {"schema": numbers}
    extra: Document = {}
    if response:
        extra[ANSWER_KEY] = response
    if request:
        extra[BODY_KEY] = request
        body: Document = {"required": True, "content": {takes: {}}}
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
            if not isinstance(operation, dict):
                continue
            if ANSWER_KEY in operation:
                _show(operation.pop(ANSWER_KEY), "serialization", schemas, operation)
            if BODY_KEY in operation:
                _show(operation.pop(BODY_KEY), "validation", schemas, operation)


def _show(
    name: str, mode: JsonSchemaMode, schemas: Document, operation: Document
) -> None:
    model = name.removesuffix(LIST)
    if not vllm_api.offers(model):
        return
    if not vllm_api.offers(model):
        return
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
    content = place["content"]
    shown: Document = {"$ref": SCHEMA_REFERENCE.format(model=model)}
    if name.endswith(LIST):
        shown = {"type": "array", "items": shown}
    content[JSON if JSON in content else FORM]["schema"] = shown
