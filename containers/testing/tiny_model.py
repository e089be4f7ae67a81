"""A model folder for tests, written on the spot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from containers.errors import InjectionError
from containers.testing.templates import CHATML

SPECIAL_TOKENS = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")
"""Special tokens of the tiny tokenizer; the place is the id."""

MIN_VOCAB_SIZE = 300
"""Room for 256 bytes, the special tokens and a few merges."""

_UNK, _BOS, _EOS = SPECIAL_TOKENS[:3]
_TURN_END = SPECIAL_TOKENS[4]
_CORPUS = (
    "You are a helpful assistant. Answer the question in one short sentence.",
    "What is the capital of France? The capital of France is Paris.",
    "What is the capital of Germany? The capital of Germany is Berlin.",
    "Count from one to ten: one, two, three, four, five, six, seven, eight, nine, ten.",
    "The quick brown fox jumps over the lazy dog while the small cat sleeps.",
    "Write a poem about the sea, the moon and the wind that carries the ships home.",
    "What is the weather in London today? It is raining, and the wind is cold.",
    "Please translate this text into English and explain every word that is rare.",
    'def add(first, second):\n    """Return the sum."""\n    return first + second\n',
    '{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}',
    "user\nHello! How are you?\nassistant\nI am fine, thank you. And you?\nsystem\n",
    "In 1969 people walked on the moon; in 2024 there were 8000000000 of us.",
)


def tiny_model(
    folder: str | Path,
    *,
    chat_template: str | Mapping[str, str] | None = CHATML,
    vocab_size: int = 1000,
    max_position_embeddings: int = 2048,
) -> Path:
    """Write a Hugging Face model folder without weights; no hub is asked.

    It holds a two-layer Llama configuration and a byte-level BPE tokenizer trained on
    a few built-in sentences, enough for everything but a real engine: tokenizer,
    template, renderer, serving objects. The same arguments give the same bytes.

    Args:
        folder: Where to write; made if need be, files of the same names replaced.
        chat_template: Jinja text; several by name, such as ``{"default": CHATML,
            "tool_use": TOOL_USE}``; or ``None`` for a model without one.
        vocab_size: Tokens at most, 300 or more; what the sentences do not fill stays
            without a text.
        max_position_embeddings: Longest prompt and answer together, in tokens.

    Returns:
        The folder.

    Raises:
        InjectionError: ``vocab_size`` is too small for the 256 bytes.
    """
    if vocab_size < MIN_VOCAB_SIZE:
        raise InjectionError(
            owner="tiny_model",
            argument="vocab_size",
            expected=f"{MIN_VOCAB_SIZE} or more",
            found=str(vocab_size),
            hint="Every byte and every special token needs a place.",
        )
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    _write(path / "config.json", _config(vocab_size, max_position_embeddings))
    _write(path / "generation_config.json", _token_ids())
    _write(
        path / "tokenizer_config.json",
        _tokenizer_config(chat_template, max_position_embeddings),
    )
    _train(vocab_size).save(str(path / "tokenizer.json"))
    return path


def _train(vocab_size: int) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=vocab_size,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[AddedToken(t, special=True) for t in SPECIAL_TOKENS],
    )
    tokenizer.train_from_iterator(_CORPUS, trainer)
    return tokenizer


def _config(vocab_size: int, max_position_embeddings: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "hidden_size": 64,
        "intermediate_size": 128,
        "max_position_embeddings": max_position_embeddings,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "vocab_size": vocab_size,
        **_token_ids(),
    }


def _token_ids() -> dict[str, int]:
    return {
        "bos_token_id": SPECIAL_TOKENS.index(_BOS),
        "eos_token_id": SPECIAL_TOKENS.index(_TURN_END),
        "pad_token_id": SPECIAL_TOKENS.index(_EOS),
    }


def _tokenizer_config(
    chat_template: str | Mapping[str, str] | None, max_position_embeddings: int
) -> dict[str, Any]:
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_position_embeddings,
        "clean_up_tokenization_spaces": False,
        "bos_token": _BOS,
        "eos_token": _TURN_END,
        "pad_token": _EOS,
        "unk_token": _UNK,
        "additional_special_tokens": [SPECIAL_TOKENS[3]],
    }
    if isinstance(chat_template, Mapping):
        config["chat_template"] = [
            {"name": name, "template": text} for name, text in chat_template.items()
        ]
    elif chat_template is not None:
        config["chat_template"] = chat_template
    return config


def _write(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")
