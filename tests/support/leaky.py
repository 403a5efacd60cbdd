"""`python -m tests.support.leaky WORDS`: shoed with planted leaks that a search for undealt cards must find."""

from __future__ import annotations

import sys
from typing import Any

import structlog

from controller.api.metrics import Totals
from controller.cli import shoed
from controller.core.decision import Decision
from controller.core.events.devices import DeviceReported
from controller.core.events.event import Entry
from controller.core.rules import devices
from controller.daemon import daemon, live_table
from firmware_bridge.wire.messages import CardsCounted, UnknownEvent
from firmware_bridge.wire.session import Happening


def leak() -> None:
    """Leak into the log, the journal and the metrics, and from there into responses, live events and the bundle."""
    counting, report_of, take = devices._counted, live_table.report_of, Totals.take

    def journaled(d: Decision, name: str, given: Any, happened: Any) -> None:
        if happened.kinds:
            d.emit(DeviceReported(device=name, event=str(happened.kinds)))
        counting(d, name, given, happened)

    def logged(device: str, boot: int, happening: Happening) -> Any:
        if isinstance(happening, UnknownEvent):
            structlog.get_logger().info("something new", content=happening.content.hex())
        return report_of(device, boot, happening)

    def counted(totals: Totals, entry: Entry) -> None:
        if isinstance(entry.event, DeviceReported):
            totals.voids[entry.event.event] = 1
        take(totals, entry)

    devices._OF_COMMAND[CardsCounted] = journaled
    setattr(daemon, "report_of", logged)  # noqa: B010
    setattr(Totals, "take", counted)  # noqa: B010


if __name__ == "__main__":
    leak()
    sys.argv[0] = "shoed"
    shoed.main()
