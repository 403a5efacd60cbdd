"""The points about sending and receiving: order, acknowledgement, loss and resending."""

from __future__ import annotations

from firmware_bridge.tools.conform.frame_points import GARBAGE
from firmware_bridge.tools.conform.link_talk import ANSWER_S, QUIET_S, SOON_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import IDENTITY, Failed, number_of
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.frame import DELIMITER, encode_frame
from firmware_bridge.wire.messages import VERSION, EventsStored, Hello
from firmware_bridge.wire.packet import Packet, PacketType, pack

ACK, NAK, DATA = PacketType.ACK, PacketType.NAK, PacketType.DATA

ACKNOWLEDGED_S = 0.2  # as a rule 10 ms; USB adapters and a busy host take longer
BEFORE_RESEND_S = 0.2  # well below the initial resend time of 300 ms
TOO_EARLY_S = 0.15  # likewise; shorter, because on a busy host the measured time can be too short
RESENT_S = 1.5  # the longest resend time plus a margin
NAKS_MAX = 8  # for one expected number
WINDOW = 8  # of this side
IN_A_ROW = 3  # packets sent at once, if the windows allow
HOLDS_NONE = "the device has a window of 1"


@point("link.acknowledge", "Sending and receiving", "DATA is acknowledged within 200 ms, even if no answer is due.")
def link_acknowledge(talk: Talk) -> Steps[None]:
    """EventsStored has no answer that could carry the acknowledgement."""
    yield from talk.greet()
    yield from talk.rest(QUIET_S)
    sent = talk.say(EventsStored(0).encode())
    if not (yield from talk.acknowledgement(sent, ACKNOWLEDGED_S)):
        raise Failed(f"expected ack {sent.seq + 1} within {ACKNOWLEDGED_S:g} s, but {talk.received()}")


@point("link.duplicate", "Sending and receiving", "A repeated DATA packet is acknowledged at once, not acted on again.")
def link_duplicate(talk: Talk) -> Steps[None]:
    """With a question, which must be answered only once."""
    yield from talk.greet()
    probe = talk.probe()
    sent = talk.say(probe)
    yield from talk.answer_to(probe, "the first time")
    yield from talk.rest(QUIET_S)
    talk.put(sent)
    if not (yield from talk.packet(ACK, DATA, where=lambda packet: packet.ack == sent.seq + 1)):
        raise Failed(f"a repeated DATA packet: expected ack {sent.seq + 1} within {SOON_S:g} s, but {talk.received()}")
    if (yield from talk.message((IDENTITY,), None, QUIET_S)):
        raise Failed("a repeated DATA packet was acted on again: its question was answered twice")


@point(
    "link.order",
    "Sending and receiving",
    "A DATA packet that is too early is not delivered; a NAK requests the missing one.",
)
def link_order(talk: Talk) -> Steps[None]:
    """Then the missing one is sent, and must be accepted."""
    yield from talk.greet()
    talk.put(talk.data(talk.probe(), ahead=1))
    if not (yield from _nak(talk)):
        expected = f"DATA {talk.next_seq + 1} instead of {talk.next_seq}: expected NAK with ack {talk.next_seq}"
        raise Failed(f"{expected}, but {talk.received()}")
    if (yield from talk.message((IDENTITY,), None, QUIET_S)):
        raise Failed("a DATA packet that was too early was acted on")
    yield from talk.answered("the missing DATA packet was not accepted")


@point("link.window", "Packets", "A side keeps no more DATA unacknowledged than the other's window allows.")
def link_window(talk: Talk) -> Steps[None]:
    """A host with a window of 1 withholds its acknowledgements while several answers are due."""
    yield from _unacknowledged_welcome(talk, window=1)
    for _ in range(3):  # one by one: the device's window may be 1 too
        yield from talk.acknowledgement(talk.say(talk.probe()), ANSWER_S)
    for unacknowledged in (0, 1):
        yield from talk.rest(QUIET_S)
        ahead = sorted(seq for seq in set(talk.seqs) if seq > unacknowledged)
        if ahead:
            raise Failed(f"window 1, DATA {unacknowledged} not acknowledged: DATA {ahead} was sent anyway")
        talk.put_ack(unacknowledged + 1)


@point("link.held", "Sending and receiving", "DATA that is too early is held, up to the device's own window.")
def link_held(talk: Talk) -> Steps[None]:
    """The first of several packets is sent last; none is repeated, and all must be answered."""
    yield from talk.greet()
    probes = [talk.probe() for _ in range(min(IN_A_ROW, talk.window))]
    if len(probes) == 1:
        talk.note = HOLDS_NONE
        return
    first, *early = [talk.data(probe, ahead) for ahead, probe in enumerate(probes)]
    talk.put(*early)
    if not (yield from _nak(talk)):
        return  # link.order fails
    talk.put(first)
    for number, probe in enumerate(probes):
        yield from talk.answer_to(probe, f"DATA {number} of {len(probes)}, the first of which was sent last")


@point("link.too_far", "Sending and receiving", "DATA that is too early for the device's window is dropped.")
def link_too_far(talk: Talk) -> Steps[None]:
    """Then the missing ones are sent, and another packet with its number, which must be accepted."""
    yield from talk.greet()
    talk.put(talk.data(talk.probe(), ahead=talk.window))
    if not (yield from _nak(talk)):
        return  # link.order fails
    for _ in range(talk.window):
        yield from talk.answered("a missing DATA packet was not accepted")
    yield from talk.answered(f"DATA that was {talk.window} too early, with a window of {talk.window}, was not dropped")


@point("link.nak_again", "Sending and receiving", "A NAK requests what is still missing after others were delivered.")
def link_nak_again(talk: Talk) -> Steps[None]:
    """The third packet is sent first, then the first, then the second."""
    yield from talk.greet()
    if talk.window < 3:
        talk.note = f"the device has a window of {talk.window}"
        return
    held = talk.probe()
    first, second, third = talk.data(talk.probe()), talk.data(talk.probe(), 1), talk.data(held, 2)
    talk.put(third)
    if not (yield from _nak(talk)):
        return  # link.order fails
    talk.put(first)
    nak = yield from talk.packet(NAK, where=lambda packet: packet.ack == second.seq)
    received = talk.received()
    talk.put(second)
    # If the third is not answered, it was not held, so no NAK was due; link.held checks that.
    if not nak and (yield from talk.message((IDENTITY,), number_of(held))):
        raise Failed(
            f"DATA {second.seq} is missing before one that is held: expected NAK with its number, but {received}"
        )


def _unacknowledged_welcome(talk: Talk, window: int = WINDOW) -> Steps[tuple[Packet, Packet]]:
    """Open a session and greet without acknowledging the answer: the Hello that was sent, and the DATA received."""
    yield from talk.open(window=window)
    talk.acknowledges = False
    hello = talk.say(Hello(VERSION, VERSION).encode())
    welcome = yield from talk.packet(DATA, within=ANSWER_S)
    if welcome is None:
        raise Failed(f"expected Welcome in DATA, but {talk.received()}")
    return hello, welcome


def _nak(talk: Talk) -> Steps[Packet | None]:
    return (yield from talk.packet(NAK, where=lambda packet: packet.ack == talk.next_seq))


@point("link.nak_damaged", "Sending and receiving", "A damaged frame is answered by a NAK at once.")
def link_nak_damaged(talk: Talk) -> Steps[None]:
    """It may have been a DATA packet."""
    yield from talk.greet()
    talk.write(GARBAGE + DELIMITER)
    if not (yield from _nak(talk)):
        raise Failed(f"a damaged frame: expected NAK with ack {talk.next_seq}, but {talk.received()}")


@point("link.nak_ahead", "Sending and receiving", "An ACK or NAK whose seq is later than expected gets a NAK.")
def link_nak_ahead(talk: Talk) -> Steps[None]:
    """It shows that DATA was sent and never arrived."""
    yield from talk.greet()
    for kind in (ACK, NAK):
        talk.put(Packet(kind, talk.session, seq=talk.next_seq + 1, ack=talk.expected))
        if not (yield from _nak(talk)):
            expected = f"{kind.name} with seq {talk.next_seq + 1}: expected NAK with ack {talk.next_seq}"
            raise Failed(f"{expected}, but {talk.received()}")


@point("link.nak_limit", "Sending and receiving", "At most eight NAKs are sent while the same number is expected.")
def link_nak_limit(talk: Talk) -> Steps[None]:
    """Damaged frames and heartbeats are reasons for more. Once the number has arrived, NAKs are sent again."""
    yield from talk.greet()
    ahead = encode_frame(pack(Packet(ACK, talk.session, seq=talk.next_seq + 2, ack=talk.expected)))
    probe, asked = talk.probe_frame()
    talk.write((GARBAGE + DELIMITER) * 12 + ahead * 12 + asked)
    yield from talk.answer_to(probe, "after many damaged frames the session did not continue")
    naks = len(talk.came(NAK))
    if naks > NAKS_MAX:
        raise Failed(f"{naks} NAKs were sent for DATA {talk.next_seq - 1}, at most {NAKS_MAX} are allowed")
    talk.write(GARBAGE + DELIMITER + ahead)
    if not (yield from _nak(talk)):
        raise Failed(f"expected a NAK for the next number, after {naks} for the previous one, but {talk.received()}")


@point("link.wild_ack", "Sending and receiving", "An ack outside the range sent is ignored, but its packet is not.")
def link_wild_ack(talk: Talk) -> Steps[None]:
    """A question with such an ack is answered."""
    yield from talk.greet()
    probe = talk.probe()
    talk.put(Packet(DATA, talk.session, seq=talk.next_seq, ack=talk.expected + 1000, message=probe))
    talk.next_seq += 1
    yield from talk.answer_to(probe, f"DATA with ack {talk.expected + 1000}")


@point("link.ack_counts", "Sending and receiving", "The ack counts even if its DATA is a duplicate or too early.")
def link_ack_counts(talk: Talk) -> Steps[None]:
    """With a window of 1, each ack releases the next answer."""
    hello, _ = yield from _unacknowledged_welcome(talk, window=1)
    for _ in range(2):  # one by one: the device's window may be 1 too
        yield from talk.acknowledgement(talk.say(talk.probe()), ANSWER_S)
    early = talk.data(talk.probe(), ahead=1)
    for ack, carrier, name in ((1, hello, "a duplicate"), (2, early, "too early")):
        talk.put(Packet(DATA, talk.session, seq=carrier.seq, ack=ack, message=carrier.message))
        if not (yield from _has_arrived(talk, ack)):
            raise Failed(f"ack {ack} in DATA that is {name}: expected DATA {ack}, but {talk.received()}")


def _has_arrived(talk: Talk, seq: int) -> Steps[bool | None]:
    return (yield from talk.until(lambda: True if seq in talk.seqs else None, SOON_S))


# --- resending ------------------------------------------------------------------------------------------------------


@point("link.resend", "Sending and receiving", "DATA that is not acknowledged is sent again.")
def link_resend(talk: Talk) -> Steps[None]:
    """The acknowledgement of one answer is withheld."""
    yield from talk.greet()
    yield from talk.rest(QUIET_S)
    first = yield from talk.unacknowledged_answer()
    talk.packets.clear()
    if not (yield from _again(talk, first, RESENT_S)):
        raise Failed(f"expected DATA {first.seq} again within {RESENT_S:g} s, but {talk.received()}")


@point("link.nak", "Sending and receiving", "After a NAK the unacknowledged DATA is resent at once.")
def link_nak(talk: Talk) -> Steps[None]:
    """With the first DATA of a session, when the resend time is 300 ms: a time-out cannot be mistaken for it."""
    _, first = yield from _unacknowledged_welcome(talk)
    talk.put_ack(first.seq, NAK)
    if not (yield from _again(talk, first, BEFORE_RESEND_S)):
        expected = f"NAK with ack {first.seq}: expected DATA {first.seq} again within {BEFORE_RESEND_S:g} s"
        raise Failed(f"{expected}, but {talk.received()}")


def _again(talk: Talk, first: Packet, within: float) -> Steps[Packet | None]:
    def same(packet: Packet) -> bool:
        return (packet.seq, packet.message) == (first.seq, first.message)

    return (yield from talk.packet(DATA, where=same, within=within))


@point(
    "link.resend_next",
    "Sending and receiving",
    "When the oldest DATA was resent and is acknowledged, the next unacknowledged one is resent at once.",
)
def link_resend_next(talk: Talk) -> Steps[None]:
    """With the first two DATA of a session, when the resend time is 300 ms: a time-out cannot be mistaken for it."""
    yield from talk.open()
    if talk.window == 1:
        talk.note = HOLDS_NONE
        return
    talk.acknowledges = False
    talk.say(Hello(VERSION, VERSION).encode())
    talk.say(talk.probe())
    if not (yield from talk.packet(DATA, where=lambda packet: packet.seq == 1, within=ANSWER_S)):
        talk.note = "the device keeps fewer packets unacknowledged than it may"
        return
    talk.packets.clear()
    if not (yield from talk.packet(DATA, where=lambda packet: packet.seq == 0, within=RESENT_S)):
        return  # link.resend fails
    talk.put_ack(1)
    if not (yield from talk.packet(DATA, where=lambda packet: packet.seq == 1, within=BEFORE_RESEND_S)):
        raise Failed(f"DATA 0 was resent and acknowledged: expected DATA 1 again at once, but {talk.received()}")


@point("link.resend_zero", "Frame", "A zero byte precedes every packet that is sent again.")
def link_resend_zero(talk: Talk) -> Steps[None]:
    """After a NAK, and after the resend time; link.nak and link.resend check that it is resent."""
    yield from talk.greet()
    yield from talk.settle()
    first = yield from talk.unacknowledged_answer()
    talk.put_ack(first.seq, NAK)
    for _ in range(2):
        again = yield from _again(talk, first, RESENT_S)
        if again and not talk.fenced(again):
            raise Failed(f"DATA {first.seq} was resent without a zero before its frame")
        talk.packets.clear()


@point("link.resend_early", "Sending and receiving", "DATA is not sent again before the resend time, 300 ms at first.")
def link_resend_early(talk: Talk) -> Steps[None]:
    """With the first DATA of a session, before any round trip is measured."""
    _, first = yield from _unacknowledged_welcome(talk)
    yield from talk.rest(TOO_EARLY_S)
    copies = talk.seqs.count(first.seq) - 1
    if copies:
        raise Failed(f"DATA {first.seq} was sent again within {TOO_EARLY_S:g} s, {copies} times")
