"""What releases do differently that callers or tests can see, by named flags.

Where only a name moved or a call changed, the other two tables do
(:mod:`containers.vllm_api.names`, :mod:`containers.vllm_api.arguments`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from containers.vllm_api.release import release_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How a release behaves; the defaults are the newest supported one's.

    Attributes:
        client_lacks: Members of the newest ``EngineClient`` that this one has not.
        front_end_lacks: Options of the newest ``vllm serve`` that this one has not,
            among those that are told one by one (``containers.settings.options``).
        pairs_enable_with_disable: Whether ``--disable-lora`` is the contrary of
            ``--enable-lora``, as ``--no-enable-lora`` is.
        pooler_has_flash_late_interaction: Whether the engine's ``PoolerConfig`` has
            its half of ``enable_flash_late_interaction``.
    """

    pooler_has_flash_late_interaction: bool = True
    pairs_enable_with_disable: bool = True
    client_lacks: frozenset[str] = frozenset()
    front_end_lacks: frozenset[str] = frozenset()


_V0_32 = Behaviour(
    pairs_enable_with_disable=False,
    client_lacks=frozenset(
        {"get_external_elastic_ep_status", "should_keep_api_server_alive"}
    ),
)
_V0_31 = replace(
    _V0_32,
    client_lacks=_V0_32.client_lacks
    | {"compute_weight_checksums", "shutdown_weight_transfer_engine"},
    front_end_lacks=frozenset({"grpc_port"}),
    pooler_has_flash_late_interaction=False,
)

BEHAVIOUR = {"0.31": _V0_31, "0.32": _V0_32}
"""Release line to how it behaves, where that is not how the newest one does."""


def behaviour() -> Behaviour:
    """How the installed vLLM behaves.

    Raises:
        VllmMismatchError: vLLM is absent, unsupported or half installed.
    """
    return BEHAVIOUR.get(release_line(), Behaviour())
