"""What a running server tells of itself, asked for again and again."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from app.same_host import asked

PATH = "/admin/status"
TIMEOUT_S = 5.0
WINDOW_S = 5.0
HINTS = {
    401: "it wants an admin key: put one into the variable {variable}",
    403: "the key in the variable {variable} is no admin key",
    404: "it does not tell how it stands: set server.ui or server.admin_keys for it",
}

Status = dict[str, Any]


class NotToldError(Exception):
    """A server does not tell how it stands; the text says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A server to ask.

    Attributes:
        url: Its base URL.
        key: The admin key; empty for none.
        variable: Name of the variable the key is from, for hints.
    """

    url: str
    key: str = field(repr=False)
    variable: str

    def ask(self) -> Status:
        """How it stands now.

        Raises:
            NotToldError: It does not answer, or refuses to.
        """
        try:
            with asked(self.url + PATH, key=self.key, timeout_s=TIMEOUT_S) as answer:
                status: Any = json.load(answer)
        except HTTPError as error:
            reason = HINTS.get(error.code, f"it answered {error.code}")
            raise NotToldError(reason.format(variable=self.variable)) from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            cause = error.reason if isinstance(error, URLError) else error
            raise NotToldError(f"it does not answer: {cause}") from None
        if not isinstance(status, dict) or "models" not in status:
            raise NotToldError("what answers there is no server of vllm-di")
        told: Status = status
        return told


class Rates:
    """Tokens a second of each model: the growth of a counter over five seconds.

    It is that of tokens generated, or read where a model generates none.
    """

    def __init__(self) -> None:
        self._samples: dict[str, deque[tuple[float, int]]] = {}

    def add(self, status: Status) -> None:
        """Take what a server told of a moment."""
        figures = status["figures"]
        for model in status["models"]:
            name, found = model["name"], figures["models"].get(model["name"])
            if found is None:
                continue
            samples = self._samples.setdefault(name, deque())
            kind = "generation" if model["generates"] else "prompt"
            at, n = figures["at"], found[f"n_{kind}_tokens"]
            if samples and (n < samples[-1][1] or at < samples[-1][0]):
                samples.clear()  # a new engine counts from 0; a clock may be put back
            samples.append((at, n))
            while len(samples) > 2 and at - samples[1][0] >= WINDOW_S:  # noqa: PLR2004  # a rate has two ends
                samples.popleft()

    def of(self, model: str) -> float | None:
        """Tokens a second of a model; ``None`` before two moments are known."""
        samples = self._samples.get(model)
        if not samples or samples[-1][0] <= samples[0][0]:
            return None
        (began, first), (ended, last) = samples[0], samples[-1]
        return (last - first) / (ended - began)


class Follower:
    """Asks a server at an interval, in a thread of its own.

    Args:
        source: The server.
        interval_s: Seconds between two times, above 0.

    Attributes:
        status: What it told last; ``None`` before the first time.
        trouble: Why it told nothing the last time, or an empty string.
        rates: Tokens a second.
    """

    def __init__(self, source: Source, *, interval_s: float) -> None:
        self.status: Status | None = None
        self.trouble = ""
        self.rates = Rates()
        self._source = source
        self._interval_s = interval_s
        self._is_over = threading.Event()

    def start(self) -> None:
        """Begin to ask; it ends with the process, or with :meth:`stop`."""
        threading.Thread(target=self._run, name="vllm-di top", daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._is_over.set()

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                status = self._source.ask()
                self.rates.add(status)
            except NotToldError as error:
                self.trouble = str(error)
            except (AttributeError, KeyError, TypeError):
                self.trouble = "it tells what this version does not know"
            else:
                self.status, self.trouble = status, ""
            self._is_over.wait(self._interval_s)
