"""The ``ray`` sections: how models and their ingress are deployed with Ray Serve."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from containers.settings.dotted import FunctionPath
from containers.settings.problems import refuse, refuse_keys
from containers.settings.section import NonEmpty, Section

AtLeastOne = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


def _prefix(value: str) -> str:
    if not value.startswith("/") or (value != "/" and value.endswith("/")):
        raise refuse(
            "is {value}, but a prefix begins with / and does not end with one",
            "Write / or a path such as /llm.",
            value=value,
        )
    return value


class RayAutoscalingSettings(Section):
    """How many replicas there are, by the requests that each is answering.

    Attributes:
        min_replicas: Fewest replicas, 0 or more; with 0 the first request after a while
            waits for one to start.
        max_replicas: Most replicas, 1 or more, and not below ``min_replicas``.
        target_ongoing_requests: Requests that each replica answers at a time when
            there are neither too few of them nor too many, above 0.
        upscale_delay_s: Seconds there must be too few before some are added, above 0.
        downscale_delay_s: Seconds there must be too many before some go, above 0.
    """

    min_replicas: Annotated[int, Field(ge=0)] = 1
    max_replicas: AtLeastOne
    target_ongoing_requests: Annotated[float, Field(gt=0)] = 128.0
    upscale_delay_s: Seconds = 30.0
    downscale_delay_s: Seconds = 600.0

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min_replicas > self.max_replicas:
            problem = refuse("is above max_replicas", "Lower it, or raise the other.")
            raise refuse_keys({("min_replicas",): problem})
        return self


class RayDeploymentSettings(Section):
    """How many replicas one deployment has, and what each of them takes.

    Attributes:
        replicas: How many there are, 1 or more; ``autoscaling`` instead lets it vary.
        autoscaling: How their number varies; ``None`` for a fixed one.
        max_ongoing_requests: Requests a replica takes at a time, 1 or more; more wait
            in the ingress, or before it.
        num_cpus: CPUs that Ray reserves for a replica, 0 or more.
    """

    replicas: AtLeastOne = 1
    autoscaling: RayAutoscalingSettings | None = None
    max_ongoing_requests: AtLeastOne = 256
    num_cpus: Share = 1.0

    @model_validator(mode="after")
    def _fixed_or_not(self) -> Self:
        if self.autoscaling is not None and "replicas" in self.model_fields_set:
            problem = refuse("contradicts autoscaling", "Leave out one of the two.")
            raise refuse_keys({("replicas",): problem})
        return self

    @property
    def most_replicas(self) -> int:
        """How many there may be at most."""
        return self.autoscaling.max_replicas if self.autoscaling else self.replicas


class RayModelSettings(RayDeploymentSettings):
    """How a model is deployed with Ray Serve; nothing else reads it.

    Attributes:
        max_queued_requests: Requests that wait in each replica of the ingress for one
            of the model's, 1 or more; more are answered 503. ``None`` for any number.
        num_gpus: GPUs that Ray reserves for a replica, 0 or more; ``None`` for one for
            each worker of its engine, where PyTorch is built for an accelerator.
        accelerator_type: Ray's name of the GPU it needs, such as ``H100``; ``None`` for
            any.
        resources: Further resources of Ray's that a replica takes, by name.
        placement: Where workers of an engine run whose ``distributed_executor_backend``
            is ``ray``: in as few nodes as possible (``PACK``), in one
            (``STRICT_PACK``), or apart (``SPREAD``, ``STRICT_SPREAD``).
    """

    max_queued_requests: AtLeastOne | None = None
    num_gpus: Share | None = None
    accelerator_type: NonEmpty | None = None
    resources: dict[str, Share] = Field(default_factory=dict)
    placement: Literal["PACK", "STRICT_PACK", "SPREAD", "STRICT_SPREAD"] = "PACK"


class RayIngressSettings(RayDeploymentSettings):
    """The deployment before the models, which tells whose a request is.

    Attributes:
        max_ongoing_requests: Requests a replica of it passes on at a time, 1 or more;
            more wait in Ray's proxies.
    """

    max_ongoing_requests: AtLeastOne = 4096


class RaySettings(Section):
    """What all deployments have in common; read only where Ray Serve serves.

    Attributes:
        application: Name of the Ray Serve application that ``vllm-di serve --ray``
            runs.
        route_prefix: Path before all routes of that application.
        address: Address of the cluster that ``vllm-di serve --ray`` connects to, such
            as ``auto``; ``None`` for the one ``RAY_ADDRESS`` names, or else a new one
            on this machine.
        ingress: The deployment before the models.
        health_check_period_s: Seconds between two questions to a replica whether it is
            well, above 0; after three bad answers it is replaced.
        container: ``package.module:function`` of what makes the container of a replica
            from its settings; ``None`` for the usual one.
    """

    application: NonEmpty = "vllm-di"
    route_prefix: Annotated[str, AfterValidator(_prefix)] = "/"
    address: NonEmpty | None = None
    ingress: RayIngressSettings = RayIngressSettings()
    health_check_period_s: Seconds = 2.0
    container: FunctionPath | None = None
