"""Settings made in Python: what they hold, and what they refuse."""

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from containers.errors import SettingsError
from containers.settings import ChatSettings, ModelSettings, ServerSettings, Settings

MODEL = {"name": "m", "source": "org/model"}
ADAPTER = {"name": "sql", "path": "org/sql"}

# Ours by vLLM's name, where the section's own name does not already say it.
VLLM_NAME_OF = {
    "template": "chat_template",
    "content_format": "chat_template_content_format",
}
# Not arguments of vLLM's front end, or (the last) computed there.
NOT_FRONT_END = {
    "require_chat_template",
    "reasoning_parser",
    "enable_log_requests",
    "log_error_stack",
    "tool_parser_plugin",
    "frontend",
    # None, which vLLM 0.33 has; containers/vllm_api/arguments.py says it to older ones.
    "tool_strict_level",
}


def refused(data: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        Settings.model_validate(data)
    return caught.value


def refused_model(**keys: Any) -> SettingsError:
    return refused({"models": [{**MODEL, **keys}]})


def adapters(*modules: Any) -> dict[str, Any]:
    """A model's sections with these adapters."""
    return {"engine": {"enable_lora": True}, "lora": {"modules": list(modules)}}


def front_end_defaults() -> dict[str, Any]:
    """vLLM's own defaults, read from its source text: importing takes seconds."""
    spec = find_spec("vllm")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("vLLM is not installed")
    folder = Path(next(iter(spec.submodule_search_locations)))
    sources = (path.read_text() for path in folder.glob("entrypoints/*/cli_args.py"))
    text = next(source for source in sources if "class FrontendArgs" in source)
    return {
        field.target.id: field.value.value
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(field.value, ast.Constant)
    }


def test_a_name_and_a_source_are_enough() -> None:
    settings = Settings.model_validate({"models": [MODEL]})
    assert settings.server == ServerSettings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8000)
    model = settings.models[0]
    assert (model.name, model.names) == ("m", ("m",))
    assert (model.engine, model.chat) == ({}, ChatSettings())


def test_chat_defaults_are_those_of_vllm_serve() -> None:
    ours = ChatSettings().model_dump(exclude=NOT_FRONT_END)
    theirs = front_end_defaults()
    names = {key: VLLM_NAME_OF.get(key, key) for key in ours}
    assert ours == {key: theirs[name] for key, name in names.items()}


def test_the_first_of_several_names_is_the_name() -> None:
    model = ModelSettings(names=("first", "alias"), source="org/model")
    assert (model.name, model.names) == ("first", ("first", "alias"))


def test_settings_survive_being_dumped_and_read_again() -> None:
    settings = Settings.model_validate(
        {"models": [{"names": ["a", "b"], "source": "s", "chat": {"max_log_len": 3}}]}
    )
    assert Settings.model_validate(settings.model_dump()) == settings


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ServerSettings().port = 1  # type: ignore[misc]  # the very thing to refuse


def test_a_bare_section_means_its_defaults() -> None:
    settings = Settings.model_validate(
        {"server": None, "models": [{**MODEL, "engine": None, "chat": None}]}
    )
    assert settings == Settings.model_validate({"models": [MODEL]})


@pytest.mark.parametrize(
    ("data", "key", "hint"),
    [
        ({"sever": {}, "models": [MODEL]}, "sever", "Did you mean server?"),
        (
            {"server": {"prot": 1}, "models": [MODEL]},
            "server.prot",
            "Did you mean port?",
        ),
        (
            {"models": [MODEL], "port": 80},
            "port",
            "It belongs at server.port.",
        ),
        (
            {"models": [{**MODEL, "engine": {"max_model_length": 1}}]},
            "models.0.engine.max_model_length",
            "Did you mean max_model_len?",
        ),
        (
            {"models": [{**MODEL, "engine": {"--max-model-len": 1}}]},
            "models.0.engine.--max-model-len",
            "Did you mean max_model_len?",
        ),
        (
            {"models": [{**MODEL, "engine": {"tool_call_parser": "x"}}]},
            "models.0.engine.tool_call_parser",
            "It belongs at models.0.chat.tool_call_parser.",
        ),
        (
            {"models": [{**MODEL, "max_model_len": 1}]},
            "models.0.max_model_len",
            "It belongs at models.0.engine.max_model_len.",
        ),
        (
            {"models": [{**MODEL, "chat_template": "x"}]},
            "models.0.chat_template",
            "It belongs at models.0.chat.template.",
        ),
        (
            {"models": [{**MODEL, "engine": {"zzzzzzz": 1}}]},
            "models.0.engine.zzzzzzz",
            "The installed vLLM has no engine argument of that name.",
        ),
        (
            {"models": [MODEL], "zzzzzzz": 1},
            "zzzzzzz",
            "Known keys here: models, performance, ray, server.",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_its_path_and_the_key_that_was_meant(
    data: Any, key: str, hint: str
) -> None:
    error = refused(data)
    assert (error.key, error.reason, error.hint) == (key, "unknown key", hint)
    assert error.others == ()


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ({"port": "8000"}, "server.port: takes a whole number, got text."),
        ({"port": True}, "server.port: takes a whole number, got the truth value true"),
        ({"port": 1.5}, "server.port: takes a whole number, got the number 1.5."),
        ({"port": None}, "server.port: takes a whole number, got nothing (null)."),
        ({"port": 65536}, "server.port: is 65536, must be at most 65535."),
        ({"port": -1}, "server.port: is -1, must be 0 or more."),
        (
            {"host": 1.1},
            "server.host: takes text, got the number 1.1. Put the value in",
        ),
        ({"host": ""}, "server.host: is empty."),
        ({"host": ["a"]}, "server.host: takes text, got a list."),
        ({"start_timeout_s": 0}, "server.start_timeout_s: is 0, must be above 0."),
        ({"stop_timeout_s": float("inf")}, "must be a finite number."),
        ({"stop_timeout_s": "30s"}, "server.stop_timeout_s: takes a number, got text."),
        ({"root_path": "llm/"}, "server.root_path: is 'llm/', but a root path begins"),
        (
            {"uvicorn_log_level": "loud"},
            "is 'loud', must be 'critical', 'error', 'warning', 'info', 'debug' or",
        ),
        ([], "server: takes a mapping of keys to values, got a list."),
    ],
)
def test_a_wrong_value_names_key_type_and_what_is_expected(
    server: Any, text: str
) -> None:
    error = refused({"server": server, "models": [MODEL]})
    assert text in str(error)
    assert error.others == ()
    assert "pydantic" not in str(error)
    assert "http" not in str(error)


@pytest.mark.parametrize(
    ("keys", "key", "text"),
    [
        ({"source": 5}, "source", "takes text, got the number 5"),
        ({"source": ""}, "source", "is empty"),
        ({"name": " m"}, "name", "blanks around it"),
        ({"name": ""}, "name", "is no name"),
        ({"name": None}, "name", "takes text, got nothing (null)"),
        ({"names": ["x", "m"]}, "name", "is not the first of names"),
        ({"names": ["m", "m"]}, "names", "holds a name twice"),
        ({"names": "m"}, "names", "takes a list, got text"),
        ({"names": ["m", 1]}, "names.1", "takes text, got the number 1"),
        ({"engine": []}, "engine", "takes a mapping of keys to values, got a list"),
        ({"engine": {1: 2}}, "engine.1", "a key must be text, got the number 1"),
        ({"engine": {"model": "x"}}, "engine.model", "as the model's source"),
        (
            {"engine": {"served_model_name": "x"}},
            "engine.served_model_name",
            "as the model's name (or names)",
        ),
        (
            {"engine": {"skip_tokenizer_init": True}},
            "engine.skip_tokenizer_init",
            "cannot be set: serving is built on a loaded tokenizer",
        ),
        (
            {"engine": {"reasoning_parser": 5}},
            "engine.reasoning_parser",
            "takes text, got the number 5",
        ),
        (
            {"engine": {"enable_log_requests": "yes"}},
            "engine.enable_log_requests",
            "takes true or false, got text",
        ),
        ({"chat": {"content_format": "x"}}, "chat.content_format", "'auto', 'string'"),
        ({"chat": {"template": " \n"}}, "chat.template", "Write null"),
        ({"chat": {"response_role": ""}}, "chat.response_role", "is empty"),
        ({"chat": {"max_log_len": -1}}, "chat.max_log_len", "must be 0 or more"),
        ({"chat": {"default_chat_template_kwargs": 1}}, "", "takes a mapping of keys"),
        (
            {"chat": {"enable_auto_tool_choice": True}},
            "chat.enable_auto_tool_choice",
            "without a tool_call_parser",
        ),
        (
            {"chat": {"enable_log_outputs": True}},
            "chat.enable_log_outputs",
            "without enable_log_requests",
        ),
        (
            {"chat": {"fingerprint_mode": "custom"}},
            "chat.fingerprint_mode",
            "does not fit fingerprint_value",
        ),
        (
            {"chat": {"fingerprint_value": "x"}},
            "chat.fingerprint_mode",
            "does not fit fingerprint_value",
        ),
        ({"engine": {"tokens_only": True}}, "engine.tokens_only", "cannot be set"),
        (
            {"engine": {"shutdown_timeout": 5}},
            "engine.shutdown_timeout",
            "server.drain_timeout_s",
        ),
        (adapters({"name": "x"}), "lora.modules.0.path", "is missing"),
        (adapters({"path": "x"}), "lora.modules.0.name", "is missing"),
        (adapters("x=y"), "lora.modules.0", "takes a mapping of keys to values"),
        (adapters({**ADAPTER, "paht": 1}), "lora.modules.0.paht", "Did you mean path?"),
        (
            adapters(ADAPTER, ADAPTER),
            "lora.modules.1.name",
            "is 'sql', as an adapter before it",
        ),
        (
            adapters({**ADAPTER, "name": "m"}),
            "lora.modules.0.name",
            "is 'm', which the model itself answers to",
        ),
        (
            adapters({**ADAPTER, "base_model_name": "z"}),
            "lora.modules.0.base_model_name",
            "is 'z', which is none of the model's names",
        ),
        (
            {"lora": {"modules": [ADAPTER]}},
            "lora.modules",
            "engine.enable_lora is not true",
        ),
        ({"lora_modules": [ADAPTER]}, "lora_modules", "models.0.lora.modules"),
    ],
)
def test_a_model_that_cannot_be_served_as_told_is_refused(
    keys: Any, key: str, text: str
) -> None:
    error = refused_model(**keys)
    assert error.key.startswith(f"models.0.{key}")
    assert text in str(error)
    assert error.others == ()


def test_a_model_needs_a_name_and_a_source() -> None:
    assert str(refused({"models": [{"name": "m"}]})) == (
        "models.0.source: is missing. Add it."
    )
    assert refused({"models": [{"source": "s"}]}).key == "models.0.name"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, "models: is missing."),
        ({"models": []}, "models: holds no model. Add one."),
        ({"models": None}, "models: takes a list, got nothing (null)."),
        ({"models": MODEL}, "models: takes a list, got a mapping."),
        ({"models": ["m"]}, "models.0: takes a mapping of keys to values, got text."),
        ({"models": [MODEL, MODEL]}, "two models, or their adapters, have it"),
        (
            {
                "models": [
                    {**MODEL, "name": "n"},
                    {
                        **MODEL,
                        "engine": {"enable_lora": True},
                        "lora": {"modules": [{"name": "n", "path": "p"}]},
                    },
                ]
            },
            "models.1.lora.modules.0.name: serves 'n' twice",
        ),
        ([], "takes a mapping of keys to values, got a list."),
        (None, "takes a mapping of keys to values, got nothing (null)."),
    ],
)
def test_at_least_one_model_is_served_and_no_name_twice(data: Any, text: str) -> None:
    assert text in str(refused(data))


def test_all_problems_are_reported_at_once() -> None:
    error = refused({"server": {"port": "x", "hots": "y"}, "models": [{"name": "m"}]})
    problems = [error, *error.others]
    assert {problem.key for problem in problems} == {
        "server.port",
        "server.hots",
        "models.0.source",
    }
    assert len(str(error).splitlines()) == 3


def test_a_section_made_directly_is_refused_in_the_same_words() -> None:
    with pytest.raises(SettingsError) as caught:
        ModelSettings(name="m", source="s", engine={"max_model_length": 1})
    assert str(caught.value) == (
        "engine.max_model_length: unknown key. Did you mean max_model_len?"
    )
    with pytest.raises(SettingsError, match="takes a whole number"):
        ServerSettings(port="1")  # type: ignore[arg-type]  # the very thing to refuse


@pytest.mark.parametrize(
    "place", ["source", "name", "engine", "chat.response_role", "chat.reasoning_parser"]
)
def test_an_environment_variable_is_refused_not_taken_literally(place: str) -> None:
    text = "before ${HOME:-x} after"
    section, _, key = place.partition(".")
    inner = {key or "revision": text}
    keys = {section: text if section in MODEL else inner}
    error = refused_model(**keys)
    assert error.key.startswith(f"models.0.{section}")
    assert "environment variables are filled in by Settings.load alone" in error.reason


def test_a_template_and_its_variables_are_free_text() -> None:
    chat = {"template": "${a}{{ b }}", "default_chat_template_kwargs": {"x": "${y}"}}
    settings = Settings.model_validate({"models": [{**MODEL, "chat": chat}]})
    assert settings.models[0].chat.template == chat["template"]


@pytest.mark.parametrize("place", ["engine", "chat"])
def test_what_vllm_reads_in_two_places_may_be_set_in_either(place: str) -> None:
    keys = {"reasoning_parser": "deepseek_r1", "enable_log_requests": True}
    model = Settings.model_validate({"models": [{**MODEL, place: keys}]}).models[0]
    assert model.engine == keys
    assert model.chat.reasoning_parser == "deepseek_r1"
    assert model.chat.enable_log_requests


def test_but_not_differently_in_both() -> None:
    error = refused_model(
        engine={"reasoning_parser": "qwen3"}, chat={"reasoning_parser": "deepseek_r1"}
    )
    assert error.key == "models.0.engine.reasoning_parser"
    assert error.reason == "contradicts chat.reasoning_parser"


def test_engine_arguments_pass_through_untouched() -> None:
    engine = {"max_model_len": 7, "compilation_config": {"mode": 0}, "tokenizer": "t"}
    assert ModelSettings(name="m", source="s", engine=engine).engine == engine


@pytest.mark.parametrize(
    ("engine", "key", "text"),
    [
        (
            {"max_model_len": "4k"},
            "max_model_len",
            "takes a whole number of at least -1 or nothing",
        ),
        ({"max_model_len": 4.0}, "max_model_len", "got the number 4.0"),
        ({"tensor_parallel_size": None}, "tensor_parallel_size", "got nothing (null)"),
        ({"enforce_eager": "false"}, "enforce_eager", "takes true or false, got text"),
        (
            {"enforce_eager": 0},
            "enforce_eager",
            "takes true or false, got the number 0",
        ),
        ({"seed": True}, "seed", "takes a whole number, got the truth value true"),
        ({"runner": "poling"}, "runner", "is 'poling', must be 'auto', 'generate'"),
        ({"max_lora_rank": 7}, "max_lora_rank", "got the number 7"),
        ({"gpu_memory_utilization": "0.9"}, "gpu_memory_utilization", "got text"),
        ({"device_ids": [0, 1.5]}, "device_ids.1", "takes a whole number or text"),
        ({"override_generation_config": []}, "override_generation_config", "a mapping"),
        ({"media_io_kwargs": {"a": 1}}, "media_io_kwargs.a", "takes a mapping"),
        ({"optimization_level": 9}, "optimization_level", "0, 1, 2 or 3"),
        (
            {"compilation_config": {"compile_size": []}},
            "compilation_config.compile_size",
            "Did you mean compile_sizes?",
        ),
        (
            {"compilation_config": {"compile_sizes": 5}},
            "compilation_config.compile_sizes",
            "takes a list or nothing (null), got the number 5",
        ),
        (
            {"speculative_config": {"num_speculative_tokens": "3"}},
            "speculative_config.num_speculative_tokens",
            "takes a whole number over 0 or nothing (null), got text",
        ),
        (
            {"eplb_config": {"window": 1}},
            "eplb_config.window",
            "Did you mean window_size?",
        ),
        (
            {"structured_outputs_config": "xgrammar"},
            "structured_outputs_config",
            "takes a mapping of keys to values, got text",
        ),
    ],
)
def test_an_engine_argument_has_vllms_own_type(
    engine: Any, key: str, text: str
) -> None:
    error = refused_model(engine=engine)
    assert (error.key, error.others) == (f"models.0.engine.{key}", ())
    assert text in str(error)


@pytest.mark.parametrize(
    "engine",
    [
        {"max_model_len": None, "enable_prefix_caching": False, "seed": 0},
        {"gpu_memory_utilization": 1, "cpu_offload_gb": 0},
        {"attention_backend": "flash_attn", "mamba_backend": "TRITON"},
        {"cpu_offload_params": ["a"], "ignore_patterns": "a", "hf_token": True},
        {"optimization_level": 2, "max_lora_rank": 64, "hf_overrides": {"a": 1}},
        {"compilation_config": {"mode": "NONE", "cudagraph_capture_sizes": [1, 2]}},
        {"speculative_config": {"method": "ngram", "num_speculative_tokens": 3}},
        {"kv_transfer_config": {"kv_connector_extra_config": {"any": ["thing"]}}},
        {"limit_mm_per_prompt": {"image": 1, "video": {"count": 1}}},
        {"quantization_config": {"ignore": ["a"]}},
        {"distributed_executor_backend": "mp", "scheduler_cls": "a.B"},
    ],
)
def test_values_that_vllm_takes_pass_through(engine: Any) -> None:
    assert ModelSettings(name="m", source="s", engine=engine).engine == engine


def test_objects_made_in_python_pass_through() -> None:
    class CompilationConfig:
        pass

    engine = {"compilation_config": CompilationConfig(), "scheduler_cls": object}
    assert ModelSettings(name="m", source="s", engine=engine).engine == engine
