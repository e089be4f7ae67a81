"""Options that earlier releases of vLLM had, and what became of them."""

from __future__ import annotations

RETIRED: dict[str, tuple[bool, str]] = {
    "--disable-log-requests": (False, "requests are not logged unless asked for"),
    "--enable-reasoning": (False, "reasoning_parser alone turns it on"),
    "--use-v2-block-manager": (False, "there is one block manager now"),
    "--worker-use-ray": (False, "write distributed_executor_backend: ray"),
    "--engine-use-ray": (False, "write distributed_executor_backend: ray"),
    "--disable-frontend-multiprocessing": (False, "the engine is a process of its own"),
    "--multi-step-stream-outputs": (False, "there is no multi-step scheduling now"),
    "--enable-prompt-adapter": (False, "prompt adapters are gone"),
    "--task": (True, "write runner and convert"),
    "--swap-space": (True, "nothing is swapped out any more"),
    "--num-scheduler-steps": (True, "there is no multi-step scheduling now"),
    "--num-lookahead-slots": (True, "speculative_config says it"),
    "--preemption-mode": (True, "preempted requests are computed anew"),
    "--scheduler-delay-factor": (True, "the scheduler does not wait any more"),
    "--max-seq-len-to-capture": (True, "write max_cudagraph_capture_size"),
    "--rope-scaling": (True, "write hf_overrides"),
    "--rope-theta": (True, "write hf_overrides"),
    "--guided-decoding-backend": (True, "write structured_outputs_config.backend"),
    "--override-neuron-config": (True, "write additional_config"),
    "--speculative-model": (True, "write speculative_config.model"),
    "--num-speculative-tokens": (
        True,
        "write speculative_config.num_speculative_tokens",
    ),
    "--device": (True, "the build of vLLM says it"),
}
"""Each with whether it took a value, and with what to do instead."""
