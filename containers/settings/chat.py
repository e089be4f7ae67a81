"""The ``chat`` section: what ``vllm serve`` calls its front-end arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from containers.settings.frontend import checked_frontend
from containers.settings.problems import Problems, refuse, refuse_keys
from containers.settings.section import BARE_AS_EMPTY, NonEmpty, Section


def _template(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise refuse(
            "is empty", "Write null to use the template of the model's tokenizer."
        )
    return value


class ChatSettings(Section):
    """How chat requests become prompts, and answers become messages.

    Names and defaults are those of ``vllm serve``, without the ``chat_template_`` that
    the section's own name already says.

    Attributes:
        template: ``None`` for the tokenizer's own template; else the path of a file,
            the name of one of the tokenizer's named templates, or the Jinja text.
        require_chat_template: Whether a model without any template fails to start
            (otherwise only its chat requests fail).
        content_format: How a template is handed message content: ``string``,
            ``openai`` (a list of parts), or ``auto``, found out from the template.
        response_role: Role of the messages the model answers with.
        trust_request_chat_template: Whether a request may bring its own template.
        trust_request_mm_kwargs: Whether a request may set how its images and sounds are
            processed.
        default_chat_template_kwargs: Variables for the template; a request's win.
        enable_auto_tool_choice: Whether the model may call tools by its own choice;
            needs ``tool_call_parser``.
        tool_call_parser: vLLM's parser that reads tool calls from the model's text.
        tool_parser_plugin: Path of a Python file that registers further such parsers.
        tool_strict_level: Which tool calls are held to their form: ``auto`` as requests
            say, ``function`` every call's frame, ``parameter`` its arguments too;
            ``None`` for the tool parser's own level, which mostly is ``auto``.
        exclude_tools_when_tool_choice_none: Whether ``tool_choice: none`` also keeps
            the tools out of the prompt.
        reasoning_parser: vLLM's parser that reads the reasoning from the text.
        enable_prompt_tokens_details: Whether usage tells cached prompt tokens.
        enable_force_include_usage: Whether every answer, streamed too, has its usage.
        enable_per_request_metrics: Whether every answer tells its times; needs the
            engine's statistics.
        return_tokens_as_token_ids: Whether logprobs show ``token_id:N`` for text.
        enable_log_requests: Whether requests are logged.
        max_log_len: Characters or token ids of a prompt to log; ``None`` for all.
        enable_log_outputs: Whether answers are logged; needs ``enable_log_requests``.
        enable_log_deltas: Whether a streamed answer is logged piece by piece too, where
            answers are logged.
        fingerprint_mode: What ``system_fingerprint`` tells: ``full`` vLLM's version,
            how the model is spread and a hash of its configuration, ``hash`` without
            the second, ``custom`` the ``fingerprint_value``, ``none`` nothing.
        fingerprint_value: The text that ``fingerprint_mode: custom`` shows.
        tool_server: Where tools of the Responses API run: ``demo``, or ``host:port`` of
            MCP servers, separated by commas.
        anthropic_disabled_thinking_effort: Reasoning effort of Messages requests that
            turn thinking off, or ``auto`` to find out what the template takes.
        enable_flash_late_interaction: Whether a model of one vector a token compares
            texts where its engine is, rather than in this process.
        cohere_is_reasoning_model: Whether Cohere's Chat API tells the model's reasoning
            as such, rather than as ``tool_plan``.
        log_error_stack: Whether error answers are logged with their traceback.
        frontend: Further front-end arguments of the installed vLLM, by its own names:
            those that have no key of their own here, as a newer vLLM's.

    Source: ``vllm serve --help=Frontend`` of vLLM 0.32. ``log_error_stack`` is off also
    where ``VLLM_SERVER_DEV_MODE`` is set.
    """

    template: Annotated[str | None, AfterValidator(_template)] = None
    require_chat_template: bool = False
    content_format: Literal["auto", "string", "openai"] = "auto"
    response_role: NonEmpty = "assistant"
    trust_request_chat_template: bool = False
    trust_request_mm_kwargs: bool = False
    default_chat_template_kwargs: dict[str, Any] | None = None
    enable_auto_tool_choice: bool = False
    tool_call_parser: NonEmpty | None = None
    tool_parser_plugin: NonEmpty | None = None
    tool_strict_level: Literal["auto", "function", "parameter"] | None = None
    exclude_tools_when_tool_choice_none: bool = False
    reasoning_parser: NonEmpty | None = None
    enable_prompt_tokens_details: bool = False
    enable_force_include_usage: bool = False
    enable_per_request_metrics: bool = False
    return_tokens_as_token_ids: bool = False
    enable_log_requests: bool = False
    max_log_len: Annotated[int, Field(ge=0)] | None = None
    enable_log_outputs: bool = False
    enable_log_deltas: bool = True
    fingerprint_mode: Literal["full", "hash", "custom", "none"] = "full"
    fingerprint_value: str | None = None
    tool_server: NonEmpty | None = None
    anthropic_disabled_thinking_effort: Literal[
        "auto", "none", "low", "medium", "high", "xhigh", "max"
    ] = "auto"
    enable_flash_late_interaction: bool = True
    cohere_is_reasoning_model: bool = True
    log_error_stack: bool = False
    frontend: Annotated[
        dict[str, Any], BARE_AS_EMPTY, AfterValidator(checked_frontend)
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _needed_together(self) -> Self:
        problems: Problems = {}
        if self.enable_auto_tool_choice and not self.tool_call_parser:
            problems["enable_auto_tool_choice",] = refuse(
                "is true without a tool_call_parser",
                "Set tool_call_parser to the parser that fits the model.",
            )
        if self.enable_log_outputs and not self.enable_log_requests:
            problems["enable_log_outputs",] = refuse(
                "is true without enable_log_requests",
                "Set enable_log_requests: true as well.",
            )
        is_custom = self.fingerprint_mode == "custom"
        if is_custom != (self.fingerprint_value is not None):
            problems["fingerprint_mode",] = refuse(
                "does not fit fingerprint_value",
                "Set fingerprint_value with fingerprint_mode: custom, and only then.",
            )
        if problems:
            raise refuse_keys(problems)
        return self
