"""An engine that answers what a cassette holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from containers import vllm_api
from containers.errors import CassetteError
from containers.testing.call import Call, Interrupted
from containers.testing.cassettes import failures, outputs, tape
from containers.testing.cassettes.near_miss import near_miss
from containers.testing.cassettes.plain import Plain, described
from containers.testing.cassettes.secrets import Scrubber, Secret
from containers.testing.cassettes.tape import Episode
from containers.testing.engine import FakeEngine
from containers.testing.generation import Playing
from containers.testing.requests import RecordedRequest


class Shelf:
    """The answers of a cassette, found by what was asked.

    The answers to equal requests are given in the order of their recording, the last
    one again and again.

    Args:
        path: The cassette.
        scrubber: Makes a request what it would be in a cassette.
    """

    def __init__(self, path: Path, scrubber: Scrubber) -> None:
        self._path = path
        self._scrubber = scrubber
        self._episodes = tape.read(path)
        self._times_asked: Counter[str] = Counter()

    def holds(self, request: RecordedRequest) -> bool:
        """Whether there is an answer to a request."""
        return bool(self._answers(self._asked(request)))

    def take(self, request: RecordedRequest) -> Episode:
        """The next answer to a request.

        Raises:
            CassetteError: There is none; it names the nearest request there is.
        """
        asked = self._asked(request)
        found = self._answers(asked)
        if not found:
            raise near_miss(self._path, asked, self._episodes)
        key = repr(asked)
        self._times_asked[key] += 1
        return found[min(self._times_asked[key], len(found)) - 1]

    def cut_short(self, episode: Episode) -> CassetteError:
        """The error of an answer whose reader left when it was recorded."""
        return CassetteError(
            path=str(self._path),
            line=episode.line,
            reason="the answer ends here: its reader left when it was recorded",
            hint="Record it anew and read it to its end.",
        )

    def broken(self, episode: Episode, error: Exception) -> CassetteError:
        """The error of an answer that cannot be made out, as after an edit."""
        return CassetteError(
            path=str(self._path),
            line=episode.line,
            reason=f"an output cannot be read ({type(error).__name__}: {error})",
            hint="Mend the line, or record the cassette anew.",
        )

    def _asked(self, request: RecordedRequest) -> Plain:
        return self._scrubber.request(described(request))

    def _answers(self, asked: Plain) -> list[Episode]:
        return [episode for episode in self._episodes if episode.request == asked]


class ReplayEngine(FakeEngine):
    """An ``EngineClient`` that answers token by token what a cassette holds.

    All else is as with :class:`FakeEngine`, which it is: its records, aborting, dying.

    Args:
        path: The cassette.
        delays: Whether to wait before each token as long as it took; else not at all.
        secrets: The secrets that were scrubbed when it was recorded.
        supported_tasks: What it says it can do, in vLLM's words; nothing leaves it to
            the model's configuration.

    Raises:
        CassetteError: The cassette is not there, or cannot be read.
        VllmMismatchError: vLLM is not installed, or is not a supported release.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        delays: bool = False,
        secrets: Iterable[Secret] = (),
        supported_tasks: tuple[str, ...] = (),
    ) -> None:
        super().__init__(supported_tasks=supported_tasks)
        self.shelf = Shelf(Path(path), Scrubber(secrets))
        self._delays = delays

    def _generation(self, call: Call, params: Any) -> Playing:
        del params  # the cassette knows them
        return Replay(call, self.shelf, delays=self._delays)

    async def _pooling_output(self, call: Call) -> Any:
        (output,) = await Replay(call, self.shelf, delays=self._delays).step()
        return output


class Replay:
    """The recorded answer to one request.

    Args:
        call: The request.
        shelf: Where the answer is found.
        delays: Whether to wait as long as the engine did.
    """

    def __init__(self, call: Call, shelf: Shelf, *, delays: bool) -> None:
        self._call = call
        self._shelf = shelf
        self._delays = delays
        self._episode: Episode | None = None
        self._n_given = 0
        self.is_finished = False

    async def step(self) -> list[Any]:
        """The next output, alone.

        Raises:
            CassetteError: There is no answer, or it was not read to its end.
            Exception: What the engine raised at this place.
        """
        if self._episode is None:
            self._episode = self._shelf.take(self._call.request)
        episode = self._episode
        if self._n_given == len(episode.outputs):
            raise self._end(episode)
        found = episode.outputs[self._n_given]
        try:
            output = outputs.from_json(found, self._call.request)
            n_tokens, delay_s = _n_tokens(found), float(found["delay_s"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._shelf.broken(episode, error) from error
        try:
            await self._call.turn(delay_s if self._delays else 0.0)
        except Interrupted:
            return [self._interrupted()]
        self._n_given += 1
        self._call.n_tokens += n_tokens
        self.is_finished = (
            self._n_given == len(episode.outputs) and episode.end == "finished"
        )
        return [output]

    async def close(self) -> None:
        """Nothing is open."""

    def _end(self, episode: Episode) -> Exception:
        if episode.error is not None:
            return failures.from_json(episode.error)
        return self._shelf.cut_short(episode)

    def _interrupted(self) -> Any:
        if self._call.interruption == "death":
            raise vllm_api.EngineDeadError
        self.is_finished = True
        ended: list[Plain] = [
            {"index": index, "text": "", "token_ids": [], "finish_reason": "abort"}
            for index in range(self._call.n)
        ]
        return outputs.from_json(
            {"outputs": ended, "finished": True}, self._call.request
        )


def _n_tokens(found: Plain) -> int:
    return sum(len(each["token_ids"]) for each in found.get("outputs", ()))
