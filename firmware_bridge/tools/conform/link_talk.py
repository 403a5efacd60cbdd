"""The lower half of a conversation with a device: bytes, packets and link sessions, valid or deliberately invalid.

Pure: a step is a generator that yields the time until which it waits; it is resumed then, or when bytes arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import TypeVar

from firmware_bridge.tools.conform.reading import Failed, fields_of, integer
from firmware_bridge.wire.frame import DELIMITER, BadFrame, FrameDecoder, encode_frame
from firmware_bridge.wire.messages import EVENTS
from firmware_bridge.wire.packet import Packet, PacketType, ResetReason, pack, parse_packet

TIMEOUT_S = 4.0  # for OPENED and for Welcome, as in the protocol
SHORT_TIMEOUT_S = 1.0  # the same once the device has failed to answer: a silent one must not take minutes
OPEN_AGAIN_S = 0.3
SOON_S = 0.5  # for what must arrive "at once", with a margin for USB adapters and a busy host
ANSWER_S = 1.5  # for an answer, which is due within 1 s
QUIET_S = 0.4  # how long to listen for what must not arrive
BEAT_S = 1.0
RAW_KEPT = 4096  # raw bytes kept, more than any sequence of packets that is examined
FLOOD = 2000  # most packets in one point: far more than any point needs, and few enough to search repeatedly

T = TypeVar("T")
Steps = Generator[float, None, T]


class LinkTalk:
    """A conversation with a device, over any number of link sessions. Every `write` clears `packets` and `messages`,
    because what arrived earlier cannot be an answer; `events` and `seqs` are kept for the session."""

    def __init__(self, host_boot: int, now: float) -> None:
        self.now = now
        self.host_boot = host_boot
        self.timeout_s = TIMEOUT_S
        self._next_session = host_boot & 0xFFFF
        self._out: list[bytes] = []
        self._decoder = FrameDecoder()
        self._last_sent = now
        self.all_events: set[bytes] = set()  # of all points
        self.begin()

    def begin(self) -> None:
        """Forget everything from the previous point."""
        self.session = 0
        self.boot = 0  # the device's, from OPENED
        self.next_seq = self.expected = 0
        self.acknowledges = True  # False: the device's DATA is neither accepted nor acknowledged
        self.sends_heartbeats = True  # False: this side may fall silent
        self.packets: list[Packet] = []
        self.messages: list[bytes] = []
        self.events: list[bytes] = []
        self.seqs: list[int] = []
        self.window = 1  # the device's, from OPENED
        self.bad_frames = 0
        self._raw = b""
        self._received = 0

    # --- bytes ------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Process bytes from the device."""
        self._raw = (self._raw + data)[-RAW_KEPT:]
        for body in self._decoder.feed(data):
            packet = None if isinstance(body, BadFrame) else parse_packet(body)
            if packet is None:
                self.bad_frames += 1
                continue
            self._received += 1
            if self._received > FLOOD:
                break
            self.packets.append(packet)
            if packet.type is PacketType.DATA and packet.session == self.session:
                self._accept(packet)

    def _accept(self, packet: Packet) -> None:
        self.seqs.append(packet.seq)
        if not self.acknowledges:
            return
        if packet.seq == self.expected:
            self.expected = (self.expected + 1) & 0xFFFF
            self.messages.append(packet.message)
            if integer(fields_of(packet.message), 0, 0) in EVENTS:
                self.events.append(packet.message)
                self.all_events.add(packet.message)
        self._acknowledge()

    def take_output(self) -> bytes:
        """Bytes for the device."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def write(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self.packets.clear()
        self.messages.clear()
        self._emit(data)

    def _emit(self, data: bytes) -> None:
        self._out.append(data)
        self._last_sent = self.now

    def received(self) -> str:
        """What was received since the last `write`, in words."""
        words = [" ".join(str(packet).split()) for packet in self.packets]
        if words:
            return "; ".join(dict.fromkeys(words[-4:])) + " was received"
        return f"{self.bad_frames} invalid frames were received" if self.bad_frames else "nothing was received"

    # --- packets ----------------------------------------------------------------------------------------------------

    def put(self, *packets: Packet) -> None:
        """Send packets back to back."""
        self.write(b"".join(encode_frame(pack(packet)) for packet in packets))

    def put_ack(self, ack: int, kind: PacketType = PacketType.ACK) -> None:
        """Send an ACK or NAK of this session that expects this number."""
        self.put(Packet(kind, self.session, seq=self.next_seq, ack=ack))

    def _acknowledge(self) -> None:
        packet = Packet(PacketType.ACK, self.session, seq=self.next_seq, ack=self.expected)
        self._emit(encode_frame(pack(packet)))

    def data(self, message: bytes, ahead: int = 0) -> Packet:
        """The DATA packet that would carry this message next, or `ahead` packets later."""
        return Packet(PacketType.DATA, self.session, seq=self.next_seq + ahead, ack=self.expected, message=message)

    def say(self, message: bytes) -> Packet:
        """Send a message."""
        packet = self.data(message)
        self.next_seq += 1
        self.put(packet)
        return packet

    def fenced(self, packet: Packet) -> bool:
        """Whether an extra zero preceded this packet when it was last received."""
        at = self._raw.rfind(encode_frame(pack(packet)))
        return self._raw[max(0, at - 2) : at] == DELIMITER * 2

    def came(self, kind: PacketType) -> list[Packet]:
        """The packets of this type received since the last `write`, of any session."""
        return [packet for packet in self.packets if packet.type is kind]

    def other_session(self) -> int:
        """A session number that is not in use."""
        return self.session ^ 0x5A5A or 0x5A5A

    def until(self, found: Callable[[], T | None], within: float) -> Steps[T | None]:
        """Listen until `found` returns something, but at most for this time."""
        until = self.now + within
        while True:
            if self._received > FLOOD:
                raise Failed(f"the device floods the wire with more than {FLOOD} packets")
            result = found()
            if result is not None or self.now >= until:
                return result
            beating = self.session and self.sends_heartbeats
            if beating and self.now >= self._last_sent + BEAT_S:
                self._acknowledge()
            yield min(until, self._last_sent + BEAT_S) if beating else until

    def rest(self, for_s: float) -> Steps[None]:
        """Listen for this long."""
        yield from self.until(lambda: None, for_s)

    def packet(
        self,
        *kinds: PacketType,
        session: int | None = None,
        where: Callable[[Packet], bool] = lambda packet: True,
        within: float = SOON_S,
    ) -> Steps[Packet | None]:
        """Wait for a packet of one of these types, of the current session by default."""

        def fits(packet: Packet) -> bool:
            wanted = self.session if session is None else session
            return packet.type in kinds and packet.session == wanted and where(packet)

        return (yield from self.until(lambda: next(filter(fits, self.packets), None), within))

    def acknowledgement(self, sent: Packet, within: float) -> Steps[Packet | None]:
        """Wait until the device has acknowledged this packet."""
        kinds = (PacketType.ACK, PacketType.NAK, PacketType.DATA)
        return (yield from self.packet(*kinds, where=lambda packet: packet.ack == sent.seq + 1, within=within))

    def message(self, kinds: Collection[int], id: int | None, within: float = ANSWER_S) -> Steps[bytes | None]:
        """Wait for a message with one of these numbers, and with this id or ref if it is given."""

        def fits(message: bytes) -> bool:
            fields = fields_of(message)
            return integer(fields, 0, 0) in kinds and (id is None or integer(fields, 1, -1) == id)

        return (yield from self.until(lambda: next(filter(fits, self.messages), None), within))

    # --- sessions ---------------------------------------------------------------------------------------------------

    def opening(self, window: int = 8, security: int = 0) -> Packet:
        """The OPEN packet of the current session."""
        return Packet(PacketType.OPEN, self.session, boot=self.host_boot, window=window, security=security)

    def open(self, window: int = 8, security: int = 0, spare: bytes = b"") -> Steps[Packet]:
        """Open a new link session, with spare bytes after the layout of OPEN."""
        self._next_session = self._next_session % 0xFFFF + 1
        self.session = self._next_session
        self.next_seq = self.expected = 0
        self.events, self.seqs = [], []
        give_up = self.now + self.timeout_s
        while self.now < give_up:
            self.write(DELIMITER + encode_frame(pack(self.opening(window, security)) + spare))
            opened = yield from self.packet(PacketType.OPENED, within=min(OPEN_AGAIN_S, give_up - self.now))
            if opened:
                self.boot = opened.boot
                self.window = max(1, min(opened.window, 8))  # link.open checks the bounds
                return opened
        expected = f"no OPENED of session {self.session:04x} within {self.timeout_s:g} s"
        self.timeout_s = SHORT_TIMEOUT_S
        raise Failed(f"{expected}, but {self.received()}")

    def leave(self) -> None:
        """End the link session, if there is one."""
        if self.session:
            reason = ResetReason.GOODBYE
            self.put(Packet(PacketType.RESET, self.session, boot=self.host_boot, reason=reason))
        self.session = 0
