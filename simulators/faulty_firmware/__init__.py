"""Defects that a maker's firmware may have, one for each point of the conformance test, which must find exactly it.

A simulated device gets one by its `build`: `SimulatedTable(build=DEFECTS["frame.crc"])`. MECHANICAL has the defects in
what a device does with cards, or says about them; more than one point may find such a defect.
"""

from simulators.faulty_firmware import (  # noqa: F401 - they fill the list
    cards,
    commands,
    events,
    frame,
    hands,
    hidden_cards,
    link,
    memory,
    moves,
    packets,
    reports,
    session,
)
from simulators.faulty_firmware.defect_lists import DEFECTS, MECHANICAL, MechanicalDefect

__all__ = ["DEFECTS", "MECHANICAL", "MechanicalDefect"]
