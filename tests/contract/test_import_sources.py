"""``config import --from FILE``: what a file says is taken over, or it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from containers import Settings
from containers.errors import SettingsError
from containers.settings.migration import Imported, imported, line_of_file, line_of_text

Import = Callable[[str, str], tuple[dict[str, Any], Imported]]


@pytest.fixture
def importing(tmp_path: Path) -> Import:
    """Import a file of this name and text; what the config file says, and the rest."""

    def importing(name: str, text: str) -> tuple[dict[str, Any], Imported]:
        (tmp_path / name).write_text(text)
        found = imported(line_of_file(tmp_path / name))
        (tmp_path / "config.yaml").write_text(found.text)
        environment = {name: f"a-value-of-{name}" for name in found.variables}
        Settings.load(tmp_path / "config.yaml", environment=environment)
        return yaml.safe_load(found.text), found

    return importing


COMPOSE = """
services:
  web: {image: nginx, command: nginx -g 'daemon off;'}
  llm:
    image: vllm/vllm-openai:latest
    ports: ["9000:8000"]
    env_file: [secrets.env]
    environment:
      - HF_TOKEN=${HF_TOKEN}
      - VLLM_API_KEY=hunter2
      - TZ
    command: >
      --model ${MODEL:-Qwen/Qwen2.5-3B-Instruct}
      --served-model-name 'chat $$1' "$NAME"
      --gpu-memory-utilization 0.78
      --max-model-len ${LENGTH:-8192}
      --kv-transfer-config '{"kv_connector": "${CONNECTOR}", "kv_role": "kv_both"}'
"""


def test_a_compose_file(importing: Import) -> None:
    config, found = importing("compose.yaml", COMPOSE)
    (model,) = config["models"]
    assert model["source"] == "Qwen/Qwen2.5-3B-Instruct"
    assert model["names"] == ["chat $$1", "${NAME}"]
    assert model["engine"]["max_model_len"] == 8192
    assert model["engine"]["kv_transfer_config"]["kv_connector"] == "${CONNECTOR}"
    assert config["server"]["api_keys"] == ["${VLLM_API_KEY}"]
    assert {"NAME", "CONNECTOR", "VLLM_API_KEY"} == set(found.variables)
    assert "hunter2" not in found.text
    notes = "\n".join(found.notes)
    assert "MODEL is not in the command: its default is written" in notes
    assert "variables of secrets.env: give it to --env-file" in notes
    assert "HF_TOKEN, TZ, VLLM_API_KEY" in notes
    assert "the container's other keys stay in its own file" in notes


MANIFEST = """
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: sidecar
        image: envoy
        args: [--log, info]
      - name: engine
        image: vllm/vllm-openai:nightly
        command: [/bin/bash, -c, 'exec vllm serve "$@" $EXTRA', --]
        args:
        - /mnt
        - --ssl-keyfile
        - /certs/tls.key
        - --ssl-certfile
        - /certs/tls.crt
        - --enable-ssl-refresh
        - --served-model-name
        - kimi
        - model
        - --max-model-len=$(LENGTH)
        - --revision=$(REVISION)
        - --api-key=$(API_KEY)
        env:
        - {name: LENGTH, value: "249984"}
        - {name: EXTRA, value: --async-scheduling}
        - {name: API_KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}
---
apiVersion: v1
kind: Service
"""


def test_a_kubernetes_manifest(importing: Import) -> None:
    config, found = importing("deployment.yaml", MANIFEST)
    (model,) = config["models"]
    assert (model["names"], model["source"]) == (["kimi", "model"], "/mnt")
    assert model["engine"]["max_model_len"] == 249984
    assert model["engine"]["async_scheduling"] is True
    assert model["engine"]["revision"] == "${REVISION}"
    assert config["server"]["ssl_keyfile"] == "/certs/tls.key"
    assert config["server"]["api_keys"] == ["${API_KEY}"]
    assert set(found.variables) == {"REVISION", "API_KEY"}


def test_a_list_of_arguments(importing: Import) -> None:
    text = '["--model=org/m", "--port=8080", "--revision=$(REVISION)", "--seed", "$3"]'
    with pytest.raises(SettingsError, match="invalid int value"):
        importing("args.json", text)
    config, found = importing("args.json", text.replace("$3", "3"))
    assert config["models"][0]["source"] == "org/m"
    assert config["server"]["port"] == 8080
    assert set(found.variables) == {"REVISION"}


VLLM_YAML = """
model: "/srv/models/Kimi-K25/"
host: "0.0.0.0"
tensor-parallel-size: 8
swap-space: 0
served-model-name: "kimi $1"
compilation_config.cudagraph_mode: "FULL_DECODE_ONLY"
compilation_config.mode: "VLLM_COMPILE"
enable-chunked-prefill: false
enable_prefix_caching: false
disable-log-stats: false
enable-auto-tool-choice: true
tool-call-parser: "kimi_k2"
middleware: []
lora-modules: [one=org/one, two=org/two]
enable-lora: true
revision: ${NOT_FILLED}
"""


def test_the_yaml_of_vllm_itself(importing: Import) -> None:
    config, found = importing("kimi.yaml", VLLM_YAML)
    (model,) = config["models"]
    assert model["name"] == "kimi $$1"
    engine = model["engine"]
    assert engine["compilation_config"]["cudagraph_mode"] == "FULL_DECODE_ONLY"
    assert engine["enable_chunked_prefill"] is False
    assert engine["revision"] == "$${NOT_FILLED}"
    assert "enable_prefix_caching" not in engine
    assert [each["name"] for each in model["lora"]["modules"]] == ["one", "two"]
    notes = "\n".join(found.notes)
    for key in ("enable_prefix_caching", "disable-log-stats", "middleware"):
        assert f"{key} left out: vLLM itself reads no false" in notes
    assert "enable-chunked-prefill left out" not in notes
    assert "--swap-space and its value left out" in notes


SCRIPT = """#!/bin/bash
set -euo pipefail
cd "$(dirname "$0")"   # where the templates are
export VLLM_API_KEY=hunter2 CUDA_VISIBLE_DEVICES=0
MODEL=Qwen/Qwen3-8B
ARGS=(--never used)
pip install vllm torch transformers accelerate datasets sentencepiece
nohup vllm serve "$MODEL" \\
  --served-model-name "${NAME:-qwen}" qwen#3 'not $MODEL' \\
  --max-model-len 4096 --port ${PORT:-9000} \\
  # --quantization fp8
  --default-chat-template-kwargs '{"today": "${TODAY}"}' \\
  --revision "$REVISION" > server.log 2>&1 &
wait
"""


def test_a_shell_script(importing: Import) -> None:
    config, found = importing("serve.sh", SCRIPT)
    (model,) = config["models"]
    assert model["source"] == "Qwen/Qwen3-8B"
    assert model["names"] == ["qwen", "qwen#3", "not $$MODEL"]
    assert model["chat"]["default_chat_template_kwargs"] == {"today": "${TODAY}"}
    assert model["engine"]["revision"] == "${REVISION}"
    assert "quantization" not in model["engine"]
    assert config["server"]["port"] == 9000
    assert config["server"]["api_keys"] == ["${VLLM_API_KEY}"]
    assert set(found.variables) == {"REVISION", "VLLM_API_KEY"}
    assert "hunter2" not in found.text
    notes = "\n".join(found.notes)
    assert "other commands left out: cd, pip" in notes
    assert "PORT is not in the command: its default is written" in notes
    assert "variables to set for vllm-di serve as well: ARGS, CUDA" in notes


def test_a_variable_in_free_text_is_text_and_told(importing: Import) -> None:
    text = "vllm serve m --chat-template \"{{ '$WHO' }}\""
    config, found = importing("serve.sh", text)
    assert config["models"][0]["chat"]["template"] == "{{ '${WHO}' }}"
    note = "models[].chat.template has no variables: ${WHO} is text"
    assert note in found.notes
    assert "WHO" not in found.variables


DOCKER = """
docker run -d --rm --gpus '"device=0"' --shm-size=16g -v ~/cache:/cache \\
  -e HF_TOKEN=hunter2 -eTZ=UTC --env MODEL=org/m --env-file secrets.env \\
  -p 9000:8000 --entrypoint '' vllm/vllm-openai:v0.11.0 \\
  sh -c 'vllm serve $MODEL --chat-template ./chat.jinja --api-key "$KEY"'
"""


def test_a_docker_command_in_a_file(importing: Import) -> None:
    config, found = importing("run.txt", DOCKER)
    (model,) = config["models"]
    assert model["source"] == "org/m"
    assert model["chat"]["template"] == "./chat.jinja"
    assert config["server"]["api_keys"] == ["${KEY}"]
    assert "hunter2" not in found.text
    notes = "\n".join(found.notes)
    assert "docker publishes port 9000:8000; server.port is inside" in notes
    assert "variables of secrets.env: give it to --env-file" in notes
    assert "--gpus, --shm-size, -v" in notes
    assert "models[].chat.template is a path in the container: ./chat.jinja" in notes


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("--otlp-traces-endpoint=https://me:hunter2@host:4317", "OTLP_TRACES_ENDPOINT"),
        ("--otlp-traces-endpoint=https://hunter2@host", "OTLP_TRACES_ENDPOINT"),
        ("--otlp-traces-endpoint=https://h/?api_key=hunter2", "OTLP_TRACES_ENDPOINT"),
        (
            '--model-loader-extra-config={"s3": {"secret_access_key": "hunter2"}}',
            "MODEL_LOADER_EXTRA_CONFIG_S3_SECRET_ACCESS_KEY",
        ),
        (
            '--kv-transfer-config={"kv_connector_extra_config":{"redisPassword":"hunter2"}}',
            "KV_TRANSFER_CONFIG_KV_CONNECTOR_EXTRA_CONFIG_REDISPASSWORD",
        ),
        (
            '--hf-overrides={"auth": [{"apiKey": "hunter2"}]}',
            "HF_OVERRIDES_AUTH_APIKEY",
        ),
    ],
)
def test_nested_secrets_and_those_in_addresses_become_variables(
    word: str, name: str
) -> None:
    found = imported(line_of_text(f"vllm serve m '{word}'"))
    assert "hunter2" not in found.text
    assert list(found.variables) == [f"VLLM_{name}"]
    assert f"${{VLLM_{name}}}" in found.text


def test_what_only_looks_like_a_secret_stays() -> None:
    word = '--hf-overrides={"eos_token": "</s>", "token": ""}'
    found = imported(line_of_text(f"vllm serve m '{word}'"))
    assert "eos_token: </s>" in found.text
    assert not found.variables
