"""Options that this vLLM does not have: told, never dropped in silence."""

from __future__ import annotations

import pytest
import yaml

from containers.settings.migration import imported, line_of_text
from containers.settings.migration.retired import RETIRED
from containers.vllm_api.behaviour import behaviour
from containers.vllm_api.serve_arguments import flags

PAIRED = {"--disable-log-requests"}
REVIVED = PAIRED if behaviour().pairs_enable_with_disable else set[str]()
"""Options that were gone and are there again, as the contrary of another one."""

OF_EARLIER_RELEASES = {
    # https://github.com/vllm-project/vllm/issues/17739
    (
        "docker run --ipc=host --log-opt max-size=10m --rm -it --gpus '\"device=0\"' "
        "--env VLLM_USE_V1=0 -p 8000:8000 vllm/vllm-openai:v0.8.5 "
        "--model swift/Qwen3-30B-A3B-AWQ --max-model-len 4000 --dtype half "
        "--gpu-memory-utilization 0.92 --disable-log-requests "
        "--no-enable-prefix-caching -q awq --tensor-parallel-size 1"
    ): ["--disable-log-requests"],
    # https://github.com/vllm-project/vllm/issues/17609
    (
        "docker run -itd --gpus '\"device=4,5,6,7\"' --shm-size=128g "
        "-e NCCL_DEBUG=INFO -p 8000:8000 vllm/vllm-openai:v0.8.5.post1 "
        "--model /models/Qwen3-32B/ --served-model-name helium "
        "--disable-log-requests --max-model-len 16384 "
        "--pipeline-parallel-size 1 --enable-auto-tool-choice "
        "--tool-call-parser hermes --enable-reasoning --reasoning-parser qwen3"
    ): ["--disable-log-requests", "--enable-reasoning"],
    # https://github.com/vllm-project/vllm/issues/7456
    (
        "vllm serve /models/Meta-Llama-3.1-405B-Instruct -tp 8 -pp 2 "
        "--speculative-model /models/Meta-Llama-3.1-8B-Instruct "
        "--use-v2-block-manager --num-speculative-tokens 5"
    ): [
        "--speculative-model",
        "--use-v2-block-manager",
        "--num-speculative-tokens",
    ],
    # https://github.com/vllm-project/vllm/issues/35603
    (
        "vllm serve --model /data/model/Qwen3-VL-Embedding-8B --task embedding "
        "--host 0.0.0.0 --port 8011 --max-model-len 8192 --enforce-eager"
    ): ["--task"],
    # https://github.com/vllm-project/recipes/pull/856
    (
        "vllm serve Qwen/Qwen3.8-Flash-Next-FP8 --tensor-parallel-size 4 "
        '--rope-scaling \'{"rope_type":"yarn","factor":4.0,'
        '"original_max_position_embeddings":262144}\''
    ): ["--rope-scaling"],
    # https://github.com/vllm-project/vllm/issues/13669
    (
        "nohup vllm serve Qwen/Qwen2.5-32B-Instruct --api-key hunter2 --enable-lora "
        "--lora-path hunter2/llama-2-7b-sql-lora-test --max-loras 1 > log.txt 2>&1 &"
    ): ["--lora-path"],
}


@pytest.mark.parametrize("text", OF_EARLIER_RELEASES)
def test_a_public_line_of_an_earlier_release(text: str) -> None:
    found = imported(line_of_text(text))
    told = [note.split()[0] for note in found.notes if "vLLM has" in note]
    assert told == [each for each in OF_EARLIER_RELEASES[text] if each not in REVIVED]
    assert "hunter2" not in found.text
    (model,) = yaml.safe_load(found.text)["models"]
    assert model["source"] in text


@pytest.mark.parametrize("flag", sorted(set(RETIRED) - REVIVED))
def test_a_retired_option_is_told_with_what_to_do_instead(flag: str) -> None:
    takes_value, advice = RETIRED[flag]
    value = " 1" if takes_value else ""
    found = imported(line_of_text(f"vllm serve {flag}{value} org/m --seed 3"))
    (note,) = [each for each in found.notes if each.startswith(flag)]
    what = f"{flag} and its value" if takes_value else flag
    assert note == f"{what} left out: this vLLM has it no more; {advice}"
    (model,) = yaml.safe_load(found.text)["models"]
    assert (model["source"], model["engine"]["seed"]) == ("org/m", 3)


def test_the_table_holds_only_what_is_gone_and_points_to_what_is_there() -> None:
    known = flags()
    assert set(RETIRED) & set(known) == REVIVED
    names = {flag.name for flag in known.values()}
    for _, advice in RETIRED.values():
        if advice.startswith("write "):
            written = advice.removeprefix("write ").split(":")[0].split(" and ")
            assert {name.split(".")[0] for name in written} <= names


def test_neither_the_value_of_an_unknown_option_nor_of_a_file_is_told() -> None:
    text = "vllm serve m --new-token hunter2 --new_key=hunter2 --other hunter2 hunter2"
    found = imported(line_of_text(text))
    told = [note for note in found.notes if "vLLM has no such option" in note]
    assert [note.split(" left out")[0] for note in told] == [
        "--new-token and its value",
        "--new-key",
        "--other and the 2 words after it",
    ]
    assert "hunter2" not in "".join([found.text, *found.notes])
