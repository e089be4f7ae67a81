"""What an engine yields, as JSON and back: token ids, texts, logprobs, vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from containers import vllm_api
from containers.testing.cassettes.plain import Plain, plain
from containers.testing.requests import RecordedRequest

# Times are those of one run; the rest a replay takes from the request it answers.
_LEFT_OUT = frozenset({"request_id", "metrics", "lora_request", "weight_versions"})
_OF_THE_REQUEST = ("prompt", "prompt_token_ids")
_LOGPROBS = frozenset({"logprobs", "prompt_logprobs"})
_OUTPUT = frozenset(
    {
        "prompt_logprobs",
        "num_cached_tokens",
        "num_cache_creation_tokens",
        "encoder_prompt",
        "encoder_prompt_token_ids",
        "kv_transfer_params",
        "ec_transfer_params",
        *_OF_THE_REQUEST,
    }
)
_COMPLETION = frozenset(
    {
        "index",
        "text",
        "token_ids",
        "cumulative_logprob",
        "logprobs",
        "finish_reason",
        "stop_reason",
    }
)


def as_json(output: Any, request: RecordedRequest) -> Plain:
    """A ``RequestOutput`` or ``PoolingRequestOutput``, without what is not said.

    Raises:
        ValueError: It holds something that a cassette cannot, which is named.
    """
    if not isinstance(output, vllm_api.RequestOutput):
        return _vector_as_json(output)
    found = _fields(output, _OUTPUT, apart={"outputs", "finished"})
    for name in _OF_THE_REQUEST:
        said, asked = found.pop(name, None), plain(getattr(request, name))
        if said != asked:
            found[name] = said
    if output.finished:
        found["finished"] = True
    found["outputs"] = [_completion_as_json(each) for each in output.outputs]
    return found


def from_json(found: Plain, request: RecordedRequest) -> Any:
    """The output again, with the ids of the request it answers now."""
    if "data" in found:
        return _vector_from_json(found, request)
    whole: Plain = {
        "prompt": request.prompt,
        "prompt_token_ids": list(request.prompt_token_ids),
        "prompt_logprobs": None,
        "finished": False,
        **{name: found[name] for name in found if name != "delay_s"},
    }
    whole["outputs"] = [_completion_from_json(each) for each in whole["outputs"]]
    whole["prompt_logprobs"] = _logprobs_from_json(whole["prompt_logprobs"])
    return vllm_api.RequestOutput(
        request_id=request.request_id, lora_request=request.lora_request, **whole
    )


def _completion_as_json(completion: Any) -> Plain:
    found = _fields(completion, _COMPLETION)
    if not found["index"]:
        del found["index"]
    return found


def _completion_from_json(found: Plain) -> Any:
    whole: Plain = {"index": 0, "cumulative_logprob": None, "logprobs": None, **found}
    whole["logprobs"] = _logprobs_from_json(whole["logprobs"])
    if isinstance(whole["cumulative_logprob"], str):
        whole["cumulative_logprob"] = float(whole["cumulative_logprob"])
    return vllm_api.CompletionOutput(**whole)


def _fields(output: Any, known: Iterable[str], apart: Iterable[str] = ()) -> Plain:
    found = {}
    for name, value in vars(output).items():
        if value is None or name in _LEFT_OUT or name in apart:
            continue
        if name not in known:
            raise ValueError(f"a cassette cannot hold {name}")
        found[name] = _logprobs_as_json(value) if name in _LOGPROBS else plain(value)
    return found


def _logprobs_as_json(positions: Iterable[Any]) -> list[Any]:
    return [
        None
        if position is None
        else [
            [token_id, plain(each.logprob), each.rank, each.decoded_token]
            for token_id, each in position.items()
        ]
        for position in positions
    ]


def _logprobs_from_json(positions: Any) -> Any:
    if positions is None:
        return None
    return [
        None
        if position is None
        else {
            token_id: vllm_api.Logprob(
                logprob=float(logprob), rank=rank, decoded_token=text
            )
            for token_id, logprob, rank, text in position
        }
        for position in positions
    ]


def _vector_as_json(output: Any) -> Plain:
    data = output.outputs.data
    return {
        "data": data.float().tolist(),
        "dtype": str(data.dtype).removeprefix("torch."),
        "num_cached_tokens": output.num_cached_tokens,
    }


def _vector_from_json(found: Plain, request: RecordedRequest) -> Any:
    import torch

    data = torch.tensor(found["data"], dtype=getattr(torch, found["dtype"]))
    return vllm_api.PoolingRequestOutput(
        request_id=request.request_id,
        outputs=vllm_api.PoolingOutput(data=data),
        prompt_token_ids=list(request.prompt_token_ids),
        num_cached_tokens=found["num_cached_tokens"],
        finished=True,
    )
