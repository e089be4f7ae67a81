"""JSON Schema of ``config.yaml``: what an editor completes and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from containers.settings.canary import CanarySettings
from containers.settings.chat import ChatSettings
from containers.settings.descriptions import described_fields, summary
from containers.settings.engine import ELSEWHERE, REFUSED
from containers.settings.frontend import frontend_arguments
from containers.settings.lora import LoraModule, LoraSettings
from containers.settings.model import ModelSettings
from containers.settings.performance import PerformanceSettings
from containers.settings.ray import (
    RayAutoscalingSettings,
    RayIngressSettings,
    RayModelSettings,
    RaySettings,
)
from containers.settings.root import Settings
from containers.settings.server import ApiKey, ServerSettings
from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.kinds import (
    Choice,
    Kind,
    ListOf,
    MappingOf,
    Null,
    Opaque,
    Record,
    Scalar,
    options_of,
)

Schema = dict[str, Any]

SECTIONS: tuple[type[BaseModel], ...] = (
    Settings,
    ServerSettings,
    ApiKey,
    PerformanceSettings,
    ModelSettings,
    ChatSettings,
    LoraSettings,
    LoraModule,
    CanarySettings,
    RaySettings,
    RayIngressSettings,
    RayModelSettings,
    RayAutoscalingSettings,
)
"""Every section there is."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLACEHOLDER: Schema = {
    "type": "string",
    "pattern": r"\$\{",
    "description": "Filled in from the environment: ${NAME} or ${NAME:-default}.",
}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_UNLIKE_TEXT = frozenset({"boolean", "integer", "number"})
_REFERENCE = "#/$defs/{}"


def json_schema(*, is_overlay: bool = False) -> Schema:
    """JSON Schema, draft 2020-12, of a config file for the installed vLLM.

    Descriptions carry units, values their defaults and ranges. Where no text is taken
    a placeholder is allowed all the same, since it is filled in later.

    Args:
        is_overlay: Whether the file is laid over others, so that it needs only the keys
            it changes, and a model's name to say which one it changes.
    """
    schema = Settings.model_json_schema(schema_generator=_Generator)
    definitions: Schema = schema["$defs"]
    for section in SECTIONS:
        place = definitions.get(section.__name__, schema)
        _describe(place, section)
        place["properties"] = {
            name: _loosened(field) for name, field in place["properties"].items()
        }
    definitions["placeholder"] = PLACEHOLDER
    model = definitions[ModelSettings.__name__]
    installed = _Installed(definitions)
    model["properties"]["engine"] |= installed.engine()
    definitions[ChatSettings.__name__]["properties"]["frontend"] |= installed.frontend()
    title = "config.yaml of vllm-di"
    if is_overlay:
        title = "A file over a config.yaml of vllm-di"
        del schema["required"], model["required"]
        model["anyOf"] = [{"required": ["name"]}, {"required": ["names"]}]
        models = schema["properties"]["models"]
        schema["properties"]["models"] = _with_option(models, {"type": "null"})
    return {"$schema": DIALECT, **schema, "title": title}


class _Generator(GenerateJsonSchema):
    """pydantic's generator, without a title for every key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False


def _describe(schema: Schema, section: type[BaseModel]) -> None:
    schema["description"] = summary(section)
    descriptions = described_fields(section)
    for name, field in schema["properties"].items():
        field["description"] = descriptions[name]


def _loosened(field: Schema) -> Schema:
    """Allow a bare section, and a placeholder for a value that is no text."""
    options = field.get("anyOf", [field])
    types = {option.get("type") for option in options}
    if any("enum" in each for each in options) or types & _UNLIKE_TEXT:
        return _with_option(field, {"$ref": _REFERENCE.format("placeholder")})
    if any("$ref" in option for option in options):
        field.pop("default", None)  # the section's own keys have theirs
        return _with_option(field, {"type": "null"})
    return field


def _with_option(field: Schema, option: Schema) -> Schema:
    names = ("description", "default")
    about: Schema = {key: field[key] for key in names if key in field}
    rest = {key: value for key, value in field.items() if key not in about}
    options = [*rest.get("anyOf", [rest])]
    return {**about, "anyOf": [*options, *([] if option in options else [option])]}


class _Installed:
    """Schemas of vLLM's arguments and their nested configurations."""

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def engine(self) -> Schema:
        """Schema of the ``engine`` section."""
        return self._section(engine_arguments(), {*ELSEWHERE, *REFUSED})

    def frontend(self) -> Schema:
        """Schema of the ``chat.frontend`` section."""
        return self._section(engine_arguments() and frontend_arguments(), set())

    def _section(self, known: Mapping[str, Kind] | None, left_out: set[str]) -> Schema:
        if known is None:
            return {"type": ["object", "null"]}
        return {
            "type": ["object", "null"],
            "properties": {
                name: self._of(known[name]) for name in sorted({*known} - left_out)
            },
            "additionalProperties": False,
        }

    def _of(self, kind: Kind) -> Schema:
        options = [self._option(each) for each in options_of(kind)]
        shown = [each for each in options if each is not None]
        takes_text = any(each.get("type") == "string" for each in shown) or {} in shown
        is_scalar = any(isinstance(each, Scalar | Choice) for each in options_of(kind))
        if is_scalar and not takes_text:
            shown.append({"$ref": _REFERENCE.format("placeholder")})
        return shown[0] if len(shown) == 1 else {"anyOf": shown}

    def _option(self, kind: Kind) -> Schema | None:  # noqa: PLR0911  # one for each kind
        match kind:
            case Scalar():
                bounds = kind.range.schema() if kind.range else {}
                return {"type": _TYPES[kind.type], **bounds}
            case Choice():
                return _choice(kind)
            case Null():
                return {"type": "null"}
            case ListOf():
                return {"type": "array", "items": self._of(kind.item)}
            case MappingOf():
                return {"type": "object", "additionalProperties": self._of(kind.item)}
            case Record():
                return self._record(kind)
            case Opaque():
                return None
            case _:
                return {}

    def _record(self, kind: Record) -> Schema:
        if kind.name not in self._definitions:
            place: Schema = {"type": "object", "additionalProperties": False}
            self._definitions[kind.name] = place
            names = sorted(kind.fields)
            place["properties"] = {name: self._of(kind.fields[name]) for name in names}
        return {"$ref": _REFERENCE.format(kind.name)}


def _choice(kind: Choice) -> Schema:
    if not kind.ignores_case:
        return {"enum": list(kind.values)}
    return {"type": "string", "examples": list(kind.values)}
