"""The ``lora`` section: adapters that are loaded when the model starts."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from containers.settings.problems import Problems, refuse, refuse_keys
from containers.settings.section import NonEmpty, Section, as_tuple


class LoraModule(Section):
    """One adapter.

    Attributes:
        name: The name requests send as ``model`` to use it.
        path: Its folder, or a Hugging Face id.
        base_model_name: Which of the model's names it is shown under in ``/v1/models``;
            ``None`` for the first.
        is_3d_lora_weight: Whether its weights of experts are one tensor a layer.
    """

    name: NonEmpty
    path: NonEmpty
    base_model_name: NonEmpty | None = None
    is_3d_lora_weight: bool = False


class LoraSettings(Section):
    """Adapters of a model; ``engine.enable_lora`` has to be true for them.

    Attributes:
        modules: The adapters, each loaded before the model is ready.
    """

    modules: Annotated[tuple[LoraModule, ...], BeforeValidator(as_tuple)] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [module.name for module in self.modules]
        repeated: Problems = {
            ("modules", index, "name"): refuse(
                "is {value}, as an adapter before it", "Rename one.", value=name
            )
            for index, name in enumerate(names)
            if name in names[:index]
        }
        if repeated:
            raise refuse_keys(repeated)
        return self
