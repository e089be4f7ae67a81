"""``/docs``, ``/redoc`` and ``/openapi.json``: from the internet, from here, or not."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from containers.errors import SettingsError
from containers.settings import ServerSettings
from containers.vllm_api.release import package_folder

STATIC = "entrypoints/serve/instrumentator/static"


def document_options(server: ServerSettings) -> dict[str, Any]:
    """FastAPI's options for the documents the settings ask for."""
    if server.disable_fastapi_docs:
        return {"openapi_url": None, "docs_url": None, "redoc_url": None}
    if server.enable_offline_docs:
        return {"docs_url": None, "redoc_url": None}
    return {}


def add_offline_docs(app: FastAPI, server: ServerSettings) -> None:
    """Serve ``/docs`` with the files in vLLM's package, where the settings say so.

    Raises:
        SettingsError: The installed vLLM has no such files.

    Source:
        vllm/entrypoints/serve/instrumentator/offline_docs.py (0.32.0).
    """
    if not server.enable_offline_docs:
        return
    folder = package_folder()
    if folder is None or not (folder / STATIC).is_dir():
        raise SettingsError(
            key="server.enable_offline_docs",
            reason="the installed vLLM has no files for it",
            hint="Leave it out.",
        )
    app.mount("/static", StaticFiles(directory=folder / STATIC), name="static")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url=f"{app.root_path}{app.openapi_url}",
            title=app.title,
            swagger_js_url=f"{app.root_path}/static/swagger-ui-bundle.js",
            swagger_css_url=f"{app.root_path}/static/swagger-ui.css",
        )
