"""A table in virtual time whose shoe recognises cards."""

from __future__ import annotations

from firmware_bridge.wire.messages import Capability
from simulators.table.house import House


class RecognisingHouse(House):
    """The shoe knows every card that it deals."""

    def capabilities_of(self, device: str) -> frozenset[Capability]:
        able = super().capabilities_of(device)
        return able | {Capability.RECOGNISES} if device == "shoe" else able
