"""pytest plugin of vllm-di: fixtures that serve a model's double, cassettes, checks.

It imports nothing before a test asks for one of its fixtures. What an application
serves in its tests is decided by redefining one of them in a ``conftest.py``:
``serving_settings``, ``serving_engine``, ``serving_container`` or ``serving_app``.
"""

from __future__ import annotations

import functools
import inspect
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import httpx
    from dependency_injector.containers import Container
    from openai import AsyncOpenAI

    from containers.settings import ModelSettings
    from containers.testing.session import SharedSession

MODES = ("none", "once", "new", "all")
MARKER = (
    "cassette(path=None, *, delays=False, secrets=()): answer what was recorded; the "
    "file is cassettes/MODULE/TEST.jsonl beside the test unless a path is given"
)
FIXTURES = frozenset(
    {
        "serving_engine",
        "serving_container",
        "serving_app",
        "serving_client",
        "openai_client",
    }
)
WITHOUT_VLLM = (
    "To test without vLLM define a fixture serving_container that returns "
    "containers.testing.fake_container(serving_chat=FakeServingChat(...))."
)
WITHOUT_XDIST = (
    "--vllm-di-record asks one real engine and writes files that tests may share: "
    "record without xdist (-n 0)."
)
_BEFORE = pytest.StashKey[dict[str, Any]]()
_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--vllm-di-record``."""
    parser.getgroup("vllm-di").addoption(
        "--vllm-di-record",
        metavar="MODE",
        nargs="?",
        const="new",
        default="none",
        type=_mode,
        help="record cassettes with a real engine: once (those that are not there), "
        "new (also what one lacks; meant if no MODE is given), all (anew), none",
    )


def _mode(text: str) -> str:
    if text not in MODES:
        raise ArgumentTypeError(
            f"{text!r} is no mode ({', '.join(MODES)}); for a path write "
            f"--vllm-di-record=new {text}, or the path first"
        )
    return text


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture(scope="session")
def _serving_session() -> Iterator[SharedSession]:
    from containers.testing.session import SharedSession

    session = SharedSession()
    yield session
    session.close()


@pytest.fixture(scope="session")
def serving_settings(tmp_path_factory: pytest.TempPathFactory) -> ModelSettings:
    """Settings of the served model: a tiny one, without weights, called ``tiny``."""
    from containers.testing.session import tiny_settings

    return tiny_settings(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def serving_engine(request: pytest.FixtureRequest) -> Any:
    """What stands where the engine would: a ``FakeEngine``, or the test's cassette."""
    from containers.errors import VllmMismatchError
    from containers.testing import FakeEngine

    marker = request.node.get_closest_marker("cassette")
    try:
        return _cassette(request, marker) if marker else FakeEngine()
    except VllmMismatchError as error:
        error.add_note(WITHOUT_VLLM)
        raise


@pytest.fixture
def serving_container(
    serving_settings: ModelSettings,
    serving_engine: Any,
    _serving_session: SharedSession,
) -> Iterator[Container]:
    """A ``ModelContainer``, not started, in which only the engine is a double."""
    from containers.testing import override

    container = _serving_session.container(serving_settings)
    with override(container, engine=serving_engine):
        yield container


@pytest.fixture
def serving_app(serving_container: Container) -> Any:
    """An app that serves the container; it starts at the first request."""
    from app import create_app

    return create_app(serving_container)


@pytest.fixture
def serving_client(
    serving_app: Any, _serving_session: SharedSession, request: pytest.FixtureRequest
) -> Iterator[httpx.AsyncClient]:
    """HTTP client of the app, which runs on an event loop of its own."""
    import httpx

    container = None
    if "serving_container" in request.fixturenames:
        container = request.getfixturevalue("serving_container")
    with _serving_session.serving(serving_app, container) as (transport, left):
        yield httpx.AsyncClient(
            transport=transport, base_url="http://test", trust_env=False
        )
    _fail_for(request.node, left)


@pytest.fixture
def openai_client(serving_client: httpx.AsyncClient) -> AsyncOpenAI:
    """OpenAI's own client of the app."""
    try:
        from openai import AsyncOpenAI
    except ModuleNotFoundError:
        pytest.fail("openai_client needs OpenAI's package: pip install openai")
    return AsyncOpenAI(
        base_url="http://test/v1",
        api_key="none",
        http_client=serving_client,  # type: ignore[arg-type]  # it takes both httpx's
        max_retries=0,
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note what is overridden before a test that uses the fixtures."""
    if FIXTURES.intersection(getattr(item, "fixturenames", ())):
        item.stash[_BEFORE] = _declared_overrides()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Watch a ``serving_container``, whoever defines it, until it is torn down."""
    container = yield
    if fixturedef.argname == "serving_container":
        from containers.testing.overrides import refuse_late_overrides

        refuse_late_overrides(container)
        if request.scope == "function":
            # It runs when the fixtures that use the container are torn down.
            fixturedef.addfinalizer(_container_check(request.node, container))
    return container


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that leaves tasks behind."""
    if _BEFORE not in item.stash or not isinstance(item, pytest.Function):
        return (yield)
    from containers.testing.overrides import overrides_of

    container = item.funcargs.get("serving_container")
    if container:
        item.stash[_BEFORE]["serving_container"] = overrides_of(container)
    test = item.obj
    if inspect.iscoroutinefunction(test):
        item.obj = _checked(item, test)
    try:
        return (yield)
    except BaseException:
        item.stash[_FAILED] = True
        raise
    finally:
        item.obj = test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test whose fixtures are gone while its overrides are not."""
    container = getattr(item, "funcargs", {}).get("serving_container")
    result = yield
    if _BEFORE in item.stash and not item.stash.get(_FAILED, False):
        from containers.testing.leaks import overrides_left
        from containers.testing.overrides import overrides_of

        now = _declared_overrides()
        if container:
            now["serving_container"] = overrides_of(container)
        before = item.stash[_BEFORE]
        left = [
            sentence
            for name, overrides in now.items()
            for sentence in overrides_left(before.get(name, {}), overrides, name)
        ]
        _fail_for(item, left)
    return result


def _container_check(item: pytest.Item, container: Container) -> Callable[[], None]:
    from containers.testing.leaks import container_left
    from containers.testing.overrides import overrides_of

    before = overrides_of(container)

    def check() -> None:
        if not item.stash.get(_FAILED, False):
            _fail_for(item, list(container_left(before, container)))

    return check


def _checked(item: pytest.Item, test: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(test)
    async def run(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        import asyncio

        from containers.testing.leaks import tasks_left

        before = asyncio.all_tasks()
        await test(*args, **kwargs)
        _fail_for(item, await tasks_left(before))

    return run


def _fail_for(item: pytest.Item, left: list[str]) -> None:
    if left:
        sentences = "\n".join(f"  {sentence}" for sentence in left)
        pytest.fail(f"{item.nodeid} leaves behind:\n{sentences}", pytrace=False)


def _declared_overrides() -> dict[str, Any]:
    from containers import ApplicationContainer, ModelContainer
    from containers.testing.overrides import overrides_of

    classes = (ModelContainer, ApplicationContainer)
    return {each.__name__: overrides_of(each) for each in classes}


def _cassette(request: pytest.FixtureRequest, marker: pytest.Mark) -> Any:
    from containers.testing import ReplayEngine

    path, options = _cassette_path(request, *marker.args), dict(marker.kwargs)
    mode = request.config.getoption("--vllm-di-record")
    if mode == "none":
        return ReplayEngine(path, **options)
    if hasattr(request.config, "workerinput"):
        pytest.fail(WITHOUT_XDIST, pytrace=False)
    session: SharedSession = request.getfixturevalue("_serving_session")
    settings = functools.partial(request.getfixturevalue, "serving_settings")
    return session.cassette(settings, path, mode=mode, **options)


def _cassette_path(
    request: pytest.FixtureRequest, path: str | Path | None = None
) -> Path:
    folder = request.path.parent
    if path is not None:
        return folder / path
    _, _, test = request.node.nodeid.partition("::")
    name = re.sub(r"[^\w.=-]+", "_", test)
    return folder / "cassettes" / request.path.stem / f"{name}.jsonl"
