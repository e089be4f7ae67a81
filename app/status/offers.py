"""What can be asked of a server and of its models."""

from __future__ import annotations

from app.lora_switch import is_enabled
from app.service import Service
from containers.registry import ServedModel


def offers(service: Service) -> dict[str, bool]:
    """Which routes there are for administrators, and whether they have work to do."""
    server = service.container.settings().server
    return {
        "reload": server.has_admin_keys and service.load_settings is not None,
        "sleep": server.has_admin_keys,
        "unload": server.has_admin_keys,
        "drain": server.has_admin_keys,
        "adapters": is_enabled(server),
    }


def model_offers(model: ServedModel) -> dict[str, bool]:
    """What a model can do: answer chats, take adapters, give its memory back asleep."""
    engine = model.settings.engine
    return {
        "chat": model.is_able and generates(model),
        "adapters": bool(engine.get("enable_lora")),
        "sleep": bool(engine.get("enable_sleep_mode")),
    }


def generates(model: ServedModel) -> bool:
    """Whether it generates text; by its settings, before it has been loaded once."""
    known = model.can("serving_chat") if model.is_able else None
    if known is None:
        return model.settings.engine.get("runner") != "pooling"
    return known
