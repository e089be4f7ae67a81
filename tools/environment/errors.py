"""The two ways a set-up ends badly."""

from __future__ import annotations

from collections.abc import Sequence


class PreflightError(Exception):
    """The machine cannot hold the environment; nothing was downloaded.

    Attributes:
        problems: One paragraph for each problem, saying what to do.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(*problems)

    def __str__(self) -> str:
        head = "vllm-di: set-up stopped before downloading anything."
        return "\n\n".join([head, *(f"- {problem}" for problem in self.problems)])


class StepError(Exception):
    """A step's command failed.

    Attributes:
        step: What was being done.
        output: All that the command printed.
        hint: What to do.
    """

    def __init__(self, *, step: str, output: str, hint: str) -> None:
        self.step = step
        self.output = output
        self.hint = hint
        super().__init__(step)

    def __str__(self) -> str:
        return f"{self.output.rstrip()}\n\nvllm-di: {self.step} failed. {self.hint}"
