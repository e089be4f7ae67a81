"""Command lines of public deployments mean the same as the config files made of them.

vLLM's own parser is the judge. Hosts, names and secrets in the lines are replaced.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from containers import Settings, vllm_api
from containers.settings.engine import revealed
from containers.settings.migration import exported, imported, line_of_text
from containers.vllm_api.configuration import create_vllm_config

FOLDER = Path(__file__).parent / "command_lines"


def lines_of(name: str) -> list[str]:
    lines = (FOLDER / name).read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


PUBLIC = lines_of("public.txt")
SECRETS = {"secret-one", "secret-two", "secret-in-docker"}


def parse(words: list[str]) -> Namespace:
    """What vLLM itself makes of a line, as ``vllm serve`` and the module do."""
    parser = vllm_api.FlexibleArgumentParser(prog="vllm serve")
    if words[:1] == ["serve"]:
        parser.add_argument("subcommand")
    found: Namespace = vllm_api.make_arg_parser(parser).parse_args(words)
    found.model = found.model_tag or found.model
    return found


def compared(found: Namespace) -> dict[str, Any]:
    """A line's namespace, with the few spellings that mean the same made one."""
    values = {**vars(found), "model_tag": None, "subcommand": None}
    values["host"] = found.host or "0.0.0.0"  # noqa: S104  # what vLLM makes of none
    values["served_model_name"] = found.served_model_name or [found.model]
    values["optimization_level"] = int(found.optimization_level)
    values["enable_lora"] = found.enable_lora or None
    values["lora_modules"] = found.lora_modules or None
    return values


def load(text: str, folder: Path, environment: dict[str, str]) -> Settings:
    (folder / "config.yaml").write_text(text)
    return Settings.load(folder / "config.yaml", environment=environment)


def round_trip(settings: Settings, environment: dict[str, str]) -> list[str]:
    """The words a shell makes of the exported line."""
    text = exported(settings).text.replace("\\\n", " ")
    for name, value in environment.items():
        text = text.replace(f'"${name}"', shlex.quote(value))
    return shlex.split(text)[1:]


@pytest.fixture
def arguments_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop where the engine arguments are made, before a model's files are read."""
    monkeypatch.setattr("uuid.uuid4", lambda: UUID(int=0))  # of an engine_id
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(
        vllm_api.AsyncEngineArgs, "create_engine_config", lambda self, **_: self
    )


def test_there_are_twenty_and_each_says_where_it_stands() -> None:
    assert len(set(PUBLIC)) >= 20
    lines = (FOLDER / "public.txt").read_text().splitlines()
    for line in PUBLIC:
        source = lines[lines.index(line) - 1]
        assert source.startswith("# https://github.com/")


@pytest.mark.usefixtures("arguments_only")
@pytest.mark.parametrize("text", [*PUBLIC, *lines_of("more.txt")])
def test_a_public_line_and_its_config_file_are_equal(  # noqa: C901  # one proof
    text: str, tmp_path: Path
) -> None:
    line = line_of_text(text)
    there = parse(list(line.words))
    found = imported(line)
    assert not any(secret in found.text for secret in SECRETS)
    keys = there.api_key or [line.environment.get("VLLM_API_KEY")]
    environment = dict(zip(found.variables, map(str, keys), strict=False))
    settings = load(found.text, tmp_path, environment)
    model = settings.models[0]
    engine = create_vllm_config(
        model=there.model if Path(model.source).is_absolute() else model.source,
        served_model_name=there.served_model_name or model.names,
        arguments=revealed(model.engine),
    )
    real = vllm_api.AsyncEngineArgs.from_cli_args(there)
    for name in (each.name for each in fields(real)):
        ours, theirs = getattr(engine, name), getattr(real, name)
        if name in {"enable_lora", "reasoning_parser_plugin"}:
            ours, theirs = ours or None, theirs or None  # the same to vLLM
        if name == "served_model_name":
            theirs = theirs or [there.model]
        if name == "optimization_level":
            ours, theirs = int(ours), int(theirs)
        if name != "shutdown_timeout":  # it is the server's here
            assert ours == theirs, name
    again = compared(parse(round_trip(settings, environment)))
    wanted = compared(there)
    if there.api_key is None and "VLLM_API_KEY" in line.environment:
        wanted["api_key"] = [line.environment["VLLM_API_KEY"]]
    for name in ("model", "chat_template"):
        if wanted[name] and again[name] != wanted[name]:
            assert Path(again[name]) == tmp_path / wanted[name]
            again[name] = wanted[name]
    assert again == wanted
