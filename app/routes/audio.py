"""``POST /v1/audio/transcriptions`` and ``POST /v1/audio/translations``."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.answers import answer
from app.dependencies import RegistryDep
from app.errors import ServingRoute
from app.forms import read_upload
from app.openapi import FORM, documented

router = APIRouter(route_class=ServingRoute, tags=["audio"])


@router.post(
    "/v1/audio/transcriptions",
    **documented(
        "TranscriptionRequest", "TranscriptionResponseVariant", streams=True, takes=FORM
    ),
)
async def create_transcription(raw_request: Request, registry: RegistryDep) -> Response:
    """Write down what is said.

    Source:
        https://platform.openai.com/docs/api-reference/audio/createTranscription
    """
    registry.serving("serving_transcription", None)
    request, audio = await read_upload(raw_request, "TranscriptionRequest")
    serving = registry.serving("serving_transcription", request.model)
    work = serving.create_transcription(audio, request, raw_request)
    return await answer(raw_request, work)


@router.post(
    "/v1/audio/translations",
    **documented(
        "TranslationRequest", "TranslationResponseVariant", streams=True, takes=FORM
    ),
)
async def create_translation(raw_request: Request, registry: RegistryDep) -> Response:
    """Write down what is said, in another language.

    Source:
        https://platform.openai.com/docs/api-reference/audio/createTranslation
    """
    registry.serving("serving_translation", None)
    request, audio = await read_upload(raw_request, "TranslationRequest")
    serving = registry.serving("serving_translation", request.model)
    work = serving.create_translation(audio, request, raw_request)
    return await answer(raw_request, work)
