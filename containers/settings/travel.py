"""Settings that leave this process, to be made anew in another one."""

from __future__ import annotations

import base64
import os
import pickle
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from containers.errors import SettingsError
from containers.settings.filling import Filler
from containers.settings.kinds import kind_of_section
from containers.settings.origin import Origin
from containers.settings.overrides import with_override
from containers.settings.problems import settings_error
from containers.settings.root import FILLED, Settings
from containers.settings.secrets import in_clear
from containers.settings.tree import plain, rooted

SOURCE = "the deployed settings"


def packed(settings: Settings) -> str:
    """Settings as one opaque line of text, secrets included but not legible."""
    values = in_clear(settings.model_dump(exclude_defaults=True))
    return base64.b85encode(zlib.compress(pickle.dumps(values, protocol=5))).decode()


def unpacked(
    text: str,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Settings as they were packed, with overrides on top.

    Args:
        text: What :func:`packed` gave; it is trusted, as all that Ray carries is.
        overrides: ``KEY=VALUE`` each, as for :meth:`Settings.load`.
        environment: Variables for placeholders in the overrides; by default the
            process' own.

    Raises:
        SettingsError: An override is wrong.
    """
    values: Any = pickle.loads(zlib.decompress(base64.b85decode(text)))  # noqa: S301  # our own
    kind = kind_of_section(Settings)
    filler = Filler(os.environ if environment is None else environment)
    tree = rooted(values, Origin(SOURCE))
    for order, override in enumerate(overrides, start=1):
        if not isinstance(override, str):
            raise SettingsError(
                file=SOURCE,
                reason=f"an override is {override!r}, which is no KEY=VALUE",
                hint="Write a list of texts, such as [models.0.engine.seed=1].",
            )
        tree = with_override(tree, override, filler, kind, order=order)
    try:
        made: Settings = Settings.__pydantic_validator__.validate_python(
            plain(tree), context=FILLED
        )
    except ValidationError as error:
        raise settings_error(error, Settings) from None
    return made
