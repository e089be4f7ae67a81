"""Pictures of a graph: levels, drawings, and the start-up waterfall."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from dependency_injector import containers, providers
from hypothesis import given, settings
from hypothesis import strategies as st

from containers import ModelContainer
from containers.graph import Graph, Span, order
from containers.graph.pictures.layout import laid_out
from containers.lifecycle import Resource

SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = ("mermaid", "dot", "svg")


def build(**_: object) -> object:
    return object()


class Diamond(containers.DeclarativeContainer):
    """``end`` uses ``top`` twice: by itself, and by way of both sides."""

    settings = providers.Object({"a": 1})
    top = Resource(build, settings=settings.provided["a"])
    left = Resource(build, top=top)
    right = Resource(build, top=top)
    end = Resource(build, left=left, right=right, top=top)


SPANS = {
    "top": Span(0.0, 1.0),
    "left": Span(1.0, 3.0),
    "right": Span(1.0, 0.001),
    "end": Span(4.0, 1.0),
}


@pytest.fixture
def graph() -> Graph:
    return Graph.of(Diamond())


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Names and what they use, each among the names before it."""
    count = draw(st.integers(1, 12))
    return {
        f"n{user}": tuple(f"n{used}" for used in range(user) if draw(st.booleans()))
        for user in range(count)
    }


def lines_of(picture: str) -> list[str]:
    return [line.strip() for line in picture.splitlines()]


def boxes(drawing: str) -> dict[str, Any]:
    """Boxes of an SVG picture by the first line of their tooltips."""
    root = ET.fromstring(drawing)  # noqa: S314  # our own text
    return {
        str(group.findtext(f"{SVG}title")).splitlines()[0]: group
        for group in root.iter(f"{SVG}g")
    }


def test_text_has_a_line_a_provider_with_its_level(graph: Graph) -> None:
    assert graph.text().splitlines() == [
        " 1  settings",
        " 2  top       settings=settings.provided['a']",
        " 3  left      top=top",
        " 3  right     top=top",
        " 4  end       left=left, right=right, top=top",
    ]


def test_text_with_times_ends_with_the_waterfall(graph: Graph) -> None:
    text = graph.text(SPANS).splitlines()
    assert text[2] == " 3  left         3.00 s  top=top"
    assert text[5:] == [
        "",
        "start-up: 5.00 s",
        f"    top       {'█' * 8}{' ' * 34}   1.00 s",
        f"    right     {' ' * 8}▏{' ' * 33}   0.00 s",
        f"    left      {' ' * 8}{'█' * 24}{' ' * 10}   3.00 s",
        f"    end       {' ' * 32}{'█' * 8}{' ' * 2}   1.00 s",
    ]


def test_times_of_nothing_make_no_waterfall_to_divide_by(graph: Graph) -> None:
    assert graph.text({"top": Span(0.0, 0.0)}).splitlines()[-2] == "start-up: 0.00 s"
    assert "start-up: 0.00 s" in graph.svg({"top": Span(0.0, 0.0)})


def test_a_drawing_leaves_out_what_a_longer_way_implies(graph: Graph) -> None:
    assert lines_of(graph.mermaid()) == [
        "flowchart TD",
        'n_settings("settings")',
        'n_top["top"]',
        'n_left["left"]',
        'n_right["right"]',
        'n_end["end"]',
        "n_settings --> n_top",
        "n_top --> n_left",
        "n_top --> n_right",
        "n_left --> n_end",
        "n_right --> n_end",
    ]


def test_dot_has_the_same_edges(graph: Graph) -> None:
    dot = lines_of(graph.dot())
    assert (dot[0], dot[-1]) == ("digraph {", "}")
    assert [line for line in dot if "->" in line] == [
        '"settings" -> "top"',
        '"top" -> "left"',
        '"top" -> "right"',
        '"left" -> "end"',
        '"right" -> "end"',
    ]


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_times_stand_in_the_boxes_of_every_drawing(graph: Graph, drawing: str) -> None:
    assert "3.00 s" in getattr(graph, drawing)(SPANS)
    assert " s<" not in getattr(graph, drawing)()


@pytest.mark.parametrize("drawing", ["text", *DRAWINGS])
def test_the_same_graph_gives_the_same_picture(drawing: str) -> None:
    pictures = {getattr(Graph.of(ModelContainer()), drawing)() for _ in range(3)}
    assert len(pictures) == 1


def test_an_svg_box_tells_its_arguments_and_its_kind(graph: Graph) -> None:
    found = boxes(graph.svg())
    assert list(found) == list(graph.nodes)
    title = found["end"].findtext(f"{SVG}title")
    assert title == "end\nleft=left\nright=right\ntop=top"
    assert found["end"].find(f"{SVG}rect").get("class") == "resource"
    assert found["settings"].find(f"{SVG}rect").get("class") == "given"


def test_an_svg_follows_the_colours_of_the_page(graph: Graph) -> None:
    assert "prefers-color-scheme: dark" in graph.svg()


def test_an_svg_holds_everything_it_draws() -> None:
    graph = Graph.of(ModelContainer())
    spans = {name: Span(float(n), 1.0) for n, name in enumerate(graph.resources)}
    root = ET.fromstring(graph.svg(spans))  # noqa: S314  # our own text
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    shapes = [*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}text")]
    assert len(shapes) > 40
    for shape in shapes:
        assert float(shape.get("x", -1)) >= 0
        assert float(shape.get("x", 0)) + float(shape.get("width", 0)) <= width
        assert float(shape.get("y", 0)) + float(shape.get("height", 0)) <= height


def test_names_cannot_break_a_drawing() -> None:
    class Odd(containers.DeclarativeContainer):
        end = Resource(build, text=providers.Object('<&">'))

    odd = Odd()
    odd.set_provider('a"<&>', Resource(build))
    graph = Graph.of(odd)
    assert 'a"<&>' in boxes(graph.svg())
    assert r'"a\"<&>"' in graph.dot()
    assert 'n_a_22__3c__26__3e_["a#quot;<&>"]' in graph.mermaid()


@given(acyclic())
@settings(max_examples=60, deadline=None)
def test_essential_edges_keep_who_needs_whom(uses: dict[str, tuple[str, ...]]) -> None:
    essential = order.essential(uses)
    for user, target in itertools.product(uses, uses):
        way = order.path(uses, user, target)
        assert (order.path(essential, user, target) is None) == (way is None)
    for user, targets in essential.items():
        for target in targets:
            others = [other for other in targets if other != target]
            assert not any(order.path(uses, other, target) for other in others), user


@given(acyclic())
@settings(max_examples=60, deadline=None)
def test_boxes_stand_apart_and_lines_run_down(uses: dict[str, tuple[str, ...]]) -> None:
    layout = laid_out(uses, order.levels(uses))
    for (x, row), (other_x, other_row) in itertools.combinations(
        layout.boxes.values(), 2
    ):
        assert row != other_row or abs(x - other_x) >= 1 - 1e-9
    assert all(0.5 - 1e-9 <= x <= layout.width for x, _ in layout.boxes.values())
    assert len(layout.lines) == sum(map(len, uses.values()))
    for line in layout.lines:
        rows = [row for _, row in line]
        assert rows == list(range(rows[0], rows[-1] + 1))


def test_an_empty_container_has_pictures_too() -> None:
    graph = Graph.of(containers.DynamicContainer())
    assert graph.text() == ""
    assert graph.mermaid() == "flowchart TD"
    assert re.match(r"<svg .*</svg>$", graph.svg(), re.DOTALL)
