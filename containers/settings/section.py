"""What every section of the settings is: frozen, strict, closed, plain-spoken."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from containers.settings.problems import settings_error

NonEmpty = Annotated[str, Field(min_length=1)]

BARE_AS_EMPTY = BeforeValidator(lambda value: {} if value is None else value)
"""For a section whose keys are all commented out."""


def as_tuple(value: Any) -> Any:
    """A list as the tuple that a frozen section holds; anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


class Section(BaseModel):
    """A mapping of keys in ``config.yaml``.

    Values are immutable once made; an unknown key, or a value of another type than the
    key takes, is refused rather than dropped or converted. However a section is made,
    what is wrong comes out as :class:`~containers.errors.SettingsError`.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise settings_error(error, type(self)) from None

    # pydantic then keeps building nested sections itself, so that their errors carry
    # the whole path and are reported together.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # pydantic's own mark

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Makes the section from a mapping, such as parsed YAML.

        Args:
            obj: The mapping, or an instance of this section.
            **options: pydantic's own options.

        Raises:
            SettingsError: Something in it is wrong; every problem is in it.
        """
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise settings_error(error, cls) from None
