"""Where each vLLM name we use lives, one table for every supported release.

``NAMES`` is the newest release we serve; a release that keeps a name elsewhere says
so in ``MOVED``. Supporting another release is a small difference here.
"""

from __future__ import annotations

SUPPORTED_RELEASES = ("0.32",)
"""Release lines (major.minor) whose names, signatures and behaviour we know."""

NAMES: dict[str, str] = {
    # Configuration
    "AsyncEngineArgs": "vllm.engine.arg_utils",
    "UsageContext": "vllm.usage.usage_lib",
    "make_arg_parser": "vllm.entrypoints.launchers.cli_args",
    "FlexibleArgumentParser": "vllm.utils.argparse_utils",
    "import_plugin": "vllm.utils.import_utils",
    "get_memory_node_info": "vllm.utils.cpu_resource_utils",
    "get_visible_memory_node": "vllm.utils.cpu_resource_utils",
    # Tokenizer and templates
    "TokenizerLike": "vllm.tokenizers",
    "cached_tokenizer_from_config": "vllm.tokenizers.registry",
    "tokenizer_args_from_config": "vllm.tokenizers.registry",
    "HfTokenizer": "vllm.tokenizers.hf",
    "get_cached_tokenizer": "vllm.tokenizers.hf",
    "PROCESSOR_CHAT_TEMPLATES": "vllm.renderers.hf:_PROCESSOR_CHAT_TEMPLATES",
    "resolve_chat_template": "vllm.renderers.hf",
    "resolve_chat_template_content_format": "vllm.renderers.hf",
    # Renderers
    "BaseRenderer": "vllm.renderers",
    "RENDERER_REGISTRY": "vllm.renderers.registry",
    "OnlineRenderer": "vllm.renderers.online_renderer",
    "InputProcessor": "vllm.v1.engine.input_processor",
    # Engine
    "AsyncLLM": "vllm.v1.engine.async_llm",
    "EngineClient": "vllm.engine.protocol",
    "EngineDeadError": "vllm.v1.engine.exceptions",
    "EngineGenerateError": "vllm.v1.engine.exceptions",
    "VLLMClientError": "vllm.exceptions",
    "GracefulHTTPError": "vllm.exceptions",
    "QueueOverflowError": "vllm.exceptions",
    "VLLMValidationError": "vllm.exceptions",
    "LoRARequest": "vllm.lora.request",
    "PoolingParams": "vllm.pooling_params",
    "FaultToleranceRequest": "vllm.v1.fault_tolerance.utils",
    "FaultToleranceResult": "vllm.v1.fault_tolerance.utils",
    "PoolingRequestOutput": "vllm.outputs",
    "PoolingOutput": "vllm.outputs",
    "RequestOutput": "vllm.outputs",
    "CompletionOutput": "vllm.outputs",
    "Logprob": "vllm.logprobs",
    "RequestOutputKind": "vllm.sampling_params",
    "SamplingParams": "vllm.sampling_params",
    # Serving objects
    "BaseModelPath": "vllm.entrypoints.openai.models.protocol",
    "LoRAModulePath": "vllm.entrypoints.openai.models.protocol",
    "OpenAIServingModels": "vllm.entrypoints.openai.models.serving",
    "OpenAIServingChat": "vllm.entrypoints.openai.chat_completion.serving",
    "OpenAIServingCompletion": "vllm.entrypoints.openai.completion.serving",
    "ServingTokenization": "vllm.entrypoints.serve.tokenize.serving",
    "RequestLogger": "vllm.entrypoints.serve.utils.request_logger",
    "build_system_fingerprint": "vllm.entrypoints.serve.utils.fingerprint",
    # Requests and responses
    "ChatCompletionRequest": "vllm.entrypoints.openai.chat_completion.protocol",
    "ChatCompletionResponse": "vllm.entrypoints.openai.chat_completion.protocol",
    "CompletionRequest": "vllm.entrypoints.openai.completion.protocol",
    "CompletionResponse": "vllm.entrypoints.openai.completion.protocol",
    "TokenizeRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "TokenizeChatRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "TokenizeCompletionRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "TokenizeResponse": "vllm.entrypoints.serve.tokenize.protocol",
    "DetokenizeRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "DetokenizeResponse": "vllm.entrypoints.serve.tokenize.protocol",
    "ModelList": "vllm.entrypoints.serve.engine.protocol",
    "ErrorResponse": "vllm.entrypoints.serve.engine.protocol",
    # Errors and metrics
    "create_error_response": "vllm.entrypoints.serve.exception_handling.error_response",
    "validation_exception_handler": (
        "vllm.entrypoints.serve.exception_handling.handlers.validation"
    ),
    "get_prometheus_registry": "vllm.v1.metrics.prometheus",
}
"""Name to the module that defines it, in the newest supported release.

``module:attribute`` where vLLM calls the thing by another name than we do.
"""

MOVED: dict[str, dict[str, str]] = {}
"""Release line to the names that release keeps in another module than ``NAMES``."""
