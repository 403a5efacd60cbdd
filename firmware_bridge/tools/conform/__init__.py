"""Exercises a device on a port from the outside and tells, point by point, whether it keeps to docs/protocol.md."""

# The points are listed in the order of these imports: from the wire upwards.
from firmware_bridge.tools.conform import (  # noqa: F401, I001
    frame_points,
    packet_points,
    link_points,
    order_points,
    session_points,
    command_points,
    event_points,
    cards_points,
    hindrance_points,
)
from firmware_bridge.tools.conform.point import POINTS, Point, chosen
from firmware_bridge.tools.conform.run import AFTERWARDS, Conformance, PointResult, conform, run_points

__all__ = ["AFTERWARDS", "POINTS", "Conformance", "Point", "PointResult", "chosen", "conform", "run_points"]
