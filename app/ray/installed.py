"""The Ray that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from containers.errors import SettingsError

SUPPORTED = "2.60"
"""Release line that all of this is tested with, and whose inner names it knows."""

_HINT = "pip install 'vllm-di[ray]'"


def require_ray() -> None:
    """Return when Ray Serve is here, in a release that is known.

    Raises:
        SettingsError: It is not.
    """
    try:
        found = version("ray")
    except PackageNotFoundError:
        raise SettingsError(
            key="ray", reason="cannot be served: Ray is not installed", hint=_HINT
        ) from None
    if not found.startswith(f"{SUPPORTED}."):
        raise SettingsError(
            key="ray",
            reason=f"needs Ray {SUPPORTED}, and {found} is installed",
            hint=_HINT,
        )
    try:
        import ray.serve  # noqa: F401  # to know that its own dependencies are here
    except ImportError as error:
        raise SettingsError(
            key="ray", reason=f"cannot be served: {error}", hint=_HINT
        ) from error
