"""LoRA adapters of a fake engine."""

from __future__ import annotations

from typing import Any


class LoraMembers:
    """Takes any adapter and remembers it; none is loaded from disk.

    Attributes:
        loras: vLLM's ``LoRARequest`` of each adapter, by its integer id.
    """

    def __init__(self) -> None:
        self.loras: dict[int, Any] = {}

    async def add_lora(self, lora_request: Any) -> bool:
        """Add an adapter, or replace the one of the same id."""
        self.loras[lora_request.lora_int_id] = lora_request
        return True

    async def remove_lora(self, lora_id: int) -> bool:
        """Remove an adapter; ``False`` when there is none of this id."""
        return self.loras.pop(lora_id, None) is not None

    async def list_loras(self) -> set[int]:
        """Ids of the adapters added."""
        return set(self.loras)

    async def pin_lora(self, lora_id: int) -> bool:
        """Whether there is such an adapter; none is ever evicted."""
        return lora_id in self.loras
