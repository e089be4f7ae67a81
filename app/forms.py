"""Multipart forms as vLLM's own request models."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from app.body import validate
from containers import vllm_api


async def read_upload(request: Request, model: str) -> tuple[Any, bytes]:
    """Read and validate a form that brings a file.

    Args:
        request: The request; its body is read.
        model: Name of vLLM's request model, which has the field ``file``.

    Returns:
        An instance of that model, whose file is closed, and the file's content.

    Raises:
        HTTPException: It is no form that can be read.
        RequestValidationError: It does not fit the model.
        VLLMValidationError: The file is larger than vLLM allows.

    Source:
        vllm/entrypoints/speech_to_text/transcription/api_router.py (0.32.0).
    """
    form = await _read_form(request)
    try:
        made = validate(_fields(form, getattr(vllm_api, model)), model)
        return made, await vllm_api.read_upload_with_limit(made.file)
    finally:
        await form.close()


async def _read_form(request: Request) -> FormData:
    try:
        return await request.form()
    except (ValueError, LookupError) as error:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, "There was an error parsing the body"
        ) from error


def _fields(form: FormData, model: type[BaseModel]) -> dict[str, Any]:
    """Values by field, as FastAPI reads them: an empty text counts as none.

    Source:
        fastapi/dependencies/utils.py ``_extract_form_body`` (0.136).
    """
    known = {field.alias or name: field for name, field in model.model_fields.items()}
    values: dict[str, Any] = {}
    for name in form:
        given = form.getlist(name)
        field = known.get(name)
        if field is None:
            values[name] = given if len(given) > 1 else given[0]
        elif str(field.annotation).startswith("list["):
            values[name] = given
        elif given[-1] != "":
            values[name] = given[-1]
    return values
