"""One answer while it is being recorded."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from containers.errors import CassetteError
from containers.testing.cassettes import failures, outputs
from containers.testing.cassettes.plain import Plain, described
from containers.testing.cassettes.secrets import Scrubber
from containers.testing.requests import RecordedRequest

logger = logging.getLogger(__name__)

_OF_THE_PROMPT = frozenset({"prompt", "prompt_token_ids", "prompt_logprobs"})


class Take:
    """What an engine answers to one request, noted output by output.

    Args:
        path: The cassette, for what is said about it.
        request: The request.
    """

    def __init__(self, path: Path, request: RecordedRequest) -> None:
        self._path = path
        self._request = request
        self._description = described(request)  # now: an engine may change its params
        self._outputs: list[Plain] = []
        self._end = "aborted"
        self._error: Plain | None = None

    def note(self, output: Any, delay_s: float) -> None:
        """Note an output and the seconds it took.

        Raises:
            CassetteError: It holds something that a cassette cannot.
        """
        try:
            found = outputs.as_json(output, self._request)
        except ValueError as error:
            raise CassetteError(
                path=str(self._path),
                reason=str(error),
                hint="Ask without what makes the engine answer with it.",
            ) from error
        self._outputs.append({"delay_s": round(delay_s, 4), **found})
        if output.finished:
            self._end = "finished"

    def fail(self, error: Exception) -> None:
        """Note what the engine raised."""
        self._end, self._error = "failed", failures.as_json(error)

    def entry(self, scrubber: Scrubber) -> Plain | None:
        """The line to write, or ``None`` for an answer that repeats a secret."""
        request = scrubber.request(self._description)
        if self._tells_a_secret(scrubber, request):
            logger.warning(
                "%s: the answer to %s repeats a secret and is not recorded",
                self._path,
                self._request.request_id,
            )
            return None
        entry: Plain = {"request": request, "end": self._end, "outputs": self._outputs}
        if self._error is not None:
            entry["error"] = scrubber.data(self._error)
        return entry

    def _tells_a_secret(self, scrubber: Scrubber, request: Plain) -> bool:
        texts = [self._outputs, *self._texts().values()]
        if any(scrubber.data(text) != text for text in texts):
            return True
        has_secret = request["prompt"] != self._description["prompt"]
        return has_secret and any(
            _OF_THE_PROMPT & output.keys() for output in self._outputs
        )

    def _texts(self) -> dict[int, str]:
        """Whole texts: a secret may come in pieces."""
        texts: dict[int, str] = {}
        for output in self._outputs:
            for each in output.get("outputs", ()):
                index = each.get("index", 0)
                texts[index] = texts.get(index, "") + each["text"]
        return texts
