"""Both servers over an engine that answers at once.

``python -m bench.front_ends KIND PORT [N_MODELS]`` serves until it is told to end. The
kinds are ``stock``, ``ours``, ``ours-off`` with what ``performance`` turns off turned
off, and those of :data:`WATCHED` and :data:`MORE`.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvloop
from dependency_injector import providers
from fastapi import FastAPI

from app import (
    ChatTemplateDep,
    EngineDep,
    ServingChatDep,
    ServingTokenizationDep,
    TokenizerDep,
    create_app,
)
from app.frontends.listeners import listen_together
from app.frontends.process import OwnerProcess
from app.logs import logs
from app.server import ServerProcess, listen
from bench.instant_engine import InstantEngine
from containers import ApplicationContainer, ModelContainer, Settings
from containers.source import model_folder
from tests.engine.servers import CHAT, Server, free_port

OFF = "unwatched"
ALL = "all three"
_TRACES = {"traces": {"protocol": "http/protobuf"}}
_NO_LINES = {"logs": {"requests": False}}
WATCHED: dict[str, dict[str, Any]] = {
    OFF: {"request_metrics": False, **_NO_LINES},
    "metrics": _NO_LINES,
    "logs": {"request_metrics": False},
    "traces": {"request_metrics": False, **_NO_LINES, **_TRACES},
    ALL: _TRACES,
}
"""Kinds of ours by what watches its requests: server settings."""
MORE: dict[str, dict[str, Any]] = {"ours-2": {"frontends": 2}}
"""Kinds of ours by how many front ends there are: server settings."""
SLOW = {"fast_streams": False, "short_prompt_max_chars": 0, "shared_writes": False}
LOOK_S = 0.005
MAX_MODEL_LEN = 8192
FLAGS = f"max_model_len {MAX_MODEL_LEN}, access log off; otherwise the defaults of both"


def start(kind: str, folder: Path, *, n_models: int = 1) -> Server:
    """One of the two in a process of its own."""
    port = free_port()
    module = [sys.executable, "-m", "bench.front_ends"]
    return Server(
        [*module, kind, str(port), str(n_models)],
        folder / f"{kind}.log",
        url=f"http://127.0.0.1:{port}",
    )


@contextmanager
def running(*kinds: str, n_models: int = 1) -> Iterator[list[Server]]:
    """Servers of these kinds, once they are ready."""
    with tempfile.TemporaryDirectory() as folder:
        servers = [start(kind, Path(folder), n_models=n_models) for kind in kinds]
        try:
            for server in servers:
                server.wait_until_ready()
            yield servers
        finally:
            for server in servers:
                server.kill()


def settings_of(
    port: int,
    n_models: int,
    performance: dict[str, Any],
    server: dict[str, Any],
) -> Settings:
    """The repository's chat model, and others of its kind that nobody asks for."""
    engine = CHAT["engine"] | {"max_model_len": MAX_MODEL_LEN}
    first = CHAT | {"engine": engine}
    others = [
        first | {"name": f"{CHAT['name']}-{number}", "load": "lazy"}
        for number in range(1, n_models)
    ]
    return Settings.model_validate(
        {
            "server": {"port": port, "ui": True} | server,
            "models": [first, *others],
            "performance": performance,
        }
    )


def application_of(settings: Settings) -> ApplicationContainer:
    """An application of ours over instant engines."""
    models = {}
    for model in settings.models:
        container = ModelContainer(settings=model, performance=settings.performance)
        container.engine.override(InstantEngine())
        models[model.name] = container
    return ApplicationContainer(settings=settings, models=providers.Object(models))


def app_of(settings: Settings, *, wait_until_ready: bool = True) -> FastAPI:
    """An app of ours over instant engines."""
    return create_app(application_of(settings), wait_until_ready=wait_until_ready)


def serve_ours(settings: Settings) -> int:
    """Serve as ``vllm-di serve`` does, but for the engines."""
    app = app_of(settings, wait_until_ready=False)
    add_probes(app)
    with logs(settings.server.logs), listen(settings.server) as listener:
        process = ServerProcess(
            app, settings.server, on_ready=lambda: print("ready"), on_failure=print
        )
        return uvloop.run(process.run(listener))


def serve_together(settings: Settings) -> int:
    """Serve with several front ends, each over an instant engine of its own."""
    app = app_of(settings, wait_until_ready=False)
    with logs(settings.server.logs):
        listeners = listen_together(settings.server)
        process = OwnerProcess(
            app,
            settings.server,
            listeners,
            on_ready=lambda: print("ready"),
            on_failure=lambda text: print(text, flush=True),
            made_by="bench.front_ends:application_of",
        )
        return uvloop.run(process.run(listeners[0]))


def add_probes(app: FastAPI) -> None:
    """Routes of the measurement's own: a plain one, one with objects, and the lag."""

    @app.get("/plain")
    async def plain() -> str:
        return "ok"

    @app.get("/injected")
    async def injected(
        engine: EngineDep,
        tokenizer: TokenizerDep,
        chat_template: ChatTemplateDep,
        serving_chat: ServingChatDep,
        serving_tokenization: ServingTokenizationDep,
    ) -> str:
        del engine, tokenizer, chat_template, serving_chat, serving_tokenization
        return "ok"

    worst = Lag()

    @app.get("/lag")
    async def lag() -> float:
        return worst.taken_s()


class Lag:
    """How late the event loop was at the worst, since it was last asked."""

    def __init__(self) -> None:
        self._worst_s = 0.0
        self._due_s: float | None = None

    def taken_s(self) -> float:
        """Seconds; each time it begins anew, the first time it begins to look."""
        worst_s, self._worst_s = self._worst_s, 0.0
        if self._due_s is None:
            self._look()
        return worst_s

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if self._due_s is not None:
            self._worst_s = max(self._worst_s, loop.time() - self._due_s)
        self._due_s = loop.time() + LOOK_S
        loop.call_at(self._due_s, self._look)


def serve_stock(port: int) -> None:
    """Serve as vLLM's own server does, but for the engine."""
    from vllm.entrypoints.launchers.api_server import entry
    from vllm.renderers import renderer_from_config

    from containers import vllm_api

    @asynccontextmanager
    async def instant(engine_args: Any, **_: Any) -> AsyncIterator[Any]:
        vllm_config = engine_args.create_engine_config()
        engine = InstantEngine(supported_tasks=("generate",))
        engine.vllm_config = vllm_config
        engine.model_config = vllm_config.model_config
        engine.renderer = renderer_from_config(vllm_config)
        engine.input_processor = vllm_api.InputProcessor(vllm_config, engine.renderer)
        yield engine

    entry.build_async_engine_client_from_engine_args = instant
    parser = vllm_api.make_arg_parser(vllm_api.FlexibleArgumentParser())
    arguments = parser.parse_args(
        [
            *("--model", str(model_folder(CHAT["source"]))),
            *("--served-model-name", CHAT["name"]),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--max-model-len", str(MAX_MODEL_LEN), "--disable-uvicorn-access-log"),
        ]
    )
    uvloop.run(entry.run_server(arguments))


def main() -> None:
    """Serve what the command line names."""
    kind, port, n_models = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if kind == "stock":
        serve_stock(port)
    else:
        performance = SLOW if kind == "ours-off" else {}
        server = WATCHED.get(kind, {"disable_uvicorn_access_log": True})
        settings = settings_of(
            port, n_models, performance, {**server, **MORE.get(kind, {})}
        )
        (serve_together if kind in MORE else serve_ours)(settings)


if __name__ == "__main__":
    main()
