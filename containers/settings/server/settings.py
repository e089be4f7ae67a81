"""The whole ``server`` section."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from containers.settings.problems import refuse, refuse_keys
from containers.settings.server.authentication import AuthenticationSettings
from containers.settings.server.browsers import BrowserSettings
from containers.settings.server.generations import GenerationSettings
from containers.settings.server.limits import LimitSettings
from containers.settings.server.listening import ListeningSettings
from containers.settings.server.observing import ObservationSettings
from containers.settings.server.surface import SurfaceSettings
from containers.settings.server.tls import TlsSettings

Seconds = Annotated[float, Field(gt=0)]


def _one_worker(value: int) -> int:
    if value != 1:
        raise refuse(
            "is {value}, but each worker would load the model for itself",
            "Leave it out: the engine batches the requests of any number of clients. "
            "Set frontends for several processes over one engine.",
            value=value,
        )
    return value


class ServerSettings(
    ObservationSettings,
    SurfaceSettings,
    BrowserSettings,
    LimitSettings,
    GenerationSettings,
    AuthenticationSettings,
    TlsSettings,
    ListeningSettings,
):
    """How the HTTP server listens, what it offers, and how it starts and stops.

    Attributes:
        start_timeout_s: Seconds a model may take to start, above 0.
        resource_start_timeout_s: Seconds each of its resources may take, above 0;
            ``None`` for no limit but the model's.
        drain_timeout_s: Seconds requests in flight may go on when the server is told
            to end, 0 or more.
        stop_timeout_s: Seconds stopping may take before it is forced, above 0.
        require_all_models: Whether the server ends when one of several models does not
            start or its engine dies; otherwise the others go on serving.
        workers: Server processes; always 1, since each would load the model.
        frontends: Processes of ``vllm-di serve`` that answer requests over one engine,
            1 to 64; for what one of them, which is Python, cannot keep up with.
    """

    start_timeout_s: Seconds = 600.0
    resource_start_timeout_s: Seconds | None = None
    drain_timeout_s: Annotated[float, Field(ge=0)] = 30.0
    stop_timeout_s: Seconds = 30.0
    require_all_models: bool = False
    workers: Annotated[int, AfterValidator(_one_worker)] = 1
    frontends: Annotated[int, Field(ge=1, le=64)] = 1

    @model_validator(mode="after")
    def _page_has_a_key(self) -> Self:
        if self.ui and self.wants_key and not self.has_admin_keys:
            problem = refuse(
                "has no key that opens it: it shows errors and settings",
                "Set admin_keys too.",
            )
            raise refuse_keys({("ui",): problem})
        return self
