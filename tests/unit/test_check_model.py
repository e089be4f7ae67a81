"""``vllm-di check``: what it says of weights, memory, template and adapters."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import constants

from app.checks import Report, memory
from app.checks.files import check_files
from app.checks.memory import check_memory, check_weights
from containers import ModelSettings
from containers.source import Weights, weights_in

INDEX = "model.safetensors.index.json"
Check = Callable[[Report], Any]


def said(check: Check) -> str:
    """What a check prints."""
    stream = io.StringIO()
    check(Report(stream))
    return stream.getvalue()


def model(**keys: Any) -> ModelSettings:
    return ModelSettings.model_validate({"name": "m", "source": "org/model", **keys})


def files(settings: ModelSettings) -> str:
    return said(lambda report: check_files(settings, report, prefix="", key="models.0"))


def weights(folder: Path, **engine: Any) -> str:
    settings = model(engine=engine)
    return said(lambda report: check_weights(settings, str(folder), report, prefix=""))


def write_weights(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"1234")


def test_weights_are_those_of_the_index(tmp_path: Path) -> None:
    write_weights(tmp_path, "a.safetensors", "b.safetensors", "other.safetensors")
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (tmp_path / INDEX).write_text(json.dumps(index))
    assert weights_in(tmp_path) == Weights(2, 8)


def test_weights_that_are_there_twice_count_once(tmp_path: Path) -> None:
    write_weights(tmp_path, "consolidated.safetensors", "model.safetensors", "x.bin")
    assert weights_in(tmp_path) == Weights(1, 4)


def test_weights_that_are_missing_fail_the_check(tmp_path: Path) -> None:
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (tmp_path / INDEX).write_text(json.dumps(index))
    (tmp_path / "a.safetensors").symlink_to("absent-blob")
    text = weights(tmp_path)
    assert text.startswith("failed")
    assert f"a.safetensors and 1 more are missing in {tmp_path}" in text


def test_a_folder_without_weights_fails_the_check(tmp_path: Path) -> None:
    assert "no weights in" in weights(tmp_path)
    assert weights(tmp_path, load_format="dummy").startswith("ok")
    assert weights(tmp_path, load_format="tensorizer").startswith("not tried")


@pytest.mark.parametrize(
    ("content", "outcome"),
    [("{{ messages }}\n", "ok"), (None, "No such file"), (" \n", "is empty")],
)
def test_a_template_file_is_read(
    content: str | None, outcome: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.jinja"
    if content is not None:
        path.write_text(content)
    text = files(model(chat={"template": str(path)}))
    assert outcome in text
    assert str(path) in text


def test_a_template_that_is_text_is_no_file() -> None:
    assert files(model(chat={"template": "/{{ messages }}"})) == ""


def adapter(tmp_path: Path, rank: int, *, whole: bool = True, **engine: Any) -> str:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": rank}))
    if whole:
        (tmp_path / "adapter_model.safetensors").touch()
    modules = [{"name": "sql", "path": str(tmp_path)}]
    return files(
        model(engine={"enable_lora": True, **engine}, lora={"modules": modules})
    )


def test_an_adapter_is_looked_into(tmp_path: Path) -> None:
    text = adapter(tmp_path, 16, whole=False)
    assert f"{tmp_path} has no adapter_model.safetensors" in text
    assert f"folder {tmp_path}, rank 16" in adapter(tmp_path, 16)


def test_an_adapter_of_too_high_a_rank_fails_the_check(tmp_path: Path) -> None:
    text = adapter(tmp_path, 32)
    assert text.startswith("failed")
    assert "models.0.lora.modules.0.path: the adapter has rank 32" in text
    assert adapter(tmp_path, 32, max_lora_rank=32).startswith("ok")


def test_an_absent_adapter_fails_the_check_only_if_it_cannot_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    modules = [{"name": "sql", "path": "org/adapter"}]
    settings = model(engine={"enable_lora": True}, lora={"modules": modules})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert files(settings).startswith("ok")
    assert "not in the cache: the first start fetches it" in files(settings)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert files(settings).startswith("failed")


class Model(SimpleNamespace):
    """A configuration of plain full attention: 4 KiB of KV cache a token."""

    def get_num_kv_heads(self, _: Any) -> int:
        return 2

    def get_head_size(self) -> int:
        return 64

    def get_num_layers(self, _: Any) -> int:
        return 8

    def get_sliding_window(self) -> None:
        return None


def config(device: str, kv_cache: int | None, **text: Any) -> Any:
    """A configuration of 1,024 tokens, which take 4 MiB of KV cache."""
    return SimpleNamespace(
        device_config=SimpleNamespace(device_type=device),
        cache_config=SimpleNamespace(
            cache_dtype="auto",
            gpu_memory_utilization=0.5,
            kv_cache_memory_bytes=kv_cache,
        ),
        parallel_config=SimpleNamespace(
            tensor_parallel_size=2,
            pipeline_parallel_size=1,
            decode_context_parallel_size=1,
        ),
        model_config=Model(
            original_max_model_len=None,
            max_model_len=1024,
            dtype=SimpleNamespace(itemsize=2),
            hf_text_config=SimpleNamespace(**text),
            use_mla=False,
            is_hybrid=False,
            is_attention_free=False,
        ),
    )


GIB, MIB = 2**30, 2**20


@pytest.mark.parametrize(
    ("kv_cache", "n_bytes", "outcome"),
    [
        (4 * MIB, GIB, "ok"),
        (4 * MIB - 1, GIB, "a request of 1024 tokens takes 4.0 MiB of KV cache"),
        (
            GIB,
            6 * GIB,
            "weights 6.00 GiB and KV cache 1.00 GiB: more than the 6.00",
        ),
        (None, GIB, "engine.gpu_memory_utilization 0.5 of 8.00 GiB, 4.00 GiB, holds"),
        (None, 5 * GIB, "weights of 5.00 GiB: more than the 4.00 GiB"),
    ],
)
def test_on_a_cpu_weights_and_kv_cache_are_compared_with_what_is_free(
    kv_cache: int | None,
    n_bytes: int,
    outcome: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "cpu_memory_bytes", lambda: (8 * GIB, 6 * GIB))
    text = said(
        lambda report: check_memory(
            config("cpu", kv_cache), Weights(1, n_bytes), report, prefix=""
        )
    )
    assert outcome in text


def on_gpu(kv_cache: int | None, **text: Any) -> str:
    return said(
        lambda report: check_memory(
            config("cuda", kv_cache, **text), Weights(1, 8 * GIB), report, prefix=""
        )
    )


def test_on_a_gpu_it_says_what_only_the_gpu_knows() -> None:
    found, left_open = on_gpu(None).splitlines()
    assert found.split(maxsplit=2)[:2] == ["ok", "memory"]
    assert "about 4.00 GiB of each of 2 GPU" in found
    assert left_open.startswith("not tried")
    assert left_open.endswith("known on the GPU alone")


def test_a_kv_cache_too_small_for_one_request_fails_on_a_gpu_too() -> None:
    assert on_gpu(MIB).startswith("failed")


def test_a_model_with_windows_is_not_judged_by_full_attention() -> None:
    assert on_gpu(MIB, layer_types=["sliding_attention"]).startswith("ok")
