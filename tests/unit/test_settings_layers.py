"""Several files, the environment and the command line, each over the ones before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from containers.errors import SettingsError
from containers.settings import Settings
from containers.settings.env_file import read_env_file

Write = Callable[..., list[Path]]

ONE = """
server: {port: 1, allowed_origins: [a, b]}
models:
- name: m
  source: org/m
  engine: {seed: 1, max_model_len: 2, compilation_config: {mode: 0}}
  chat: {response_role: bot}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*texts: str) -> list[Path]:
        paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        return paths

    return write


def load(paths: list[Path], *overrides: str, **environment: str) -> Settings:
    return Settings.load(*paths, environment=environment, overrides=overrides)


def refused(paths: list[Path], *overrides: str, **environment: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(paths, *overrides, **environment)
    return caught.value


def test_maps_merge_and_lists_are_replaced(write: Write) -> None:
    two = (
        "server: {allowed_origins: [c], host: h}\n"
        "models: [{name: m, engine: {seed: 2}}]"
    )
    settings = load(write(ONE, two))
    server, model = settings.server, settings.models[0]
    assert (server.port, server.host, server.allowed_origins) == (1, "h", ("c",))
    assert model.engine["seed"] == 2
    assert model.engine["max_model_len"] == 2
    assert model.source == "org/m"


def test_nested_engine_configurations_merge(write: Write) -> None:
    config = "{compilation_config: {use_inductor_graph_partition: true}}"
    two = f"models: [{{name: m, engine: {config}}}]"
    merged = load(write(ONE, two)).models[0].engine["compilation_config"]
    assert merged == {"mode": 0, "use_inductor_graph_partition": True}


def test_models_merge_by_any_spelling_of_their_name(write: Write) -> None:
    two = "models: [{names: [m, n], engine: {seed: 9}}]"
    model = load(write(ONE, two)).models[0]
    assert (model.names, model.engine["seed"]) == (("m", "n"), 9)


def test_a_model_of_another_name_is_another_model(write: Write) -> None:
    two = "models: [{name: other, source: x}]"
    assert [model.name for model in load(write(ONE, two)).models] == ["m", "other"]


def test_a_name_may_come_from_the_environment(write: Write) -> None:
    two = "models: [{name: '${NAME}', engine: {seed: 4}}]"
    assert load(write(ONE, two), NAME="m").models[0].engine["seed"] == 4


@pytest.mark.parametrize(
    "two",
    [
        "server:\n",
        "models:\n",
        "server:\nmodels:\n- name: m\n  engine:\n  chat:\n",
        "server: {allowed_origins: }",
        "models: [{name: m, engine: {compilation_config: }}]",
    ],
)
def test_a_bare_section_wipes_nothing(write: Write, two: str) -> None:
    assert load(write(ONE, two)) == load(write(ONE))


def test_an_explicit_null_or_false_or_zero_counts(write: Write) -> None:
    two = (
        "server: {drain_timeout_s: 0}\n"
        "models: [{name: m, engine: {enable_prefix_caching: false, max_model_len: null,"
        " seed: 0}}]"
    )
    settings = load(write(ONE, two))
    assert settings.server.drain_timeout_s == 0
    engine = settings.models[0].engine
    assert engine["enable_prefix_caching"] is False
    assert engine["max_model_len"] is None
    assert engine["seed"] == 0


def test_a_key_list_is_not_wiped_by_a_bare_one(write: Write) -> None:
    settings = load(write(f"{ONE}", "server: {api_keys: [k]}", "server: {api_keys: }"))
    assert settings.server.api_keys is not None


def test_the_environment_wins_over_files_and_set_over_both(write: Write) -> None:
    paths = write(ONE)
    name = "VLLM_DI__SERVER__PORT"
    assert load(paths, **{name: "2"}).server.port == 2
    assert load(paths, "server.port=3", **{name: "2"}).server.port == 3


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("SERVER__HOST", "0123", lambda s: s.server.host == "0123"),
        (
            "SERVER__ALLOWED_ORIGINS",
            '["a"]',
            lambda s: s.server.allowed_origins == ("a",),
        ),
        ("MODELS__0__ENGINE__SEED", "7", lambda s: s.models[0].engine["seed"] == 7),
        (
            "MODELS__0__ENGINE__COMPILATION_CONFIG__CUDAGRAPH_NUM_OF_WARMUPS",
            "7",
            lambda s: (
                s.models[0].engine["compilation_config"]
                == {"mode": 0, "cudagraph_num_of_warmups": 7}
            ),
        ),
        (
            "MODELS__0__CHAT__TEMPLATE",
            "${x}{{ y }}",
            lambda s: s.models[0].chat.template == "${x}{{ y }}",
        ),
        ("MODELS__0__NAME", "null", lambda s: s.models[0].name == "null"),
        (
            "SERVER__UDS",
            "~",
            lambda s: s.server.uds.endswith("/" + str(Path.home())[1:]),
        ),
    ],
)
def test_a_variable_sets_the_key_it_names(
    write: Write, name: str, text: str, read: Callable[[Settings], bool]
) -> None:
    assert read(load(write(ONE), **{f"VLLM_DI__{name}": text}))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("SERVER__PROT", "1", "server.prot: unknown key. Did you mean port?"),
        ("SERVER__PORT", "x", "takes a whole number, which its value is not"),
        ("SERVER__PORT", "", "takes a whole number, and its value is empty"),
        ("SERVER__PORT__X", "1", "leads nowhere"),
        ("MODELS__5__NAME", "x", "leads nowhere"),
        ("MODELS__X__NAME", "x", "leads nowhere"),
        ("SERVER__ALLOWED_ORIGINS", "a", "takes a list, written as JSON"),
        ("SERVER__ALLOWED_ORIGINS", "[" * 9000, "takes a list, written as JSON"),
        ("SERVER__ALLOWED_ORIGINS", "NaN", "takes a list, written as JSON"),
        ("SERVER", "1", "takes a mapping of keys to values, written as JSON"),
        ("", "1", "unknown key"),
    ],
)
def test_a_wrong_variable_is_named(
    write: Write, name: str, text: str, words: str
) -> None:
    error = refused(write(ONE), **{f"VLLM_DI__{name}": text})
    assert str(error).startswith(f"VLLM_DI__{name}: ")
    assert words in str(error)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("server.port=5", lambda s: s.server.port == 5),
        ("server.host='0.0'", lambda s: s.server.host == "0.0"),
        (
            "server.allowed_origins=[a, b=c]",
            lambda s: len(s.server.allowed_origins) == 2,
        ),
        (
            "models.0.engine={seed: 4}",
            lambda s: s.models[0].engine["max_model_len"] == 2,
        ),
        ("models.0.chat.template=null", lambda s: s.models[0].chat.template is None),
        ("models.0.engine.seed=", lambda s: s.models[0].engine["seed"] is None),
        ("server.host=${H}", lambda s: s.server.host == "from env"),
    ],
)
def test_an_override_is_yaml(
    write: Write, text: str, read: Callable[[Settings], bool]
) -> None:
    if text.endswith("seed="):
        assert "takes a whole number" in refused(write(ONE), text).reason
        return
    assert read(load(write(ONE), text, H="from env"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server.port", "lacks a key or a value"),
        ("=5", "lacks a key or a value"),
        ("server..port=5", "lacks a key or a value"),
        ("server.port=x", "takes a whole number, got text"),
        ("server.prot=1", "Did you mean port?"),
        ("models.7.name=x", "leads nowhere"),
        ("server.port.x=1", "leads nowhere"),
        ("server.host=[", "not valid YAML"),
        ("server.host=${NOT_SET}", "NOT_SET is not set"),
    ],
)
def test_a_wrong_override_is_refused(write: Write, text: str, words: str) -> None:
    error = refused(write(ONE), text)
    assert str(error).startswith("--set")
    assert words in str(error)


def test_settings_need_no_file() -> None:
    settings = load([], "models=[{name: m, source: s}]", VLLM_DI__SERVER__PORT="2")
    assert (settings.models[0].name, settings.server.port) == ("m", 2)
    assert refused([]).key == "models"


def test_problems_name_their_own_file_in_the_order_of_the_files(write: Write) -> None:
    paths = write(
        "server: {port: x}\n", "\n\nserver: {host: 5}\n", ONE.replace("port: 1, ", "")
    )
    error = refused(paths)
    places = [(each.file, each.line) for each in [error, *error.others]]
    assert places == [(str(paths[0]), 1), (str(paths[1]), 3)]


def test_paths_are_meant_from_the_file_that_names_them(tmp_path: Path) -> None:
    files = [tmp_path / "a" / "1.yaml", tmp_path / "b" / "2.yaml"]
    for file in files:
        file.parent.mkdir()
    files[0].write_text(
        "server: {ssl_certfile: c.pem, uds: s}\n"
        "models: [{name: m, source: ./model, engine: {enable_lora: true},"
        " lora: {modules: [{name: x, path: ./lora}]},"
        " chat: {template: t.jinja, tool_parser_plugin: p.py}}]"
    )
    (tmp_path / "a" / "lora").mkdir()
    files[1].write_text("models: [{name: m, chat: {template: t.jinja}}]")
    settings = load(files)
    model = settings.models[0]
    assert model.source == str(tmp_path / "a" / "model")
    assert model.chat.template == str(tmp_path / "b" / "t.jinja")
    assert model.chat.tool_parser_plugin == str(tmp_path / "a" / "p.py")
    assert model.lora.modules[0].path == str(tmp_path / "a" / "lora")
    assert settings.server.ssl_certfile == str(tmp_path / "a" / "c.pem")
    assert settings.server.uds == str(tmp_path / "a" / "s")


@pytest.mark.parametrize("path", ["./" + "x" * 5000, "~nobody-here/x", "/a\0b"])
def test_what_can_be_no_path_is_told_or_kept(write: Write, path: str) -> None:
    server = f'ssl_certfile: "{path}", uds: "{path}"'.replace("\0", "\\0")
    written = path.replace("\0", "\\0")
    paths = write(
        f"server: {{{server}}}\n"
        f'models: [{{name: m, source: "{written}", chat: {{template: "{written}"}}}}]'
    )
    settings = load(paths)
    assert settings.models[0].source.endswith(path.removeprefix("./"))
    lora = f'{{modules: [{{name: x, path: "{written}"}}]}}'
    paths = write(
        ONE, f"models: [{{name: m, engine: {{enable_lora: true}}, lora: {lora}}}]"
    )
    if path.startswith("~"):
        assert load(paths).models[0].lora.modules[0].path == path
    else:
        assert refused(paths).reason == "is no folder"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A = b ", "b"),
        ("A=", ""),
        ("A=b # c", "b"),
        ("A=b#c", "b#c"),
        ("A='b # \"c' # d", 'b # "c'),
        ('A="b\\n\\"c\\\\ \\$"', 'b\n"c\\ $'),
        ("A=b=c", "b=c"),
        ("A=${B}", "${B}"),
        ("A=#", ""),
    ],
)
def test_an_env_file_is_read_line_by_line(
    tmp_path: Path, line: str, value: str
) -> None:
    file = tmp_path / ".env"
    file.write_text(f"# first\n\n{line}\r\nZ=1\n")
    assert read_env_file(file) == {"A": value, "Z": "1"}


@pytest.mark.parametrize(
    "line", ["hunter2", "1A=hunter2", "A='hunter2", 'A="hunter2"x']
)
def test_a_line_that_is_none_is_refused_without_showing_it(
    tmp_path: Path, line: str
) -> None:
    file = tmp_path / ".env"
    file.write_text(f"B=1\n{line}\n")
    with pytest.raises(SettingsError) as caught:
        read_env_file(file)
    assert (caught.value.file, caught.value.line) == (str(file), 2)
    assert "hunter2" not in str(caught.value)


def test_origins_are_kept(write: Write) -> None:
    paths = write(ONE, "server: {host: '${H}'}")
    settings = load(paths, "server.port=4", H="h", VLLM_DI__MODELS__0__ENGINE__SEED="2")

    def origin(*location: Any) -> str:
        return str(settings.origins.of(location))

    assert origin("server", "port") == "--set"
    assert origin("server", "host") == f"{paths[1]}:1, ${{H}}"
    assert origin("models", 0, "engine", "seed") == "VLLM_DI__MODELS__0__ENGINE__SEED"
    assert origin("models", 0, "engine", "max_model_len") == f"{paths[0]}:6"
    assert settings.origins.of(("server", "uds")) is None


def test_an_adapters_folder_has_to_be_there(write: Write) -> None:
    lora = (
        "models: [{name: m, engine: {enable_lora: true},"
        " lora: {modules: [{name: x, path: ./absent}]}}]"
    )
    paths = write(ONE, lora)
    error = refused(paths)
    assert (error.key, error.reason) == ("models.0.lora.modules.0.path", "is no folder")
    assert (error.file, error.line) == (str(paths[1]), 1)
