"""Defects that a maker's firmware may have, one for each point of the conformance test, which must find exactly that.

A simulated device gets one by its `build`: `SimulatedTable(build=DEFECTS["frame.crc"])`.
"""

from simulators.faulty_firmware import (  # noqa: F401 - they fill the list
    cards,
    commands,
    events,
    frame,
    hidden_cards,
    link,
    packets,
    session,
)
from simulators.faulty_firmware.book import DEFECTS

__all__ = ["DEFECTS"]
