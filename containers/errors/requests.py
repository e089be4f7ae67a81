"""What is wrong with what is asked of a running server."""

from __future__ import annotations

from collections.abc import Sequence

from containers.errors.serving_error import ServingError


class UnknownModelError(ServingError):
    """A request names a model that nobody serves.

    Attributes:
        model: The name.
        names: Served names, without those of adapters.

    Source:
        vllm/entrypoints/serve/engine/serving.py ``_check_model`` (0.32.0), for the
        words.
    """

    def __init__(self, *, model: str, names: Sequence[str]) -> None:
        self.model = model
        self.names = tuple(names)
        super().__init__(model)

    def __str__(self) -> str:
        return (
            f"The model `{self.model}` does not exist. "
            f"Valid aliases: {', '.join(self.names)}."
        )


class UnsupportedTaskError(ServingError):
    """A request asks a model for what it cannot do.

    Attributes:
        model: The model's name, as the request has it.
        provider: Name of the provider that is absent, such as ``serving_embedding``.
        able: Names of the models that can.
    """

    def __init__(self, *, model: str, provider: str, able: Sequence[str]) -> None:
        self.model = model
        self.provider = provider
        self.able = tuple(able)
        super().__init__(model, provider)

    def __str__(self) -> str:
        noun = self.provider.removeprefix("serving_").replace("_", " ")
        others = f"Ask {' or '.join(self.able)}" if self.able else "No model here does"
        return f"The model `{self.model}` does not support {noun} requests. {others}."


class AdapterError(ServingError):
    """A LoRA adapter cannot be loaded into a model that serves; the model goes on.

    Attributes:
        adapter: The adapter's name, as the request has it.
        reason: What is wrong, without a full stop.
        hint: What to do; may be empty.
        is_absent: Whether it is just not there.
    """

    def __init__(
        self, *, adapter: str, reason: str, hint: str = "", is_absent: bool = False
    ) -> None:
        self.adapter = adapter
        self.reason = reason
        self.hint = hint
        self.is_absent = is_absent
        super().__init__(adapter, reason)

    def __str__(self) -> str:
        return f"The adapter `{self.adapter}`: {self.reason}. {self.hint}".strip()
