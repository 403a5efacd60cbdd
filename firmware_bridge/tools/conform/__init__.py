"""The conformance test: exercises a device and reports, point by point, whether it follows docs/protocol.md."""

# The order of these imports is the order of the points: from the lowest layer up.
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
    hidden_points,
    refusal_points,
    sequence_points,
    hands_points,
    power_points,
)
from firmware_bridge.tools.conform.coverage import OUTSIDE, not_covered
from firmware_bridge.tools.conform.person import HandTask
from firmware_bridge.tools.conform.point import POINTS, Point, chosen
from firmware_bridge.tools.conform.run import AFTERWARDS, Conformance, PointResult, conform, run_points

__all__ = [
    "AFTERWARDS",
    "OUTSIDE",
    "POINTS",
    "Conformance",
    "HandTask",
    "Point",
    "PointResult",
    "chosen",
    "conform",
    "not_covered",
    "run_points",
]
