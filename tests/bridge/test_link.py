"""The link: order, acknowledgement, resending, death and reset, in virtual time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.wire.frame import MAX_ENCODED, encode_frame
from firmware_bridge.wire.health import RING_FRAMES
from firmware_bridge.wire.link import (
    NAKS_MAX,
    PENDING_MAX,
    WINDOW,
    Arrival,
    Link,
    LinkFull,
    LinkState,
    LinkTiming,
    LossReason,
    Lost,
    Opened,
)
from firmware_bridge.wire.packet import MAX_MESSAGE, OPENING, Packet, PacketType, ResetReason, pack
from simulators.pipes.wires import WireQuality
from tests.support.virtual_link import AT_9600, DEVICE_BOOT, HOST_BOOT, LinkPair, packets
from tests.support.wire_strategies import CUTS, RANDOM_BYTES, chop, packets_of

NOW = 50.0
SESSION = 7


def frame(kind: PacketType, seq: int = 0, ack: int = 0, message: bytes = b"", session: int = SESSION) -> bytes:
    """A frame as the other side would send it."""
    return encode_frame(pack(Packet(kind, session, seq=seq, ack=ack, message=message)))


def opened_frame(boot: int = DEVICE_BOOT, window: int = 8, session: int = SESSION) -> bytes:
    return encode_frame(OPENING.pack(PacketType.OPENED, session, boot, window, 0))


def open_host(now: float = NOW, window: int = 8, timing: LinkTiming | None = None) -> Link:
    """A host's link with a session that a device has just opened."""
    link = Link(opens=True, boot=HOST_BOOT, timing=timing)
    link.open(SESSION, now)
    assert link.receive(opened_frame(window=window), now) == [Opened(SESSION, DEVICE_BOOT)]
    link.take_output()
    return link


def open_device(now: float = NOW, timing: LinkTiming | None = None) -> Link:
    """A device's link in a session that a host has just opened."""
    link = Link(opens=False, boot=DEVICE_BOOT, timing=timing)
    link.receive(encode_frame(OPENING.pack(PacketType.OPEN, SESSION, HOST_BOOT, 8, 0)), now)
    link.take_output()
    return link


def closed(link: Link) -> bool:
    """Whether the link has ended."""
    return link.state is LinkState.CLOSED


def seqs(link: Link, kind: PacketType = PacketType.DATA) -> list[int]:
    """The numbers of what the link puts on the wire now."""
    return [packet.seq for packet in packets(link.take_output()) if packet.type is kind]


def until_lost(link: Link, heard: Callable[[float], bytes] = lambda now: b"") -> tuple[Lost, float]:
    """Tick at each deadline until the link is lost; `heard` gives what comes in after each tick."""
    for _ in range(1000):
        now = link.deadline
        for arrival in link.tick(now) + link.receive(heard(now), now):
            if isinstance(arrival, Lost):
                return arrival, now
    raise AssertionError("the link never ended")


# --- opening --------------------------------------------------------------------------------------------------------


def test_the_stated_times_are_those_of_the_protocol() -> None:
    assert LinkTiming() == LinkTiming(1.0, 4.0, 10.0, 0.01, 0.3, 0.05, 1.0)
    assert (WINDOW, NAKS_MAX) == (8, 8)


def test_open_is_repeated_behind_a_zero_until_answered() -> None:
    link = Link(opens=True, boot=HOST_BOOT)
    link.open(SESSION, NOW)
    first = link.take_output()
    assert first[0] == 0
    (packet,) = packets(first)
    assert (packet.type, packet.session, packet.boot, packet.window) == (PacketType.OPEN, SESSION, HOST_BOOT, 8)
    assert link.deadline == NOW + 0.3
    link.tick(link.deadline)
    assert link.take_output() == first
    assert link.receive(opened_frame(), NOW + 0.4) == [Opened(SESSION, DEVICE_BOOT)]
    assert link.peer_boot == DEVICE_BOOT


def test_no_answer_to_the_opening() -> None:
    link = Link(opens=True, boot=HOST_BOOT)
    link.open(SESSION, NOW)
    assert until_lost(link) == (Lost(LossReason.NO_ANSWER, "within 4 s", 4.0), NOW + 4.0)
    assert link.deadline == math.inf


def test_an_answer_to_another_opening_is_passed_over() -> None:
    link = Link(opens=True, boot=HOST_BOOT)
    link.open(SESSION, NOW)
    assert link.receive(opened_frame(session=SESSION + 1), NOW) == []
    assert link.state is LinkState.OPENING


def test_a_repeated_open_changes_nothing() -> None:
    device = open_device()
    device.receive(frame(PacketType.DATA, 0, 0, b"one"), NOW)
    again = encode_frame(OPENING.pack(PacketType.OPEN, SESSION, HOST_BOOT, 8, 0))
    assert device.receive(again, NOW) == []
    assert [p.type for p in packets(device.take_output())] == [PacketType.OPENED]
    assert device.receive(frame(PacketType.DATA, 1, 0, b"two"), NOW) == [b"two"]


def test_a_restarted_host_is_noticed_even_with_the_same_session_number() -> None:
    device = open_device()
    device.send(b"to the old host", NOW)
    other = encode_frame(OPENING.pack(PacketType.OPEN, SESSION, HOST_BOOT + 1, 8, 0))
    lost, opened = device.receive(other, NOW + 1)
    assert isinstance(lost, Lost)
    assert lost.reason is LossReason.REPLACED
    assert opened == Opened(SESSION, HOST_BOOT + 1)
    assert device.receive(frame(PacketType.DATA, 0, 0, b"new"), NOW + 1) == [b"new"]


def test_another_link_version_is_answered_by_reset() -> None:
    device = Link(opens=False, boot=DEVICE_BOOT)
    device.receive(encode_frame(b"\x20\x34\x12" + bytes(6)), NOW)
    (reset,) = packets(device.take_output())
    assert (reset.type, reset.session, reset.reason) == (PacketType.RESET, 0x1234, ResetReason.OTHER_VERSION)
    host = Link(opens=True, boot=HOST_BOOT)
    host.open(0x1234, NOW)
    (lost,) = host.receive(encode_frame(pack(reset)), NOW)
    assert isinstance(lost, Lost)
    assert (lost.reason, lost.detail) == (LossReason.PEER_RESET, "other version")


# --- sending --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("announced", "used"), [(0, 1), (1, 1), (3, 3), (8, 8), (200, 8)])
def test_the_window_is_the_smaller_of_both(announced: int, used: int) -> None:
    host = open_host(window=announced)
    for number in range(20):
        host.send(bytes([number]), NOW)
    assert seqs(host) == list(range(used))
    host.receive(frame(PacketType.ACK, 0, 1), NOW + 0.01)
    assert seqs(host) == [used]


def test_messages_of_wrong_length_and_on_a_closed_link_are_refused() -> None:
    host = open_host()
    for message in (b"", bytes(MAX_MESSAGE + 1)):
        with pytest.raises(ValueError, match="1 to 224 bytes"):
            host.send(message, NOW)
    host.close(NOW)
    with pytest.raises(ValueError, match="not open"):
        host.send(b"x", NOW)


def test_what_waits_for_the_window_is_bounded() -> None:
    host = open_host()
    for _ in range(WINDOW + PENDING_MAX):
        host.send(b"x", NOW)
    assert host.full
    with pytest.raises(LinkFull):
        host.send(b"x", NOW)


def test_an_acknowledgement_rides_on_data() -> None:
    host = open_host()
    host.receive(frame(PacketType.DATA, 0, 0, b"event"), NOW)
    host.send(b"answer", NOW + 0.005)
    (packet,) = packets(host.take_output())
    assert (packet.type, packet.ack) == (PacketType.DATA, 1)
    assert host.deadline == pytest.approx(NOW + 0.305)  # no ACK is due any more, only the resend


def test_an_acknowledgement_waits_10_ms_for_a_ride() -> None:
    host = open_host()
    host.receive(frame(PacketType.DATA, 0, 0, b"one"), NOW)
    host.receive(frame(PacketType.DATA, 1, 0, b"two"), NOW + 0.004)
    assert host.take_output() == b""
    assert host.deadline == NOW + 0.01
    host.tick(host.deadline)
    (packet,) = packets(host.take_output())
    assert (packet.type, packet.ack) == (PacketType.ACK, 2)


def test_an_ack_outside_of_what_was_sent_is_passed_over() -> None:
    host = open_host()
    host.send(b"one", NOW)
    host.take_output()
    for ack in (2, 9, 40000, 65535):
        host.receive(frame(PacketType.ACK, 0, ack), NOW)
    host.tick(NOW + 0.3)
    assert seqs(host) == [0]


# --- receiving ------------------------------------------------------------------------------------------------------


def test_a_duplicate_is_dropped_and_acknowledged_at_once() -> None:
    host = open_host()
    assert host.receive(frame(PacketType.DATA, 0, 0, b"one"), NOW) == [b"one"]
    assert host.receive(frame(PacketType.DATA, 0, 0, b"one"), NOW) == []
    (packet,) = packets(host.take_output())
    assert (packet.type, packet.ack, host.counters.duplicates) == (PacketType.ACK, 1, 1)


def test_a_data_packet_without_a_message_is_dropped() -> None:
    host = open_host()
    assert host.receive(frame(PacketType.DATA, 0, 0, b""), NOW) == []
    assert host.counters.unknown_packets == 1
    assert host.receive(frame(PacketType.DATA, 0, 0, b"one"), NOW) == [b"one"]


def test_what_comes_too_early_is_held_and_the_gap_is_told_once() -> None:
    host = open_host()
    for seq in (1, 2, 4, 5):
        assert host.receive(frame(PacketType.DATA, seq, 0, bytes([seq])), NOW) == []
    (nak,) = packets(host.take_output())
    assert (nak.type, nak.ack, host.counters.out_of_order) == (PacketType.NAK, 0, 4)
    assert host.receive(frame(PacketType.DATA, 0, 0, b"first"), NOW) == [b"first", b"\x01", b"\x02"]
    (nak,) = packets(host.take_output())  # the next gap
    assert (nak.type, nak.ack) == (PacketType.NAK, 3)
    assert host.receive(frame(PacketType.DATA, 3, 0, b"\x03"), NOW) == [b"\x03", b"\x04", b"\x05"]
    host.tick(NOW + 0.01)
    assert [(p.type, p.ack) for p in packets(host.take_output())] == [(PacketType.ACK, 6)]


def test_no_more_than_the_window_is_held() -> None:
    host = open_host()
    for seq in (7, 8, 9):
        host.receive(frame(PacketType.DATA, seq, 0, bytes([seq])), NOW)
    came: list[Arrival] = []
    for seq in range(7):
        came += host.receive(frame(PacketType.DATA, seq, 0, bytes([seq])), NOW)
    assert came == [bytes([seq]) for seq in range(8)]  # 7 was held, 8 and 9 were dropped
    assert host.receive(frame(PacketType.DATA, 8, 0, b"\x08"), NOW) == [b"\x08"]


def test_a_gap_behind_the_last_packet_is_told_by_the_heartbeat() -> None:
    host = open_host()
    host.receive(frame(PacketType.ACK, 1, 0), NOW)  # one DATA was sent, and none was heard
    assert [p.type for p in packets(host.take_output())] == [PacketType.NAK]


def test_a_damaged_frame_is_asked_for_but_never_without_end() -> None:
    host = open_host()
    for _ in range(50):
        host.receive(b"\x05\x01\x02\x03\x04\0", NOW)
    naks = packets(host.take_output())
    assert [nak.type for nak in naks] == [PacketType.NAK] * NAKS_MAX
    host.receive(frame(PacketType.DATA, 0, 0, b"one"), NOW)
    host.receive(b"\x05\x01\x02\x03\x04\0", NOW)
    assert [p.type for p in packets(host.take_output())] == [PacketType.NAK]


def test_a_nak_and_a_time_out_bring_the_oldest_again_behind_a_zero() -> None:
    host = open_host()
    for number in range(4):
        host.send(bytes([number]), NOW)
    host.take_output()
    host.receive(frame(PacketType.NAK, 0, 1), NOW + 0.02)  # 0 was heard, 1 was not
    again = host.take_output()
    assert again[0] == 0
    assert [(p.seq, p.message) for p in packets(again)] == [(1, b"\x01")]
    host.receive(frame(PacketType.NAK, 0, 0), NOW + 0.03)  # old news: 0 is acknowledged already
    assert host.take_output() == b""
    host.tick(host.deadline)
    again = host.take_output()
    assert again[0] == 0
    assert [p.seq for p in packets(again)] == [1]
    assert (host.counters.naks_in, host.counters.resends) == (2, 2)
    for acknowledged in (2, 3):  # what was lost with it does not wait for another time-out
        host.receive(frame(PacketType.ACK, 0, acknowledged), host.deadline - 0.001)
        assert [p.seq for p in packets(host.take_output())] == [acknowledged]


def test_one_lost_frame_in_a_full_window_is_mended_by_one_frame() -> None:
    pair = LinkPair().opened()
    for number in range(40):
        pair.host.link.send(bytes([number]) * 60, pair.line.now)
    frames = pair.host.link.take_output().split(b"\0")
    pair.host.link._out.append(b"\0".join(frames[1:]))  # the first frame never leaves
    assert pair.line.run(lambda: len(pair.device.messages) == 40, limit_s=2)
    assert pair.device.messages == [bytes([number]) * 60 for number in range(40)]
    assert (pair.host.link.counters.resends, pair.device.link.counters.naks_out) == (1, 1)
    assert pair.device.link.counters.duplicates == 0


def test_the_numbers_go_round_past_65535() -> None:
    pair = LinkPair().opened()
    ends = (pair.host.link, pair.device.link)
    for link in ends:
        link._next_seq = link._expected = 65530
    sent = [bytes([number]) for number in range(20)]
    for message in sent:
        pair.host.link.send(message, pair.line.now)
        pair.device.link.send(message, pair.line.now)
    pair.line.rest(1)
    assert pair.device.messages == pair.host.messages == sent
    assert {link._next_seq for link in ends} == {link._expected for link in ends} == {14}
    assert pair.host.link.counters.resends == 0


def test_a_loss_at_the_end_of_the_numbers_is_mended() -> None:
    host = open_host()
    host._next_seq = host._expected = 65534
    host.receive(frame(PacketType.DATA, 0, 65534, b"late"), NOW)
    assert [p.type for p in packets(host.take_output())] == [PacketType.NAK]
    assert host.receive(frame(PacketType.DATA, 65533, 65534, b"old"), NOW) == []
    assert host.counters.duplicates == 1
    stream = b"".join(frame(PacketType.DATA, seq, 65534, bytes([1 + seq % 7])) for seq in (65534, 65535, 0))
    assert len(host.receive(stream, NOW)) == 3


# --- resend time ----------------------------------------------------------------------------------------------------


def talk(pair: LinkPair, rounds: int, size: int = 20) -> list[int]:
    """The host asks, the device answers, again and again; returns the host's resends after each round."""
    pair.device.on_message = lambda message, now: pair.device.link.send(message, now)
    resends = []
    for number in range(rounds):
        pair.host.link.send(bytes([number % 250]) * size, pair.line.now)
        assert pair.line.run(lambda: len(pair.host.messages) == number + 1, limit_s=30)  # noqa: B023 - runs at once
        resends.append(pair.host.link.counters.resends)
    return resends


def test_the_resend_time_follows_the_wire() -> None:
    fast, slow = LinkPair().opened(), LinkPair(WireQuality(latency_s=0.12)).opened()
    talk(fast, 20)
    talk(slow, 20)
    assert fast.host.link._resend_s == LinkTiming().resend_min_s
    assert 0.24 < slow.host.link._resend_s < 0.4
    summary = slow.host.link.round_trips.summary()
    assert summary is not None
    assert summary.median_ms == pytest.approx(240, abs=15)


def test_no_needless_resends_at_9600_baud_once_adapted() -> None:
    pair = LinkPair(AT_9600).opened()
    resends = talk(pair, 60, size=100)
    assert resends[-1] == resends[3]
    assert pair.device.link.counters.duplicates == resends[3]


def test_a_wire_slower_than_the_first_guess_is_learned() -> None:
    pair = LinkPair(WireQuality(latency_s=0.2)).opened()  # 0.4 s there and back; the first guess is 0.3 s
    resends = talk(pair, 30)
    assert resends[0] > 0
    assert resends[-1] == resends[5]
    assert pair.host.link._resend_s > 0.4


def test_a_packet_sent_twice_is_not_measured() -> None:
    host = open_host()
    host.send(b"one", NOW)
    host.tick(NOW + 0.3)
    assert host._resend_s == 0.6  # doubled by the time-out
    host.receive(frame(PacketType.ACK, 0, 1), NOW + 0.31)
    assert host.round_trips.summary() is None
    assert host._resend_s == 0.6  # and kept, until a round trip is measured
    host.send(b"two", NOW + 1)
    host.receive(frame(PacketType.ACK, 0, 2), NOW + 1.02)
    assert host._resend_s == pytest.approx(0.06)  # mean 20 ms and four times the deviation of 10 ms
    assert len(host.round_trips.samples_s) == 1


def test_the_resend_time_doubles_up_to_one_second() -> None:
    host = open_host()
    host.send(b"one", NOW)
    sent_at = [NOW]
    while host.state is LinkState.OPEN and sent_at[-1] < NOW + 3.5:
        now = host.deadline
        host.tick(now)
        if seqs(host):
            sent_at.append(now)
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent_at)]
    assert gaps[:3] == pytest.approx([0.3, 0.6, 1.0])


# --- heartbeat and death --------------------------------------------------------------------------------------------


def test_heartbeats_keep_an_idle_link_alive() -> None:
    pair = LinkPair().opened()
    before = pair.host.link.counters.frames_in
    pair.line.rest(60)
    assert pair.host.losses == pair.device.losses == []
    assert 58 <= pair.host.link.counters.frames_in - before <= 62


def test_a_silent_link_is_dead_after_exactly_the_stated_time() -> None:
    host = open_host()
    host.receive(frame(PacketType.ACK, 0, 0), NOW + 2.5)
    assert host.tick(math.nextafter(NOW + 6.5, 0)) == []
    assert host.state is LinkState.OPEN
    assert host.tick(NOW + 6.5) == [Lost(LossReason.SILENT, "4 s", 4.0)]
    assert host.take_output().count(b"\0") == 1  # a last heartbeat, and no word at the end
    assert closed(host)


def test_noise_and_strangers_do_not_keep_a_link_alive() -> None:
    host = open_host()
    lost, at = until_lost(host, lambda now: b"\x05\x01\x02\x03\x04\0" + frame(PacketType.ACK, 0, 0, session=99))
    assert (lost.reason, at) == (LossReason.SILENT, NOW + 4.0)


def test_a_stalled_link_is_dead_although_heartbeats_come() -> None:
    host = open_host()
    host.send(b"never acknowledged", NOW + 1)
    lost, at = until_lost(host, lambda now: frame(PacketType.ACK, 0, 0))
    assert (lost.reason, at) == (LossReason.STALLED, NOW + 11.0)


def test_a_link_that_stalls_and_recovers_lives() -> None:
    host = open_host()
    host.send(b"late", NOW)
    while host.deadline < NOW + 9.9:
        now = host.deadline
        host.tick(now)
        host.receive(frame(PacketType.ACK, 0, 0), now)
    assert host.receive(frame(PacketType.ACK, 0, 1), NOW + 9.9) == []
    assert host.tick(NOW + 10.5) == []
    assert host.state is LinkState.OPEN


# --- reset ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PacketType.DATA, PacketType.ACK, PacketType.NAK])
def test_a_device_says_that_it_does_not_know_a_session(kind: PacketType) -> None:
    for device in (Link(opens=False, boot=DEVICE_BOOT), open_device()):
        assert device.receive(frame(kind, 3, 0, b"x" if kind is PacketType.DATA else b"", session=99), NOW) == []
        (reset,) = packets(device.take_output())
        assert (reset.type, reset.session, reset.reason) == (PacketType.RESET, 99, ResetReason.NO_SUCH_SESSION)


def test_a_rebooted_device_is_noticed_at_the_next_word() -> None:
    host = open_host()
    host.send(b"are you there", NOW + 0.5)
    rebooted = Link(opens=False, boot=DEVICE_BOOT + 1)
    rebooted.receive(host.take_output(), NOW + 0.5)
    (lost,) = host.receive(rebooted.take_output(), NOW + 0.5)
    assert lost == Lost(LossReason.PEER_RESTARTED, f"boot {DEVICE_BOOT + 1:08x}", 0.5)


def test_a_rebooted_device_announces_itself_to_an_idle_host() -> None:
    host = open_host()
    rebooted = Link(opens=False, boot=DEVICE_BOOT + 1)
    rebooted.announce(NOW + 0.5)
    (lost,) = host.receive(rebooted.take_output(), NOW + 0.5)
    assert isinstance(lost, Lost)
    assert lost.reason is LossReason.PEER_RESTARTED
    opening = Link(opens=True, boot=HOST_BOOT)
    opening.open(SESSION, NOW)
    rebooted.announce(NOW)
    assert opening.receive(rebooted.take_output(), NOW) == []
    assert opening.state is LinkState.OPENING  # its OPEN will be heard


def test_a_device_that_forgot_only_the_session_is_told_apart_from_a_reboot() -> None:
    host = open_host()
    host.send(b"are you there", NOW)
    forgetful = Link(opens=False, boot=DEVICE_BOOT)
    forgetful.receive(host.take_output(), NOW)
    (lost,) = host.receive(forgetful.take_output(), NOW)
    assert isinstance(lost, Lost)
    assert (lost.reason, lost.detail) == (LossReason.PEER_RESET, "no such session")


def test_goodbye_ends_the_other_side_at_once() -> None:
    host, device = open_host(), open_device()
    host.close(NOW + 1)
    assert device.receive(host.take_output(), NOW + 1) == [Lost(LossReason.PEER_RESET, "goodbye", 1.0)]
    assert device.take_output() == b""  # RESET is never answered


def test_a_host_passes_over_other_sessions() -> None:
    host = open_host()
    assert host.receive(frame(PacketType.DATA, 0, 0, b"x", session=99), NOW) == []
    assert host.receive(encode_frame(pack(Packet(PacketType.RESET, 99, boot=1, reason=1))), NOW) == []
    assert host.take_output() == b""
    assert host.state is LinkState.OPEN


def test_a_dropped_wire_leaves_nothing_to_send() -> None:
    host = open_host()
    host.send(b"lost with the cable", NOW)
    host.drop()
    assert host.take_output() == b""
    assert host.deadline == math.inf


# --- diagnosis ------------------------------------------------------------------------------------------------------


def test_the_counters_tell_what_happened() -> None:
    pair = LinkPair().opened()
    talk(pair, 10)
    pair.line.rest(0.1)
    host, device = pair.host.link.counters, pair.device.link.counters
    assert host.sessions == device.sessions == 1
    assert (host.frames_out, host.bytes_out) == (device.frames_in, device.bytes_in)
    assert (device.frames_out, device.bytes_out) == (host.frames_in, host.bytes_in)
    assert host.resends == host.bad_frames == host.losses == 0
    pair.host.link.receive(b"\x05\x01\x02\x03\x04\0\x09\x01\0\x03\x01\x02\x04\x03\x02\x01\0" + bytes([7]) * 300, 200)
    assert (host.length_errors, host.cobs_errors, host.crc_errors) == (2, 1, 1)
    assert host.resyncs == 0
    pair.host.link.receive(b"\0" + frame(PacketType.ACK, 10, 10), 200)
    assert host.resyncs == 1


def test_the_ring_keeps_the_last_frames_of_both_directions() -> None:
    pair = LinkPair().opened()
    talk(pair, 100)
    lines = list(pair.host.link.ring.lines())
    assert len(lines) == RING_FRAMES
    assert lines[-1].split()[0] == "+0.000s"
    assert {line.split()[1] for line in lines} == {"in", "out"}
    assert any("DATA" in line and "seq" in line and "20 bytes" in line for line in lines)


@given(st.binary(min_size=8, max_size=60), st.integers(0, 66), st.integers(0, 7))
def test_a_log_never_shows_what_a_message_says(message: bytes, at: int, bit: int) -> None:
    """A card that a device saw must not stand in a log: neither from a whole frame, nor from a damaged one."""
    host = open_host()
    host.send(message, NOW)
    whole = frame(PacketType.DATA, 0, 0, message)
    damaged = bytearray(whole)
    damaged[at % len(whole)] ^= 1 << bit
    cut = whole[at % len(whole) :]
    stranger = encode_frame(b"\x7f" + message)
    host.receive(whole + bytes(damaged) + b"\0" + cut + stranger, NOW)
    shown = "\n".join(host.ring.lines()).replace(" ", "").lower()
    for start in range(len(message) - 5):
        piece = message[start : start + 6]
        assert piece.hex() not in shown
        assert repr(piece)[2:-1].lower() not in shown or len(set(piece)) < 3


# --- any bytes at all -----------------------------------------------------------------------------------------------


@given(st.lists(RANDOM_BYTES | packets_of(SESSION).map(encode_frame), max_size=10), CUTS, st.booleans())
@settings(max_examples=200)
def test_no_bytes_can_break_a_link(parts: list[bytes], cuts: list[int], host: bool) -> None:
    stream = b"".join(parts)
    whole = open_host() if host else open_device()
    pieces = open_host() if host else open_device()
    at_once: list[Arrival] = whole.receive(stream, NOW)
    bytewise: list[Arrival] = []
    for piece in chop(stream, cuts):
        bytewise += pieces.receive(piece, NOW)
        assert len(pieces._decoder._buffer) <= MAX_ENCODED
    assert bytewise == at_once
    assert whole.take_output() == pieces.take_output()
    assert whole.counters == pieces.counters


@given(
    st.lists(
        st.tuples(st.floats(0, 2), st.sampled_from(["send", "soup", "packet", "tick"]), packets_of(SESSION)),
        max_size=30,
    ),
    st.booleans(),
)
@settings(max_examples=150)
def test_the_deadline_is_truthful(steps: list[tuple[float, str, bytes]], host: bool) -> None:
    """Before it, tick does nothing; at it, tick does something, and the next one is later."""
    link = open_host() if host else open_device()
    now = NOW
    for wait, do, body in steps:
        due = link.deadline
        early = min(now + wait, math.nextafter(due, 0))
        if early >= now:
            assert link.tick(early) == []
            assert link.take_output() == b""
        if due <= now + wait:
            now = due
            assert link.tick(now) or link.take_output()
            assert link.deadline > now
        else:
            now = max(now, early)
        if link.state is not LinkState.OPEN:
            return
        if do == "send" and not link.full:
            link.send(body[:MAX_MESSAGE], now)
        elif do != "tick":
            link.receive(encode_frame(body) if do == "packet" else body, now)
        link.take_output()
        assert link.deadline > now or closed(link)
