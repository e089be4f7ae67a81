"""What the README shows of the project is what the project is."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from containers import ModelContainer, Settings, __version__
from containers.errors import SettingsError
from containers.graph import Graph
from tests.docs.documents import README, ROOT, block

CONFIGURATION = f"{README}#Configuration"
RIGHT, WRONG = "max_model_len:", "max_modell_len:"


def test_the_graph_is_the_one_the_container_prints() -> None:
    printed = Graph.of(ModelContainer()).text()
    assert block("text", f"{README}#The graph").text == f"{dedent(printed)}\n"


def test_so_is_its_picture() -> None:
    picture = block("mermaid", "docs/graph.md#The graph of one model").text
    assert picture == f"{Graph.of(ModelContainer()).mermaid()}\n"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The README's configuration as ``config.yaml`` of the current folder."""
    monkeypatch.chdir(tmp_path)
    path = Path("config.yaml")
    path.write_text(block("yaml", CONFIGURATION).text)
    return path


def test_the_configuration_is_valid_in_every_key(written: Path) -> None:
    settings = Settings.load(written)
    (model,) = settings.models
    assert model.names == ("llama", "default")
    assert settings.server.host == "0.0.0.0"  # noqa: S104  # compared
    assert model.engine == yaml.safe_load(written.read_text())["models"][0]["engine"]


def test_a_misspelt_key_is_refused_in_the_very_words(written: Path) -> None:
    text = written.read_text()
    assert text.count(RIGHT) == 1
    written.write_text(text.replace(RIGHT, WRONG))
    with pytest.raises(SettingsError) as caught:
        Settings.load(written)
    assert block("text", CONFIGURATION).text == f"{caught.value}\n"


def test_the_readme_is_short() -> None:
    assert len((ROOT / README).read_text().splitlines()) <= 220


def test_the_changelog_has_a_section_for_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    titles = [
        line.split()[1].strip("[]")
        for line in changelog.splitlines()
        if line.startswith("## ")
    ]
    assert __version__ in titles
    assert len(titles) == len(set(titles))
