"""Where each option of ``vllm serve`` is set here, or why it is not.

Every engine argument is a key of ``models[].engine`` by its own name, but for those of
:data:`ENGINE_ELSEWHERE`; the front-end options are told one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from containers.settings.engine import REFUSED


@dataclass(frozen=True, slots=True)
class Option:
    """One option of ``vllm serve``.

    Attributes:
        name: vLLM's name, that of its ``args`` attribute, such as ``chat_template``.
        key: Its key here, such as ``models[].chat.template``; empty if it has none.
        reason: Why it has none, or what is different here.
    """

    name: str
    key: str
    reason: str = ""

    @property
    def flag(self) -> str:
        """It as it is written on the command line."""
        return (
            "MODEL" if self.name == "model_tag" else f"--{self.name.replace('_', '-')}"
        )


def _server(*names: str) -> tuple[Option, ...]:
    return tuple(Option(name, f"server.{name}") for name in names)


def _chat(*names: str) -> tuple[Option, ...]:
    return tuple(Option(name, f"models[].chat.{name}") for name in names)


def _left_out(reason: str, *names: str) -> tuple[Option, ...]:
    return tuple(Option(name, "", reason) for name in names)


_ONE_ENGINE = "one process serves one engine; start more servers behind a balancer"

FRONT_END: tuple[Option, ...] = (
    Option("model_tag", "models[].source"),
    Option("host", "server.host", "127.0.0.1 unless it is set, not every network"),
    *_server("port", "uds", "root_path"),
    Option("uvicorn_log_level", "server.uvicorn_log_level", "warning unless it is set"),
    *_server("disable_uvicorn_access_log", "disable_access_log_for_endpoints"),
    Option(
        "h11_max_incomplete_event_size",
        "server.h11_max_incomplete_event_size",
        "set, it makes h11 the parser, so that it counts; it has no default",
    ),
    *_server("ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_cert_reqs"),
    *_server("ssl_ciphers", "enable_ssl_refresh"),
    *_server("allowed_origins", "allowed_methods", "allowed_headers"),
    *_server("allow_credentials"),
    Option(
        "api_key",
        "server.api_keys",
        "guards every path but the probes and open_paths, not four prefixes",
    ),
    Option("middleware", "server.middleware", "pure ASGI classes, no functions"),
    *_server("enable_request_id_headers", "disable_fastapi_docs"),
    *_server("enable_offline_docs"),
    Option(
        "enable_server_load_tracking",
        "server.enable_server_load_tracking",
        "without it there is no /load, rather than one that says 0",
    ),
    *_server("enable_tokenizer_info_endpoint", "sse_keep_alive_interval"),
    Option("chat_template", "models[].chat.template"),
    Option("chat_template_content_format", "models[].chat.content_format"),
    *_chat("trust_request_chat_template", "trust_request_mm_kwargs"),
    *_chat("default_chat_template_kwargs", "response_role"),
    *_chat("return_tokens_as_token_ids", "enable_auto_tool_choice"),
    *_chat("exclude_tools_when_tool_choice_none", "tool_call_parser"),
    *_chat("tool_parser_plugin", "tool_strict_level", "max_log_len"),
    *_chat("enable_prompt_tokens_details", "enable_per_request_metrics"),
    *_chat("enable_force_include_usage", "enable_log_outputs", "enable_log_deltas"),
    *_chat("tool_server", "anthropic_disabled_thinking_effort"),
    *_chat("log_error_stack", "fingerprint_mode", "fingerprint_value"),
    *_chat("enable_flash_late_interaction"),
    Option("lora_modules", "models[].lora.modules"),
    Option(
        "cohere_format",
        "models[].chat.default_chat_template_kwargs.cohere_format",
        "vLLM defines it as that template variable",
    ),
    Option("config", "", "vllm-di --config reads its own files"),
    Option("api_server_count", "server.frontends"),
    *_left_out(_ONE_ENGINE, "headless"),
    *_left_out(_ONE_ENGINE, "data_parallel_supervisor_port"),
    *_left_out(_ONE_ENGINE, "dp_supervisor_probe_interval_s"),
    *_left_out(_ONE_ENGINE, "dp_supervisor_probe_timeout_s"),
    *_left_out(_ONE_ENGINE, "dp_supervisor_probe_failure_threshold"),
    *_left_out("HTTP is served, no gRPC", "grpc", "grpc_port"),
    Option(
        "h11_max_header_count",
        "",
        "uvicorn does not read it, so in vLLM it has no effect either",
    ),
    *_server("enable_scale_out"),
    *_chat("cohere_is_reasoning_model"),
)
"""Options of vLLM's front end."""

ENGINE_ELSEWHERE: tuple[Option, ...] = (
    Option("model", "models[].source"),
    Option("served_model_name", "models[].names", "or name, if it is one"),
    Option("shutdown_timeout", "server.drain_timeout_s", "the server drains requests"),
    *(
        Option(name, "", reason)
        for name, reason in REFUSED.items()
        if name != "shutdown_timeout"
    ),
)
"""Engine arguments that are no key of ``models[].engine``."""


def option_table() -> str:
    """The options as a table in Markdown."""
    rows = [*FRONT_END, *ENGINE_ELSEWHERE]
    lines = ["| `vllm serve` | key here | remark |", "|---|---|---|"]
    for option in sorted(rows, key=lambda each: each.flag):
        key = f"`{option.key}`" if option.key else "none"
        lines.append(f"| `{option.flag}` | {key} | {option.reason} |")
    return "\n".join(lines)
