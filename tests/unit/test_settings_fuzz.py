"""Any YAML and any environment: settings or one clear error, and never a secret.

``VLLM_DI_EXAMPLES`` says how many examples to try; a few by default.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from containers.errors import SettingsError
from containers.settings import Settings
from containers.settings.show import shown

pytestmark = pytest.mark.heavy

N_EXAMPLES = int(os.environ.get("VLLM_DI_EXAMPLES", "15"))
SECRET = "hunter2-SECRET"  # noqa: S105  # the very thing to look for
FUZZ = settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

NAMES = ("A", "B", "SECRET_KEY", "VLLM_DI__SERVER__PORT", "VLLM_DI__SERVER__API_KEYS")
NAMES += ("VLLM_DI__MODELS__0__ENGINE__SEED", "VLLM_DI__SERVER__HOSST", "VLLM_DI__X")

placeholders = st.sampled_from(
    [
        "${A}",
        "${B:-5}",
        "${SECRET_KEY}",
        "${SECRET_KEY:?x}",
        "x${A}y",
        "$$",
        "${",
        "${}",
    ]
)
texts = placeholders | st.text(max_size=8) | st.sampled_from(["true", "0", "a/b", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)


def section(*keys: str) -> st.SearchStrategy[Any]:
    """A section with some of these keys, seldom with a key that does not exist."""
    known = st.dictionaries(st.sampled_from(keys), values, max_size=4)
    return known | known | st.none() | values


servers = section(
    "host", "port", "api_keys", "uds", "middleware", "root_path", "drain_timeout_s"
)
models = st.fixed_dictionaries(
    {"name": st.just("m") | texts, "source": st.just("org/m") | values},
    optional={
        "names": values,
        "engine": section(
            "seed", "max_model_len", "hf_token", "runner", "compilation_config"
        ),
        "chat": section("template", "max_log_len", "content_format", "nonsense"),
        "lora": values,
    },
)
documents = (
    st.fixed_dictionaries(
        {"models": st.lists(models, min_size=1, max_size=2) | values},
        optional={"server": servers, "extra": values},
    )
    | values
)
environments = st.dictionaries(
    st.sampled_from(NAMES),
    st.just(SECRET) | st.sampled_from(["1", "true", "", "x\ny: z", "[1]", "${A}"]),
)


def outcome(
    text: str, environment: dict[str, str], second: str | None = None
) -> Settings | SettingsError:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "one.yaml"), Path(folder, "two.yaml")]
        paths[0].write_text(text, encoding="utf-8")
        if second is not None:
            paths[1].write_text(second, encoding="utf-8")
        used = paths if second is not None else paths[:1]
        try:
            return Settings.load(*used, environment=environment)
        except SettingsError as error:
            return error


def check(text: str, environment: dict[str, str], second: str | None = None) -> None:
    result = outcome(text, environment, second)
    if isinstance(result, SettingsError):
        assert str(result)
        assert SECRET not in str(result)
        assert SECRET not in repr([result, *result.others])
        return
    keys = result.server.api_keys
    assert keys is None or (keys and all(key.get_secret_value() for key in keys))
    assert SECRET not in repr(keys)
    yaml.safe_load(shown(result))


@FUZZ
@given(documents, environments)
def test_a_document_gives_settings_or_one_clear_error(
    data: Any, environment: dict[str, str]
) -> None:
    check(yaml.safe_dump(data, allow_unicode=True), environment)


@FUZZ
@given(documents, documents, environments)
def test_so_do_two_documents(one: Any, two: Any, environment: dict[str, str]) -> None:
    texts_of = [yaml.safe_dump(each, allow_unicode=True) for each in (one, two)]
    check(texts_of[0], environment, texts_of[1])


@FUZZ
@given(st.text(max_size=60), environments)
def test_so_does_any_text(text: str, environment: dict[str, str]) -> None:
    check(text.encode("utf-8", "replace").decode(), environment)


@FUZZ
@given(st.lists(st.sampled_from(list("{}[]:,-#&*!|>'\"%@`?~ \n\t$ab1")), max_size=40))
def test_so_does_any_punctuation(characters: list[str]) -> None:
    check("".join(characters), {"A": SECRET, "SECRET_KEY": SECRET})


@FUZZ
@given(st.text())
def test_a_variables_text_adds_no_key_and_changes_no_type(text: str) -> None:
    document = (
        "server: {api_keys: ['${T}'], host: 'h${T}'}\n"
        "models: [{name: m, source: org/m, engine: {revision: '${T}', seed: 1}}]\n"
    )
    result = outcome(document, {"T": text})
    if isinstance(result, SettingsError):
        assert not text.strip()
        assert result.key == "server.api_keys.0"
        return
    assert [key.get_secret_value() for key in result.server.api_keys or ()] == [text]
    assert result.server.host == f"h{text}"
    assert result.models[0].engine == {"revision": text, "seed": 1}


@FUZZ
@given(st.text(), st.sampled_from(["port", "drain_timeout_s", "workers"]))
def test_a_number_is_one_or_an_error(text: str, key: str) -> None:
    document = f"server: {{{key}: '${{T}}'}}\nmodels: [{{name: m, source: s}}]"
    result = outcome(document, {"T": text})
    if isinstance(result, SettingsError):
        assert result.key == f"server.{key}"
    else:
        assert float(text) == getattr(result.server, key)
