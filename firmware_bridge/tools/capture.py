"""Captures: every byte on a line with its time and direction, stored in a file and decoded frame by frame.

A capture is JSON Lines: a header, then one line for each piece of data or remark, then a last line that proves that
nothing is missing. Pure: lines in, records out; records in, decoded lines out. A capture decodes the same on any
machine and at any later time as it did live.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TypeVar, get_args

import msgspec

from firmware_bridge.wire.frame import DELIMITER, BadFrame, FrameDecoder
from firmware_bridge.wire.health import Direction, RoundTrip, RoundTripLog
from firmware_bridge.wire.messages import (
    BadMessage,
    FromHost,
    Message,
    decode_from_device,
    decode_from_host,
    describe_message,
    message_number,
)
from firmware_bridge.wire.packet import Packet, PacketType, parse_packet, reset_reason

FORMAT = "dragonshoe-capture"
VERSION = 1
LONGEST_LINE = 1 << 20  # bytes; a piece has a few kilobytes at most, so a longer line is not part of a capture

_SEQ = 0x10000
_HOST_NUMBERS = frozenset(message_number(kind) for kind in get_args(FromHost))
_SEQUENCED = (PacketType.DATA, PacketType.ACK, PacketType.NAK)


# --- records --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes received or sent together; `at_s` is in seconds since the start."""

    at_s: float
    direction: Direction
    data: bytes


class LineEvent(enum.StrEnum):
    """What can happen on a line besides bytes."""

    OPENED = "opened"  # the port
    READY = "ready"  # the device has welcomed the host
    LINK_LOST = "link lost"
    PORT_LOST = "port lost"
    NOT_REACHED = "not reached"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Remark:
    """An event on the line, in words."""

    at_s: float
    event: LineEvent
    text: str


Record = Piece | Remark


class Header(msgspec.Struct, kw_only=True):
    """The first line of a capture."""

    format: Literal["dragonshoe-capture"] = "dragonshoe-capture"
    version: int = VERSION
    port: str
    started: str  # UTC, ISO 8601
    baud: int = 0
    passive: bool = False
    driver: str = ""  # of another maker's protocol; empty for ours


class _PieceLine(msgspec.Struct):
    t: float
    dir: Direction
    hex: str


class _RemarkLine(msgspec.Struct):
    t: float
    event: str
    text: str


class _EndLine(msgspec.Struct):
    t: float
    end: int  # the number of records; a capture without this line was cut off


class BadCapture(Exception):
    """A capture that cannot be read, or only up to some line; the text says which line and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line


def utc_now() -> str:
    """The current time, for a header."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def header_line(header: Header) -> bytes:
    """The first line of a file."""
    return msgspec.json.encode(header) + b"\n"


def record_line(record: Record) -> bytes:
    """One line of a file."""
    line: _PieceLine | _RemarkLine
    if isinstance(record, Piece):
        line = _PieceLine(record.at_s, record.direction, record.data.hex())
    else:
        line = _RemarkLine(record.at_s, str(record.event), record.text)
    return msgspec.json.encode(line) + b"\n"


def end_line(at_s: float, records: int) -> bytes:
    """The last line of a file."""
    return msgspec.json.encode(_EndLine(at_s, records)) + b"\n"


def read_header(line: bytes) -> Header:
    """The header, from the first line of a file; raises BadCapture."""
    try:
        plain = msgspec.json.decode(line)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise BadCapture(1, "not a Dragonshoe capture")
        if plain.get("version") != VERSION:
            raise BadCapture(1, f"version {plain.get('version')} of the format is not supported by this shoectl")
        return msgspec.convert(plain, Header)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadCapture(1, "not a Dragonshoe capture" if line else "empty") from None


def read_capture(lines: Iterable[bytes]) -> Iterator[Header | Record]:
    """The header, then every record. Raises BadCapture at the first unreadable line, after all earlier ones."""
    numbered = enumerate(lines, 1)
    _, first = next(numbered, (1, b""))
    yield read_header(first)
    number, last_s = 1, 0.0
    for number, line in numbered:
        plain = _plain(number, line)
        if "end" in plain:
            end = _convert(number, plain, _EndLine)
            here = number - 2  # not counting the header and this line
            if end.end != here:
                raise BadCapture(number, f"{end.end} records were written, but {here} are present")
            number, extra = next(numbered, (0, b""))
            if extra:
                raise BadCapture(number, "the file continues after its end")
            return
        record = _record(number, plain)
        if not last_s <= record.at_s < math.inf:
            raise BadCapture(number, f"time {record.at_s} after {last_s}")
        last_s = record.at_s
        yield record
    raise BadCapture(number + 1, "the end is missing: the capture was cut off")


def _plain(number: int, line: bytes) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        raise BadCapture(number, f"longer than {LONGEST_LINE} bytes")
    try:
        plain = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        cut = "" if line.endswith(b"\n") else "; the line is cut off"
        raise BadCapture(number, f"not valid JSON{cut} ({error})") from None
    if not isinstance(plain, dict):
        raise BadCapture(number, "not a record")
    return plain


def _record(number: int, plain: dict[str, Any]) -> Record:
    if "hex" in plain:
        piece = _convert(number, plain, _PieceLine)
        try:
            return Piece(piece.t, piece.dir, bytes.fromhex(piece.hex))
        except ValueError as error:
            raise BadCapture(number, f"damaged bytes ({error})") from None
    remark = _convert(number, plain, _RemarkLine)
    try:
        return Remark(remark.t, LineEvent(remark.event), remark.text)
    except ValueError:  # written by a later version
        return Remark(remark.t, LineEvent.NOTE, remark.text)


Struct = TypeVar("Struct", bound=msgspec.Struct)


def _convert(number: int, plain: dict[str, Any], kind: type[Struct]) -> Struct:
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise BadCapture(number, f"damaged ({error})") from None


# --- decoded lines --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecodedLine:
    """A decoded frame, bad frame or remark."""

    at_s: float
    direction: Direction | None  # None for a remark
    what: Packet | BadFrame | Remark | bytes  # bytes: an intact frame, but not a packet of this link version
    message: Message | BadMessage | None = None
    notes: tuple[str, ...] = ()
    raw: bytes = b""  # the body of the frame, or the encoded bytes of a bad one

    @property
    def bad(self) -> bool:
        """Whether something is wrong with this frame."""
        return isinstance(self.what, BadFrame | bytes) or isinstance(self.message, BadMessage)

    def __str__(self) -> str:
        """One line for people: time, direction, packet, message."""
        if isinstance(self.what, Remark):
            return f"{self.at_s:9.3f}  --   {self.what.text}"
        notes = f"  [{', '.join(self.notes)}]" if self.notes else ""
        return f"{self.at_s:9.3f}  {self.direction or '':<3}  {self._words()}{notes}"

    def _words(self) -> str:
        what = self.what
        if isinstance(what, BadFrame):
            return f"BAD     {len(what.encoded)} bytes, {what}"
        if isinstance(what, bytes):
            return f"UNKNOWN {len(what)} bytes, not a packet of this version: {what[:16].hex(' ')}"
        assert isinstance(what, Packet)
        if what.type not in _SEQUENCED:
            return _opening_words(what)
        head = f"{what.type.name:<7} {what.seq:>3} ack {what.ack:<3}"
        if isinstance(self.message, BadMessage):
            number = f"number {self.message.number}, " if self.message.number else ""
            return f"{head}  unreadable message: {number}{self.message}"
        return f"{head}  {describe_message(self.message)}" if self.message is not None else head.rstrip()

    def plain(self) -> dict[str, Any]:
        """The same for programs."""
        if isinstance(self.what, Remark):
            return {"t": self.at_s, "event": str(self.what.event), "text": self.what.text}
        plain: dict[str, Any] = {"t": self.at_s, "dir": self.direction}
        if isinstance(self.what, BadFrame):
            flaw = self.what
            plain["bad"] = {"flaw": flaw.flaw.value, "expected": flaw.expected, "got": flaw.got, "text": str(flaw)}
        elif isinstance(self.what, bytes):
            plain["bad"] = {"flaw": "not a packet", "text": "not a packet of this version"}
        else:
            plain["packet"] = _packet_fields(self.what)
        if isinstance(self.message, BadMessage):
            plain["bad"] = {"flaw": "unreadable message", "number": self.message.number, "text": str(self.message)}
        elif self.message is not None:
            plain["message"] = message_fields(self.message)
        plain["notes"] = list(self.notes)
        plain["hex"] = self.raw.hex()
        return plain


def _opening_words(packet: Packet) -> str:
    words = f"{packet.type.name:<7} session {packet.session:04x} boot {packet.boot:08x}"
    if packet.type is PacketType.RESET:
        return f"{words} {reset_reason(packet.reason)}"
    if packet.type in (PacketType.OPEN, PacketType.OPENED):
        return f"{words} window {packet.window}"
    return f"{packet.type.name} session {packet.session:04x}, {len(packet.message)} bytes"


def _packet_fields(packet: Packet) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": packet.type.name, "session": packet.session}
    if packet.type in _SEQUENCED:
        return {**fields, "seq": packet.seq, "ack": packet.ack}
    if packet.type is PacketType.RESET:
        return {**fields, "boot": packet.boot, "reason": reset_reason(packet.reason)}
    return {**fields, "boot": packet.boot, "window": packet.window, "security": packet.security}


def message_fields(message: Message) -> dict[str, Any]:
    """A message for programs: its name and fields, enumerations by name, bytes in hex."""
    fields: dict[str, Any] = {"name": type(message).__name__}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        fields[name] = (
            value.name if isinstance(value, enum.Enum) else value.hex() if isinstance(value, bytes) else value
        )
    return fields


@dataclass(slots=True)
class Tally:
    """Counts for one direction."""

    bytes: int = 0
    frames: int = 0
    bad: int = 0
    messages: int = 0
    resends: int = 0  # frames that had been sent before, whether or not they had arrived
    duplicates: int = 0  # resends of packets that the other side had already acknowledged
    lost: int = 0  # skipped sequence numbers; most arrive later as resends
    unfinished: int = 0  # bytes at the end without a delimiter after them


class _Side:
    """The sequence numbers of one direction within a link session."""

    __slots__ = ("acked", "next", "sent_at")

    def __init__(self, next_seq: int | None) -> None:
        self.next = next_seq  # None: unknown, because the recording began in the middle
        self.acked: int | None = next_seq  # what the other side expects next
        self.sent_at: dict[int, float] = {}  # packets sent once and not acknowledged yet


@dataclass(slots=True)
class LineTraffic:
    """What is kept of a line, whatever its protocol: counts in both directions, and the first bytes received."""

    tallies: dict[Direction, Tally] = field(default_factory=lambda: {"in": Tally(), "out": Tally()})
    seconds: float = 0.0
    sample: bytes = b""  # for a guess at what a foreign device is

    SAMPLE: ClassVar[int] = 1024

    @property
    def frames(self) -> int:
        """The number of frames so far, good and bad."""
        return sum(tally.frames + tally.bad for tally in self.tallies.values())

    def keep(self, piece: Piece) -> Tally:
        """Count the bytes of a piece; returns the counts of its direction."""
        tally = self.tallies[piece.direction]
        tally.bytes += len(piece.data)
        if piece.direction == "in" and len(self.sample) < self.SAMPLE:
            self.sample += piece.data[: self.SAMPLE - len(self.sample)]
        return tally


@dataclass(slots=True)
class Traffic(LineTraffic):
    """Decodes records one by one, and keeps counts."""

    _round_trips: RoundTripLog = field(default_factory=RoundTripLog)
    _decoders: dict[Direction, FrameDecoder] = field(default_factory=dict)
    _sides: dict[Direction, _Side] = field(default_factory=dict)
    _session: int | None = None

    def __post_init__(self) -> None:
        self._restart()

    @property
    def round_trip(self) -> RoundTrip | None:
        """Round-trip times of messages to the device that were acknowledged without a resend."""
        return self._round_trips.summary()

    def feed(self, record: Record) -> list[DecodedLine]:
        """The lines that this record completes."""
        self.seconds = record.at_s
        if isinstance(record, Remark):
            if record.event in (LineEvent.OPENED, LineEvent.PORT_LOST):
                self._restart()
            return [DecodedLine(record.at_s, None, record)]
        tally = self.keep(record)
        _, delimiter, rest = record.data.rpartition(DELIMITER)
        tally.unfinished = len(rest) if delimiter else tally.unfinished + len(rest)
        bodies = self._decoders[record.direction].feed(record.data)
        return [self._line(record, tally, body) for body in bodies]

    def _restart(self) -> None:
        """The line was opened or lost: partial frames are dropped."""
        self._decoders = {"in": FrameDecoder(), "out": FrameDecoder()}
        self._begin(None, None)

    def _begin(self, session: int | None, next_seq: int | None) -> None:
        self._session = session
        self._sides = {"in": _Side(next_seq), "out": _Side(next_seq)}

    def _line(self, piece: Piece, tally: Tally, body: bytes | BadFrame) -> DecodedLine:
        if isinstance(body, BadFrame):
            tally.bad += 1
            return DecodedLine(piece.at_s, piece.direction, body, raw=body.encoded)
        tally.frames += 1
        packet = parse_packet(body)
        if packet is None:
            return DecodedLine(piece.at_s, piece.direction, body, raw=body)
        message = _decode(packet.message) if packet.type is PacketType.DATA else None
        tally.messages += packet.type is PacketType.DATA
        notes = tuple(self._follow(packet, piece, tally))
        return DecodedLine(piece.at_s, piece.direction, packet, message, notes, body)

    def _follow(self, packet: Packet, piece: Piece, tally: Tally) -> Iterator[str]:
        """Track the sequence numbers of the session, and yield notes on what is unusual about this packet."""
        if packet.type in (PacketType.OPEN, PacketType.OPENED):
            if packet.session != self._session:
                self._begin(packet.session, 0)
            elif packet.type is PacketType.OPEN:
                tally.resends += 1
                yield "again"
        elif packet.type is PacketType.RESET:
            if packet.session == 0:
                yield "the device has just started"
        elif packet.type in _SEQUENCED:
            if self._session is None:
                self._begin(packet.session, None)
            if packet.session != self._session:
                yield f"another session, {packet.session:04x}"
                return
            yield from self._number(self._sides[piece.direction], packet, piece.at_s, tally)
            self._acknowledge(self._sides["out" if piece.direction == "in" else "in"], packet.ack, piece)

    def _number(self, side: _Side, packet: Packet, at_s: float, tally: Tally) -> Iterator[str]:
        if side.next is None:
            side.next = packet.seq
        ahead = (packet.seq - side.next) % _SEQ
        if ahead < _SEQ // 2:
            if ahead:
                tally.lost += ahead
                last = (packet.seq - 1) % _SEQ
                yield f"{side.next} was lost" if ahead == 1 else f"{side.next} to {last} were lost"
            side.next = packet.seq
            if packet.type is PacketType.DATA:
                side.next = (packet.seq + 1) % _SEQ
                side.sent_at[packet.seq] = at_s
        elif packet.type is PacketType.DATA:
            tally.resends += 1
            side.sent_at.pop(packet.seq, None)
            if side.acked is not None and 0 < (side.acked - packet.seq) % _SEQ < _SEQ // 2:
                tally.duplicates += 1
                yield "again, a duplicate"
            else:
                yield "again"

    def _acknowledge(self, side: _Side, ack: int, piece: Piece) -> None:
        if side.acked is not None and (ack - side.acked) % _SEQ >= _SEQ // 2:
            return  # an older acknowledgement
        side.acked = ack
        for seq in [seq for seq in side.sent_at if 0 < (ack - seq) % _SEQ < _SEQ // 2]:
            sent_at = side.sent_at.pop(seq)
            if piece.direction == "in" and (seq + 1) % _SEQ == ack:  # the newest packet, as the link measures
                self._round_trips.samples_s.append(piece.at_s - sent_at)


def _decode(data: bytes) -> Message | BadMessage:
    """A message of either side: a passive recording may be made on the host's wire or on the device's."""
    try:
        return decode_from_device(data)
    except BadMessage as bad:
        if bad.number not in _HOST_NUMBERS and bad.number not in range(16, 64):
            return bad
    try:
        return decode_from_host(data)
    except BadMessage as bad:
        return bad
