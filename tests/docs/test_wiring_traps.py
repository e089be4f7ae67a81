"""What docs/wiring.md warns of is so; where it no longer is, the page is wrong."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from dependency_injector import containers, providers
from dependency_injector.wiring import DIWiringWarning, Provide, UnresolvedMarkerWarning
from fastapi import FastAPI
from starlette.testclient import TestClient

IMPORTS = """
from typing import Annotated, Any
from dependency_injector.wiring import Provide, inject
from fastapi import Depends, FastAPI
app = FastAPI()
"""
AS_ANNOTATION = f"""
from __future__ import annotations
{IMPORTS}
@app.get("/")
@inject
async def read(thing: Annotated[Any, Depends(Provide["thing"])]) -> str:
    return type(thing).__name__
"""
AS_DEFAULT = f"""
from __future__ import annotations
{IMPORTS}
@app.get("/")
@inject
async def read(thing: Any = Depends(Provide["thing"])) -> str:
    return type(thing).__name__
"""
PLAIN = f"""
{IMPORTS}
@inject
def read(thing=Provide["thing"], other=Provide["thingg"]):
    return thing, other
"""
STREAM = f"""
{IMPORTS}
closed = []

@inject
async def stream(thing=Provide["thing"]):
    try:
        yield 1
        yield 2
    finally:
        closed.append(thing)
"""


MARKER = type(Provide["thing"])


class Container(containers.DeclarativeContainer):
    """A container with one object."""

    thing = providers.Object("thing")


@pytest.fixture
def module(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A module, made of the source that a test is parametrised with."""
    made = types.ModuleType("own_module")
    sys.modules[made.__name__] = made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DIWiringWarning)  # all that trap 1 says
        exec(request.param, made.__dict__)  # noqa: S102  # a module needs a source
    yield made
    del sys.modules[made.__name__]


def with_source(source: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", [source], indirect=True, ids=[""])


def wire(module: Any, thing: str = "thing") -> Container:
    container = Container()
    container.thing.override(thing)
    container.wire(modules=[module])
    return container


def answer(app: FastAPI) -> Any:
    response = TestClient(app).get("/")
    assert response.status_code == 200
    return response.json()


@with_source(AS_ANNOTATION)
def test_a_marker_in_a_string_annotation_is_handed_out_itself(module: Any) -> None:
    container = wire(module)
    assert answer(module.app) == "Provide"
    container.unwire()


@with_source(AS_DEFAULT)
def test_as_a_default_value_it_works(module: Any) -> None:
    container = wire(module)
    assert answer(module.app) == "str"
    container.unwire()


@with_source(PLAIN)
def test_the_last_wiring_wins_and_unwiring_the_first_undoes_it(module: Any) -> None:
    first, second = wire(module, "first"), wire(module, "second")
    assert module.read()[0] == "second"
    first.unwire()
    assert isinstance(module.read()[0], MARKER)
    second.unwire()


@with_source(PLAIN)
def test_a_misspelt_marker_is_handed_out_itself_unless_warned_of(module: Any) -> None:
    container = wire(module)
    assert isinstance(module.read()[1], MARKER)
    container.unwire()
    with pytest.warns(UnresolvedMarkerWarning, match="other in read"):
        container.wire(modules=[module], warn_unresolved=True)
    container.unwire()


@with_source(STREAM)
async def test_a_closed_stream_is_not_closed_inside(module: Any) -> None:
    container = wire(module)
    stream = module.stream()
    assert await anext(stream) == 1
    await stream.aclose()
    assert module.closed == []
    container.unwire()
