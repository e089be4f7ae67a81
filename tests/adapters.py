"""LoRA adapters as PEFT saves them, made in a test for a model that is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TARGETS = ("q_proj", "v_proj")


def adapter(
    folder: Path, model_folder: str | Path, *, rank: int = 8, strength: float = 1.0
) -> Path:
    """Save an adapter of a Llama-like model and return its folder.

    Args:
        folder: Where to.
        model_folder: The model, whose ``config.json`` says the shapes.
        rank: Rank of its matrices.
        strength: Standard deviation of their entries; 0 changes nothing.
    """
    import torch
    from safetensors.torch import save_file

    config = json.loads((Path(model_folder) / "config.json").read_text())
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {
            name: torch.randn(shape) * strength
            for name, shape in _shapes(config, rank).items()
        },
        folder / "adapter_model.safetensors",
    )
    write_config(folder, r=rank)
    return folder


def write_config(folder: Path, **changes: Any) -> None:
    """Write PEFT's ``adapter_config.json``."""
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "",
        "bias": "none",
        "r": 8,
        "lora_alpha": 16,
        "lora_dropout": 0.0,
        "target_modules": list(TARGETS),
        "inference_mode": True,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(config | changes))


def _shapes(config: dict[str, Any], rank: int) -> dict[str, tuple[int, int]]:
    hidden = config["hidden_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    outputs = {
        "q_proj": head * config["num_attention_heads"],
        "v_proj": head * config["num_key_value_heads"],
    }
    found = {}
    for layer in range(config["num_hidden_layers"]):
        for target in TARGETS:
            place = f"base_model.model.model.layers.{layer}.self_attn.{target}"
            found[f"{place}.lora_A.weight"] = (rank, hidden)
            found[f"{place}.lora_B.weight"] = (outputs[target], rank)
    return found
