"""A newer vLLM's front-end arguments are accepted before this project knows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from containers.errors import SettingsError
from containers.settings import ModelSettings
from containers.settings.frontend import frontend_arguments
from containers.settings.kinds import kind_of_section
from containers.settings.schema import json_schema
from containers.vllm_api import declarations, front_end
from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.names import place_of

LINE = "0.33"
FILES = {
    "make_arg_parser": """
class BaseFrontendArgs:
    response_role: str = "assistant"
    brevity: int | None = None
    styles: list[str] | None = None

class FrontendArgs(BaseFrontendArgs):
    port: int = 8000
    http_trick: bool = False
""",
    "AsyncEngineArgs": """
class AsyncEngineArgs:
    max_model_len: int | None = None
    fresh_argument: float = 0.0
""",
    "OnlineRenderer": """
class OnlineRenderer:
    def __init__(self, model_config, renderer, *, styles=None): ...
""",
    "OpenAIServingChat": """
class OpenAIServingChat:
    def __init__(self, engine_client, models, response_role, *, brevity=None): ...
""",
}


def forget() -> None:
    for cached in (
        engine_arguments,
        kind_of_section,
        front_end.passed_on_arguments,
        declarations.declared_fields,
        declarations._module,
    ):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def newer_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A vLLM with arguments that nobody has heard of."""
    for name, text in FILES.items():
        module, _ = place_of(name, LINE)
        file = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(declarations, "package_folder", lambda: tmp_path / "vllm")
    monkeypatch.setattr(front_end, "nearest_line", lambda: LINE)
    forget()
    yield
    forget()


def settings(**chat: Any) -> ModelSettings:
    return ModelSettings.model_validate({"name": "m", "source": "s", "chat": chat})


def test_an_argument_that_an_object_takes_is_accepted() -> None:
    assert set(frontend_arguments()) == {"brevity", "styles"}
    found = settings(frontend={"brevity": 3, "styles": ["plain"]})
    assert found.chat.frontend == {"brevity": 3, "styles": ["plain"]}


def test_an_engine_argument_is_accepted() -> None:
    values = {"name": "m", "source": "s", "engine": {"fresh_argument": 0.5}}
    assert ModelSettings.model_validate(values).engine == {"fresh_argument": 0.5}


@pytest.mark.parametrize(
    ("frontend", "says"),
    [
        ({"brevty": 3}, "chat.frontend.brevty: unknown key. Did you mean brevity?"),
        ({"brevity": "x"}, "chat.frontend.brevity: takes a whole number"),
        ({"styles": [1]}, "chat.frontend.styles.0: takes text"),
        (
            {"response_role": "x"},
            "is not set here. Write it as models[].chat.response_role.",
        ),
    ],
)
def test_its_name_and_type_are_checked(frontend: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(frontend=frontend)
    assert says in str(caught.value)


def test_one_that_no_object_takes_is_unknown() -> None:
    with pytest.raises(SettingsError, match=r"chat\.frontend\.http_trick: unknown key"):
        settings(frontend={"http_trick": True})


def test_only_the_objects_that_take_it_are_given_it() -> None:
    from containers.serving.options import passed_on

    class Chat:
        def __init__(self, *, brevity: int) -> None: ...

    chat = settings(frontend={"brevity": 3, "styles": []}).chat
    assert passed_on(chat, of=Chat) == {"brevity": 3}


def test_editors_are_told() -> None:
    section = json_schema()["$defs"]["ChatSettings"]["properties"]["frontend"]
    assert set(section["properties"]) == {"brevity", "styles"}
    assert section["additionalProperties"] is False


def test_it_is_shown_and_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "models: [{name: m, source: s, chat: {frontend: {brevity: '${BREVITY}'}}}]\n"
    )
    monkeypatch.setenv("BREVITY", "3")
    assert main(["config", "show", "--config", str(config)]) == 0
    assert "brevity: 3" in capsys.readouterr().out
