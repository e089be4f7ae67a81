"""Where each vLLM name we use lives, one table for every supported release.

``NAMES`` is the newest release we serve; ``MOVED`` tells what each release moved, and
so where the releases before it keep the name. Supporting another release is a small
difference here, in :mod:`containers.vllm_api.arguments` (how things are called) and in
:mod:`containers.vllm_api.behaviour` (what they do).
"""

from __future__ import annotations

SUPPORTED_RELEASES = ("0.31", "0.32", "0.33")
"""Release lines (major.minor) whose names, calls and behaviour we know, in order."""

NAMES: dict[str, str] = {
    # Configuration
    "AsyncEngineArgs": "vllm.engine.arg_utils",
    "UsageContext": "vllm.usage.usage_lib",
    "make_arg_parser": "vllm.entrypoints.common.cli_args",
    "FlexibleArgumentParser": "vllm.utils.argparse_utils",
    "import_plugin": "vllm.utils.import_utils",
    "current_platform": "vllm.platforms",
    "OMPProcessManager": "vllm.utils.ompmultiprocessing",
    "get_memory_node_info": "vllm.utils.cpu_resource_utils",
    "get_visible_memory_node": "vllm.utils.cpu_resource_utils",
    # Tokenizer and templates
    "TokenizerLike": "vllm.tokenizers",
    "cached_tokenizer_from_config": "vllm.tokenizers.registry",
    "tokenizer_args_from_config": "vllm.tokenizers.registry",
    "HfTokenizer": "vllm.tokenizers.hf",
    "get_cached_tokenizer": "vllm.tokenizers.hf",
    "ChatTemplateConfig": "vllm.renderers.chat_utils",
    "PROCESSOR_CHAT_TEMPLATES": "vllm.renderers.hf:_PROCESSOR_CHAT_TEMPLATES",
    "KNOWN_KEYWORDS": "vllm.utils.func_utils:_supports_kw",
    "resolve_chat_template": "vllm.renderers.hf",
    "safe_apply_chat_template": "vllm.renderers.hf",
    "ThreadSafeHFTokenizerMixin": "vllm.tokenizers.hf",
    "TokenizersBackend": "vllm.tokenizers.hf",
    "resolve_chat_template_content_format": "vllm.renderers.hf",
    # Renderers
    "HfRenderer": "vllm.renderers.hf",
    "BaseRenderer": "vllm.renderers",
    "RENDERER_REGISTRY": "vllm.renderers.registry",
    "OnlineRenderer": "vllm.renderers.online_renderer",
    "OnlineDerenderer": "vllm.renderers.online_derenderer",
    "InputProcessor": "vllm.v1.engine.input_processor",
    # Engine
    "AsyncLLM": "vllm.v1.engine.async_llm",
    "EngineCoreClient": "vllm.v1.engine.core_client",
    "Executor": "vllm.v1.executor",
    "configure_logging_if_needed": "vllm.logger",
    "init_tracer": "vllm.tracing",
    "load_stat_logger_plugin_factories": "vllm.v1.metrics.loggers",
    "maybe_register_config_serialize_by_value": "vllm.transformers_utils.config",
    "EngineClient": "vllm.engine.protocol",
    "EngineCoreOutputs": "vllm.v1.engine",
    "EngineCoreProc": "vllm.v1.engine.core",
    "MsgpackDecoder": "vllm.v1.serial_utils",
    "get_open_zmq_ipc_path": "vllm.utils.network_utils",
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
    "OpenAIServingChatBatch": "vllm.entrypoints.openai.chat_completion.batch_serving",
    "OpenAIServingResponses": "vllm.entrypoints.openai.responses.serving",
    "AnthropicServingMessages": "vllm.entrypoints.anthropic.serving",
    "CohereServingChatV2": "vllm.entrypoints.cohere.serving",
    "ServingRender": "vllm.entrypoints.scale_out.render.serving",
    "ServingDerender": "vllm.entrypoints.scale_out.derender.serving",
    "ServingTokens": "vllm.entrypoints.scale_out.token_in_token_out.serving",
    "ServingGenerativeScoring": "vllm.entrypoints.generate.generative_scoring.serving",
    "ServingStructuredDecisions": (
        "vllm.entrypoints.generate.structured_decisions.serving"
    ),
    "ReadContext": "vllm.entrypoints.openai.decisions.strategies",
    "select_read_strategy": "vllm.entrypoints.openai.decisions.strategies",
    "SpeechToTextBaseServing": "vllm.entrypoints.speech_to_text.base.serving",
    "OpenAIServingTranscription": (
        "vllm.entrypoints.speech_to_text.transcription.serving"
    ),
    "OpenAIServingTranslation": "vllm.entrypoints.speech_to_text.translation.serving",
    "OpenAIServingRealtime": "vllm.entrypoints.speech_to_text.realtime.serving",
    "RealtimeConnection": "vllm.entrypoints.speech_to_text.realtime.connection",
    "init_tool_server": "vllm.entrypoints.mcp.tool_server",
    "enable_scoring_api": "vllm.entrypoints.pooling.utils",
    "ServingEmbedding": "vllm.entrypoints.pooling.embed.serving",
    "ServingPooling": "vllm.entrypoints.pooling.pooling.serving",
    "ServingClassification": "vllm.entrypoints.pooling.classify.serving",
    "ServingScores": "vllm.entrypoints.pooling.scoring.serving",
    "OpenAIServingCompletion": "vllm.entrypoints.openai.completion.serving",
    "ServingTokenization": "vllm.entrypoints.serve.tokenize.serving",
    "RequestLogger": "vllm.entrypoints.serve.utils.request_logger",
    "build_system_fingerprint": "vllm.entrypoints.serve.utils.fingerprint",
    # Requests and responses
    "ChatCompletionRequest": "vllm.entrypoints.openai.chat_completion.protocol",
    "ChatCompletionResponse": "vllm.entrypoints.openai.chat_completion.protocol",
    "BatchChatCompletionRequest": "vllm.entrypoints.openai.chat_completion.protocol",
    "ResponsesRequest": "vllm.entrypoints.openai.responses.protocol",
    "ResponsesResponse": "vllm.entrypoints.openai.responses.protocol",
    "AnthropicMessagesRequest": "vllm.entrypoints.anthropic.protocol",
    "AnthropicMessagesResponse": "vllm.entrypoints.anthropic.protocol",
    "AnthropicCountTokensRequest": "vllm.entrypoints.anthropic.protocol",
    "AnthropicCountTokensResponse": "vllm.entrypoints.anthropic.protocol",
    "AnthropicError": "vllm.entrypoints.anthropic.protocol",
    "AnthropicErrorResponse": "vllm.entrypoints.anthropic.protocol",
    "CohereChatV2Request": "vllm.entrypoints.cohere.protocol",
    "CohereChatV2Response": "vllm.entrypoints.cohere.protocol",
    "GenerateRequest": "vllm.entrypoints.scale_out.token_in_token_out.protocol",
    "GenerateResponse": "vllm.entrypoints.scale_out.token_in_token_out.protocol",
    "DerenderChatRequestUnion": (
        "vllm.entrypoints.scale_out.token_in_token_out.protocol"
    ),
    "DerenderChatStreamResponse": (
        "vllm.entrypoints.scale_out.token_in_token_out.protocol"
    ),
    "DerenderCompletionRequestUnion": (
        "vllm.entrypoints.scale_out.token_in_token_out.protocol"
    ),
    "DerenderCompletionStreamResponse": (
        "vllm.entrypoints.scale_out.token_in_token_out.protocol"
    ),
    "GenerativeScoringRequest": "vllm.entrypoints.generate.generative_scoring.serving",
    "GenerativeScoringResponse": "vllm.entrypoints.generate.generative_scoring.serving",
    "StructuredDecisionRequest": (
        "vllm.entrypoints.generate.structured_decisions.protocol"
    ),
    "StructuredDecisionResponse": (
        "vllm.entrypoints.generate.structured_decisions.protocol"
    ),
    "TranscriptionRequest": "vllm.entrypoints.speech_to_text.transcription.protocol",
    "TranscriptionResponseVariant": (
        "vllm.entrypoints.speech_to_text.transcription.protocol"
    ),
    "TranslationRequest": "vllm.entrypoints.speech_to_text.translation.protocol",
    "TranslationResponseVariant": (
        "vllm.entrypoints.speech_to_text.translation.protocol"
    ),
    "read_upload_with_limit": "vllm.entrypoints.speech_to_text.base.utils",
    "CompletionRequest": "vllm.entrypoints.openai.completion.protocol",
    "CompletionResponse": "vllm.entrypoints.openai.completion.protocol",
    "EmbeddingRequest": "vllm.entrypoints.pooling.embed.protocol",
    "EmbeddingResponse": "vllm.entrypoints.pooling.embed.protocol",
    "CohereEmbedRequest": "vllm.entrypoints.pooling.embed.protocol",
    "CohereEmbedResponse": "vllm.entrypoints.pooling.embed.protocol",
    "PoolingRequest": "vllm.entrypoints.pooling.pooling.protocol",
    "PoolingResponse": "vllm.entrypoints.pooling.pooling.protocol",
    "ClassificationRequest": "vllm.entrypoints.pooling.classify.protocol",
    "ClassificationResponse": "vllm.entrypoints.pooling.classify.protocol",
    "ScoreRequest": "vllm.entrypoints.pooling.scoring.protocol",
    "ScoreResponse": "vllm.entrypoints.pooling.scoring.protocol",
    "RerankRequest": "vllm.entrypoints.pooling.scoring.protocol",
    "RerankResponse": "vllm.entrypoints.pooling.scoring.protocol",
    "TokenizeRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "TokenizeChatRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "TokenizeCompletionRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "TokenizeResponse": "vllm.entrypoints.serve.tokenize.protocol",
    "DetokenizeRequest": "vllm.entrypoints.serve.tokenize.protocol",
    "DetokenizeResponse": "vllm.entrypoints.serve.tokenize.protocol",
    "LoadLoRAAdapterRequest": "vllm.entrypoints.serve.lora.protocol",
    "UnloadLoRAAdapterRequest": "vllm.entrypoints.serve.lora.protocol",
    "StartProfileRequest": "vllm.entrypoints.serve.profile.api_router",
    "ModelList": "vllm.entrypoints.serve.engine.protocol",
    "ModelCard": "vllm.entrypoints.serve.engine.protocol",
    "ModelPermission": "vllm.entrypoints.serve.engine.protocol",
    "ErrorResponse": "vllm.entrypoints.serve.engine.protocol",
    # Administration
    "VllmConfig": "vllm.config",
    "environment_variables": "vllm.envs",
    "sleep_mode_operation_metrics": "vllm.entrypoints.serve.dev.sleep.metrics",
    # Errors and metrics
    "create_error_response": "vllm.entrypoints.serve.exception_handling.error_response",
    "validation_exception_handler": (
        "vllm.entrypoints.serve.exception_handling.handlers.validation"
    ),
    "get_prometheus_registry": "vllm.v1.metrics.prometheus",
    "metrics_header": "vllm.entrypoints.serve.utils.orca_metrics",
}
"""Name to the module that defines it, in the newest supported release.

``module:attribute`` where vLLM calls the thing by another name than we do.
"""

MOVED: dict[str, dict[str, str]] = {
    "0.33": {
        "ReadContext": "vllm.entrypoints.generate.structured_decisions.strategies",
        "select_read_strategy": (
            "vllm.entrypoints.generate.structured_decisions.strategies"
        ),
        "make_arg_parser": "vllm.entrypoints.launchers.cli_args",
    },
    "0.32": {
        "ChatTemplateConfig": "vllm.entrypoints.chat_utils",
    },
}
"""Release line to the names it moved, and where they were until then."""


ADDED: dict[str, frozenset[str]] = {
    "0.32": frozenset(
        {
            "ServingStructuredDecisions",
            "ReadContext",
            "select_read_strategy",
            "StructuredDecisionRequest",
            "StructuredDecisionResponse",
            "StartProfileRequest",
            "sleep_mode_operation_metrics",
        }
    ),
}
"""Release line to the names that came with it: :func:`containers.vllm_api.offers`."""


def came_with(name: str, line: str) -> str | None:
    """The later release line that a name came with; ``None`` if ``line`` has it."""
    later = later_than(line)
    return next((each for each in later if name in ADDED.get(each, ())), None)


def later_than(line: str) -> tuple[str, ...]:
    """Supported release lines after ``line``, in order; none after an unknown one."""
    known = SUPPORTED_RELEASES
    return known[known.index(line) + 1 :] if line in known else ()


def place_of(name: str, line: str) -> tuple[str, str]:
    """Module and attribute where a release line keeps a name of ``NAMES``."""
    moves = (MOVED.get(release, {}) for release in later_than(line))
    place = next((move[name] for move in moves if name in move), NAMES[name])
    module, _, attribute = place.partition(":")
    return module, attribute or name
