"""Turns a GGUF file into a Hugging Face folder; run as a process of its own.

``python gguf_folder.py FILE FOLDER`` writes the model and tokenizer of FILE,
dequantized to bfloat16, into the existing FOLDER, and prints a line for each step. A
process of its own gives the memory back and can be ended. It needs no other module of
this project, and ends itself once its standard input closes, so that it does not
outlive whoever started it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Thread


def main() -> None:
    """Runs the conversion of the command line."""
    Thread(target=_end_with_parent, daemon=True).start()
    convert(Path(sys.argv[1]), Path(sys.argv[2]))


def convert(gguf: Path, folder: Path) -> None:
    """Writes the model and tokenizer in ``gguf`` into ``folder``."""
    _say("loading torch and transformers")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    where = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    _say("reading the tokenizer")
    AutoTokenizer.from_pretrained(**where).save_pretrained(folder)
    _say("reading the weights")
    model = AutoModelForCausalLM.from_pretrained(
        **where,
        dtype=torch.bfloat16,
        # transformers cannot save weights that are still quantized.
        quantization_config=GgufConfig(gguf_file=gguf.name, dequantize=True),
    )
    _say("writing the model")
    model.save_pretrained(folder)


def _end_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin, which would be locked at a normal exit
    os._exit(1)


def _say(step: str) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
