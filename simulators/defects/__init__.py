"""Defects that a maker's firmware may have, one for each point of the conformance test, which must find exactly that.

A simulated device gets one by its `build`: `SimulatedTable(build=DEFECTS["frame.crc"])`.
"""

from simulators.defects import (  # noqa: F401 - they fill the list
    of_cards,
    of_commands,
    of_events,
    of_frame,
    of_link,
    of_packets,
    of_session,
)
from simulators.defects.book import DEFECTS

__all__ = ["DEFECTS"]
