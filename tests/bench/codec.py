"""Typed message to bytes and back: frames per second, ours against pymodbus' RTU framer."""

from __future__ import annotations

import time
from collections.abc import Callable

from firmware_bridge.wire.frame import FrameDecoder, encode_frame
from firmware_bridge.wire.messages import Cycle, CycleDone, Outcome, decode_from_device
from firmware_bridge.wire.packet import SEQUENCED
from tests.bench.measure import Row, interleave

FRAMES = 200  # in a round: short, so that all contenders run under the same conditions
ROUNDS = 151


MESSAGE = CycleDone(1234, 567890, 4321, Cycle.SHUFFLE, Outcome.COMPLETE, 53, 53700)


def ours() -> Callable[[], float]:
    """Message to frame; then frame to message."""
    decoder = FrameDecoder()

    def run() -> float:
        start = time.perf_counter()
        for _ in range(FRAMES):
            (body,) = decoder.feed(encode_frame(MESSAGE.encode()))
            decode_from_device(body)  # type: ignore[arg-type]
        return FRAMES / (time.perf_counter() - start)

    return run


def with_link() -> Callable[[], float]:
    """The same with the link's header: session, sequence number and acknowledgement."""
    decoder = FrameDecoder()

    def run() -> float:
        start = time.perf_counter()
        for number in range(FRAMES):
            (body,) = decoder.feed(encode_frame(SEQUENCED.pack(0x12, 7, number, 9) + MESSAGE.encode()))
            SEQUENCED.unpack_from(body)  # type: ignore[arg-type]
            decode_from_device(body[SEQUENCED.size :])  # type: ignore[index]
        return FRAMES / (time.perf_counter() - start)

    return run


def pymodbus() -> Callable[[], float]:
    """A response with as many bytes."""
    from pymodbus.framer import FramerRTU
    from pymodbus.pdu import DecodePDU
    from pymodbus.pdu.register_message import ReadHoldingRegistersResponse

    framer = FramerRTU(DecodePDU(False))
    message = ReadHoldingRegistersResponse(registers=list(range(12)), dev_id=1)

    def run() -> float:
        start = time.perf_counter()
        for _ in range(FRAMES):
            wire = framer.buildFrame(message)
            _, pdu = framer.handleFrame(wire, 1, 0)
            assert pdu is not None
        return FRAMES / (time.perf_counter() - start)

    return run


def rows() -> list[Row]:
    """Frames per second."""
    figures = interleave({"ours": ours(), "with link": with_link(), "pymodbus": pymodbus()}, ROUNDS)
    peer = "pymodbus RTU framer"
    return [
        Row("codec, message to frame and back", "frames/s", figures["ours"], figures["pymodbus"], peer, ">= 12"),
        Row("the same with the link's header", "frames/s", figures["with link"], figures["pymodbus"], peer),
    ]
