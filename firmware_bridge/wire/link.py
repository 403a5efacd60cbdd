"""The link: delivers messages in order and exactly once over a wire that loses, repeats and corrupts frames.

The host opens a link session with a number of its choice (OPEN); the device answers with its boot id (OPENED). From
then on each side numbers its DATA packets and keeps at most a window of them unacknowledged. A receiver holds packets
that arrive early, up to the window it announced, and requests the missing one with a NAK; only that one is resent. The
oldest packet is also resent when it has waited longer than the resend time. Every packet carries an acknowledgement;
if no DATA packet is due soon, an ACK carries it. ACK is also the heartbeat.

Both sides detect a reset of the other: a device that does not know the session answers RESET; a host that restarted
opens another session; a changed boot id in OPENED means that the device has lost its memory.

A link ends for one of the reasons in `LossReason`, after the times in `LinkTiming`. Unacknowledged messages are then
dropped here: the session above knows what to send again.

Pure: bytes and time in, bytes and messages out. One class implements both ends; `opens` is True for the host's.
"""

# mypyc
from __future__ import annotations

import math
import struct
from collections import deque
from typing import ClassVar, Final

from firmware_bridge.wire.frame import DELIMITER, BadFrame, FrameDecoder, encode_frame
from firmware_bridge.wire.health import FrameRing, LinkCounters, RoundTripLog
from firmware_bridge.wire.link_types import Arrival, LinkFull, LinkState, LinkTiming, LossReason, Lost, Opened
from firmware_bridge.wire.packet import (
    LINK_VERSION,
    MAX_MESSAGE,
    OPENING,
    RESETTING,
    SEQUENCED,
    PacketType,
    ResetReason,
    reset_reason,
)

__all__ = ["Arrival", "Link", "LinkFull", "LinkState", "LinkTiming", "LossReason", "Lost", "Opened"]

WINDOW: Final = 8  # most DATA packets unacknowledged; docs/performance.md shows the gain over a window of 1
NAKS_MAX: Final = 8  # for one expected number: enough for a noisy wire, too few for a storm
PENDING_MAX: Final = 256  # most messages waiting for the window; far more than a session ever queues
_SEQ: Final = 0xFFFF

# Plain integers for the hot path: using an Enum member costs several times as much.
_DATA: Final = int(PacketType.DATA)
_ACK: Final = int(PacketType.ACK)
_NAK: Final = int(PacketType.NAK)
_HEADER: Final = SEQUENCED.size
_LONGEST: Final = _HEADER + MAX_MESSAGE
_NEVER: Final = math.inf
_pack: Final = SEQUENCED.pack
_unpack: Final = SEQUENCED.unpack_from
_CLOSED: Final = LinkState.CLOSED
_OPENING: Final = LinkState.OPENING
_OPEN: Final = LinkState.OPEN


class _Sent:
    """A DATA packet that the other side has not acknowledged yet."""

    __slots__ = ("first_sent", "message", "resent", "seq")

    def __init__(self, seq: int, message: bytes, first_sent: float) -> None:
        self.seq = seq
        self.message = message
        self.first_sent = first_sent
        self.resent = False


def _later(seq: int, other: int) -> bool:
    """Whether one sequence number comes after another, modulo 65,536."""
    return 0 < (seq - other) & _SEQ <= _SEQ // 2


class Link:
    """One end of a link. Call `take_output` after every other call, and `tick` at `deadline`."""

    decoder_type: ClassVar[type[FrameDecoder]] = FrameDecoder

    __slots__ = (
        "_ack_due",
        "_dead_after_s",
        "_decoder",
        "_expected",
        "_give_up_at",
        "_heartbeat_s",
        "_held",
        "_last_heard",
        "_last_sent",
        "_naks_left",
        "_next_seq",
        "_opens",
        "_out",
        "_overdue_to",
        "_peer_window",
        "_pending",
        "_remember",
        "_resend_at",
        "_resend_s",
        "_resync",
        "_rtt_mean",
        "_rtt_spread",
        "_sent",
        "_window",
        "boot",
        "counters",
        "peer_boot",
        "ring",
        "round_trips",
        "session",
        "state",
        "timing",
    )

    def __init__(self, *, opens: bool, boot: int, timing: LinkTiming | None = None, window: int = WINDOW) -> None:
        self._opens = opens
        self._window = window
        self.boot = boot
        self.timing = timing or LinkTiming()
        self._heartbeat_s, self._dead_after_s = self.timing.heartbeat_s, self.timing.dead_after_s
        self.state = _CLOSED
        self.session = 0
        self.peer_boot = 0
        self.counters = LinkCounters()
        self.round_trips = RoundTripLog()
        self.ring = FrameRing()
        self._remember = self.ring.frames.append
        self._decoder = self.decoder_type()
        self._out: list[bytes] = []
        self._last_heard = self._last_sent = 0.0
        self._forget()

    def _forget(self) -> None:
        """Restart the numbering and drop everything from an earlier session."""
        self._sent: deque[_Sent] = deque()
        self._pending: deque[bytes] = deque()
        self._next_seq = 0
        self._expected = 0
        self._peer_window = 1
        self._ack_due = _NEVER
        self._resend_at = _NEVER
        self._give_up_at = _NEVER
        self._resend_s = self.timing.resend_first_s
        self._rtt_mean = self._rtt_spread = 0.0
        self._naks_left = NAKS_MAX
        self._overdue_to = 0  # the next number at the last time-out: all earlier packets are overdue too
        self._held: dict[int, bytes] = {}  # messages that arrived before the expected one
        self._resync = False

    # --- called by the owner ------------------------------------------------------------------------------------------

    def open(self, session: int, now: float) -> None:
        """Host: start a new session on a connected wire. `Opened` or `Lost` follows."""
        self._forget()
        self._decoder = self.decoder_type()
        self.session = session
        self.state = _OPENING
        self._give_up_at = now + self.timing.dead_after_s
        self._last_heard = now
        self._send_open(now)

    def close(self, now: float, reason: ResetReason = ResetReason.GOODBYE) -> None:
        """End the session and say so, so that the other side need not wait for a time-out."""
        if self.state is not _CLOSED:
            self._send_reset(self.session, reason, now)
        self._end()

    def announce(self, now: float) -> None:
        """Device: it has just started and has no session. Saying so saves the host a time-out."""
        self._out.append(DELIMITER)
        self._send_reset(0, ResetReason.NO_SUCH_SESSION, now)

    def drop(self) -> None:
        """The wire is disconnected: end the session without sending anything."""
        self._out.clear()
        self._decoder = self.decoder_type()
        self._end()

    def send(self, message: bytes, now: float) -> None:
        """Send a message, now or as soon as the window allows. Only while OPEN."""
        if self.state is not _OPEN:
            raise ValueError("the link is not open")
        if not 0 < len(message) <= MAX_MESSAGE:
            raise ValueError(f"a message has 1 to {MAX_MESSAGE} bytes, not {len(message)}")
        if len(self._sent) < self._peer_window:
            self._send_data(message, now)
        elif not self.full:
            self._pending.append(message)
        else:
            raise LinkFull(f"{PENDING_MAX} messages are already waiting")

    @property
    def has_room(self) -> bool:
        """Whether a message would be sent at once."""
        return len(self._sent) < self._peer_window and self.state is _OPEN

    @property
    def full(self) -> bool:
        """Whether no further message can be queued."""
        return len(self._pending) >= PENDING_MAX

    def take_output(self) -> bytes:
        """The bytes to send."""
        out = self._out
        if not out:
            return b""
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        self.counters.bytes_out += len(data)
        return data

    @property
    def deadline(self) -> float:
        """When `tick` must be called next, if nothing else happens first."""
        if self.state is not _OPEN:
            return _NEVER if self.state is _CLOSED else min(self._resend_at, self._give_up_at)
        due, dead = self._last_sent + self._heartbeat_s, self._last_heard + self._dead_after_s
        if dead < due:
            due = dead
        if self._ack_due < due:
            due = self._ack_due
        if self._sent:
            if self._resend_at < due:
                due = self._resend_at
            stalled = self._sent[0].first_sent + self.timing.stall_after_s
            if stalled < due:
                due = stalled
        return due

    def tick(self, now: float) -> list[Arrival]:
        """Do what is due: resend, acknowledge, send a heartbeat, or declare the link dead."""
        timing = self.timing
        if self.state is _OPENING:
            if now >= self._give_up_at:
                return [self._lose(LossReason.NO_ANSWER, f"within {timing.dead_after_s:g} s", now)]
            if now >= self._resend_at:
                self.counters.resends += 1
                self._send_open(now)
            return []
        if self.state is _CLOSED:
            return []
        if now >= self._last_heard + timing.dead_after_s:
            return [self._lose(LossReason.SILENT, f"{timing.dead_after_s:g} s", now)]
        if self._sent:
            if now >= self._sent[0].first_sent + timing.stall_after_s:
                detail = f"{timing.stall_after_s:g} s, number {self._sent[0].seq}"
                return [self._lose(LossReason.STALLED, detail, now)]
            if now >= self._resend_at:
                self._resend_s = min(self._resend_s * 2, timing.resend_max_s)
                self._overdue_to = self._next_seq
                self._resend(self._sent[0], now)
        if now >= self._ack_due or now >= self._last_sent + timing.heartbeat_s:
            self._send_ack(_ACK, now)
        return []

    def receive(self, data: bytes, now: float) -> list[Arrival]:
        """Process received bytes: returns messages in order, and changes of the link."""
        arrivals: list[Arrival] = []
        counters = self.counters
        counters.bytes_in += len(data)
        for body in self._decoder.feed(data):
            self._remember((now, "in", body))
            if isinstance(body, BadFrame):
                self._bad(body, now)
                continue
            counters.frames_in += 1
            if self._resync:
                self._resync = False
                self.counters.resyncs += 1
            try:
                self._packet(body, now, arrivals)
            except struct.error:  # shorter than its header
                self.counters.unknown_packets += 1
        return arrivals

    # --- received packets ---------------------------------------------------------------------------------------------

    def _packet(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        kind = body[0]
        if _DATA <= kind <= _NAK:
            session: int
            seq: int
            ack: int
            _, session, seq, ack = _unpack(body)
            if session == 0 or (kind == _DATA and not _HEADER < len(body) <= _LONGEST):
                self.counters.unknown_packets += 1
                return
            if self.state is not _OPEN or session != self.session:
                self._stray(session, now)
                return
            self._last_heard = now
            if self._sent and ack != self._sent[0].seq:
                self._acknowledged(ack, now)
            if kind == _DATA:
                self._data(seq, body, now, arrivals)
            else:
                if kind == _NAK:
                    self.counters.naks_in += 1
                    if self._sent and ack == self._sent[0].seq:
                        self._resend(self._sent[0], now)
                if not self._held and _later(seq, self._expected):  # more was sent than has arrived
                    self._gap(now)
        elif kind == PacketType.OPEN:
            self._asked_to_open(body, now, arrivals)
        elif kind == PacketType.OPENED:
            self._answered(body, now, arrivals)
        elif kind == PacketType.RESET:
            self._was_reset(body, now, arrivals)
        else:
            self.counters.unknown_packets += 1
            if not self._opens and kind & 0x0F == PacketType.OPEN & 0x0F and kind >> 4 != LINK_VERSION:
                session = int.from_bytes(body[1:3], "little")
                if session and len(body) >= 3:
                    self._send_reset(session, ResetReason.OTHER_VERSION, now)

    def _data(self, seq: int, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        held = self._held
        if seq == self._expected:
            arrivals.append(body[_HEADER:])
            self._expected = seq = (seq + 1) & _SEQ
            self._naks_left = NAKS_MAX
            if self._ack_due == _NEVER:
                self._ack_due = now + self.timing.ack_delay_s
            if held:
                while seq in held:
                    arrivals.append(held.pop(seq))
                    self._expected = seq = (seq + 1) & _SEQ
                if held:  # another packet is missing before the rest
                    self._gap(now)
        elif _later(seq, self._expected):
            self.counters.out_of_order += 1
            if not held:  # report each gap once
                self._gap(now)
            if (seq - self._expected) & _SEQ < self._window:
                held[seq] = body[_HEADER:]
        else:
            self.counters.duplicates += 1
            self._send_ack(_ACK, now)  # the acknowledgement was lost: repeat it at once

    def _acknowledged(self, ack: int, now: float) -> None:
        sent = self._sent
        count = (ack - sent[0].seq) & _SEQ
        if not 0 < count <= len(sent):
            return
        for _ in range(count):
            packet = sent.popleft()
        if not packet.resent:  # after a resend it is unknown which copy was acknowledged
            self._measured(now - packet.first_sent)
        while self._pending and len(sent) < self._peer_window:
            self._send_data(self._pending.popleft(), now)
        self._resend_at = now + self._resend_s if sent else _NEVER
        if sent and packet.resent and not sent[0].resent and _later(self._overdue_to, sent[0].seq):
            self._resend(sent[0], now)  # sent before the time-out and lost with the previous one: do not wait again

    def _measured(self, trip_s: float) -> None:
        """Adapt the resend time to the round trip: mean plus four times the deviation, as in TCP (RFC 6298)."""
        self.round_trips.samples_s.append(trip_s)
        mean = self._rtt_mean
        if mean == 0.0:
            self._rtt_mean, self._rtt_spread = mean, spread = trip_s, trip_s / 2
        else:
            off = trip_s - mean
            self._rtt_mean = mean = mean + off / 8
            self._rtt_spread = spread = self._rtt_spread + ((off if off > 0 else -off) - self._rtt_spread) / 4
        wanted = mean + 4 * spread
        timing = self.timing
        if wanted < timing.resend_min_s:
            wanted = timing.resend_min_s
        elif wanted > timing.resend_max_s:
            wanted = timing.resend_max_s
        self._resend_s = wanted

    def _asked_to_open(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        _, session, boot, window, _ = OPENING.unpack_from(body)
        if self._opens or session == 0:  # two hosts on one wire, or an echo
            self.counters.unknown_packets += 1
            return
        repeated = self.state is _OPEN and (session, boot) == (self.session, self.peer_boot)
        if not repeated:
            if self.state is _OPEN:
                arrivals.append(self._lose(LossReason.REPLACED, f"session {session:04x}", now))
            self._up(session, boot, window, now, arrivals)
        else:
            self._last_heard = now
        opened = OPENING.pack(PacketType.OPENED, session, self.boot, self._window, 0)
        self._emit(opened, now)

    def _answered(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        _, session, boot, window, _ = OPENING.unpack_from(body)
        if not self._opens or session != self.session or self.state is _CLOSED:
            return
        if self.state is _OPENING:
            self._up(session, boot, window, now, arrivals)
        elif boot != self.peer_boot:
            arrivals.append(self._lose(LossReason.PEER_RESTARTED, f"boot {boot:08x}", now))
        else:
            self._last_heard = now

    def _up(self, session: int, boot: int, window: int, now: float, arrivals: list[Arrival]) -> None:
        self._forget()
        self.session, self.peer_boot = session, boot
        self._peer_window = max(1, min(window, self._window))  # an announced 0 must not block us forever
        self.state = _OPEN
        self._last_heard = self._last_sent = now
        self.counters.sessions += 1
        arrivals.append(Opened(session, boot))

    def _was_reset(self, body: bytes, now: float, arrivals: list[Arrival]) -> None:
        _, session, boot, reason = RESETTING.unpack_from(body)
        self.counters.resets_in += 1
        of_all = session == 0 and self._opens  # a device that has just started
        if (session != self.session and not of_all) or self.state is _CLOSED:
            return
        if self.state is _OPEN and (of_all or boot != self.peer_boot):
            arrivals.append(self._lose(LossReason.PEER_RESTARTED, f"boot {boot:08x}", now))
        elif self.state is _OPENING and reason == ResetReason.NO_SUCH_SESSION:
            return  # answers something older than our OPEN
        else:
            arrivals.append(self._lose(LossReason.PEER_RESET, reset_reason(reason), now))

    def _stray(self, session: int, now: float) -> None:
        """A packet of another session. A device answers RESET; a host opens its own session and need not."""
        if not self._opens:
            self._send_reset(session, ResetReason.NO_SUCH_SESSION, now)

    def _bad(self, bad: BadFrame, now: float) -> None:
        self.counters.count_bad(bad)
        self._resync = True
        if self.state is _OPEN:
            self._gap(now)

    def _gap(self, now: float) -> None:
        """Something was lost: request it at once, but only so often for one number, so that no NAK storm can arise."""
        if self._naks_left > 0:
            self._naks_left -= 1
            self.counters.naks_out += 1
            self._send_ack(_NAK, now)

    # --- sent packets -------------------------------------------------------------------------------------------------

    def _emit(self, body: bytes, now: float) -> None:
        self._out.append(encode_frame(body))
        self.counters.frames_out += 1
        self._last_sent = now
        self._remember((now, "out", body))

    def _send_data(self, message: bytes, now: float) -> None:
        seq = self._next_seq
        self._next_seq = (seq + 1) & _SEQ
        sent = self._sent
        if not sent:
            self._resend_at = now + self._resend_s
        sent.append(_Sent(seq, message, now))
        self._ack_due = _NEVER
        self._emit(_pack(_DATA, self.session, seq, self._expected) + message, now)

    def _resend(self, packet: _Sent, now: float) -> None:
        """Send a packet again, after a delimiter that ends any partial frame on the wire."""
        self._out.append(DELIMITER)
        packet.resent = True
        self.counters.resends += 1
        self._emit(_pack(_DATA, self.session, packet.seq, self._expected) + packet.message, now)
        self._resend_at = now + self._resend_s
        self._ack_due = _NEVER

    def _send_ack(self, kind: int, now: float) -> None:
        self._ack_due = _NEVER
        self._emit(_pack(kind, self.session, self._next_seq, self._expected), now)

    def _send_open(self, now: float) -> None:
        self._out.append(DELIMITER)
        self._emit(OPENING.pack(PacketType.OPEN, self.session, self.boot, self._window, 0), now)
        self._resend_at = now + self._resend_s

    def _send_reset(self, session: int, reason: ResetReason, now: float) -> None:
        self.counters.resets_out += 1
        self._emit(RESETTING.pack(PacketType.RESET, session, self.boot, reason), now)

    def _lose(self, reason: LossReason, detail: str, now: float) -> Lost:
        self.counters.losses += 1
        self._end()
        return Lost(reason, detail, round(now - self._last_heard, 3))

    def _end(self) -> None:
        self.state = _CLOSED
        self._forget()
