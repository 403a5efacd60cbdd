"""The points of the link's sessions: opening, reset, heartbeat and death."""

from __future__ import annotations

from firmware_bridge.tools.conform.link_talk import ANSWER_S, QUIET_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Failed
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.frame import DELIMITER, encode_frame
from firmware_bridge.wire.messages import VERSION, Hello
from firmware_bridge.wire.packet import Packet, PacketType, ResetReason, pack

ACK, NAK, DATA, OPENED, RESET = (
    PacketType.ACK,
    PacketType.NAK,
    PacketType.DATA,
    PacketType.OPENED,
    PacketType.RESET,
)

BEAT_WITHIN_S = 1.4  # 1 s by the protocol
ALIVE_S = 3.4  # silence that a device must bear
DEAD_S = 4.8  # silence after which it must have closed
UNSTALLED_S = 8.4  # without acknowledgement: the device must bear it, and say something before the 10 s are over
STALLED_S = 11.0


@point("link.open", "Opening", "OPEN is answered by OPENED with the same session, a boot id and a window of 1 to 8.")
def link_open(talk: Talk) -> Steps[None]:
    """Other points do not look at what OPENED says."""
    opened = yield from talk.open()
    if opened.boot == 0:
        raise Failed("expected a boot id in OPENED, got 0, which is not used")
    if not 1 <= opened.window <= 8:
        raise Failed(f"expected a window of 1 to 8 in OPENED, got {opened.window}")


@point("link.reopen", "Opening", "The same OPEN again is answered by OPENED and changes nothing.")
def link_reopen(talk: Talk) -> Steps[None]:
    """Numbering and greeting must have stayed."""
    yield from talk.greet()
    yield from talk.answered("before the repeated OPEN")
    talk.write(DELIMITER + encode_frame(pack(talk.opening())))
    if not (yield from talk.packet(OPENED)):
        raise Failed(f"the same OPEN again: expected OPENED, but {talk.heard()}")
    yield from talk.answered("the session did not go on after the same OPEN again")


@point("link.new_session", "Opening", "Another OPEN starts a new session: both sides number from 0.")
def link_new_session(talk: Talk) -> Steps[None]:
    """The old session is not ended first, as when a host has restarted."""
    yield from talk.greet()
    yield from talk.answered("in the first session")
    yield from talk.open()
    yield from _numbered_from_0(talk)


@point("link.host_boot", "Opening", "An OPEN with the same session number and another host boot starts a new session.")
def link_host_boot(talk: Talk) -> Steps[None]:
    """As when a host has restarted and chose the number again."""
    yield from talk.greet()
    yield from talk.answered("in the first session")
    restarted = Packet(PacketType.OPEN, talk.session, boot=talk.host_boot ^ 0xFFFF, window=8)
    talk.write(DELIMITER + encode_frame(pack(restarted)))
    if not (yield from talk.packet(OPENED)):
        raise Failed(f"the same session with another host boot: expected OPENED, but {talk.heard()}")
    talk.next_seq = talk.expected = 0
    yield from _numbered_from_0(talk)


def _numbered_from_0(talk: Talk) -> Steps[None]:
    hello = talk.say(Hello(VERSION, VERSION).encode())
    answer = yield from talk.packet(DATA, within=ANSWER_S)
    if answer is None or answer.seq != 0 or answer.ack != hello.seq + 1:
        raise Failed(f"Hello in a new session: expected DATA with seq 0 and ack 1, but {talk.heard()}")


@point("link.reset", "Reset", "A packet of a session that is not open is answered by RESET with reason 1.")
def link_reset(talk: Talk) -> Steps[None]:
    """In the middle of a session, which must go on."""
    yield from talk.greet()
    other = talk.other_session()

    def no_such_session(packet: Packet) -> bool:
        return packet.reason == ResetReason.NO_SUCH_SESSION

    for kind in (ACK, NAK, DATA):
        talk.put(Packet(kind, other, seq=3, ack=5, message=talk.probe() if kind is DATA else b""))
        if not (yield from talk.packet(RESET, session=other, where=no_such_session)):
            expected = f"{kind.name} of session {other:04x}: expected RESET of it with reason 1"
            raise Failed(f"{expected}, but {talk.heard()}")
    yield from talk.answered("the present session did not go on")


@point("link.goodbye", "Reset", "RESET ends the session it names, no other one, and is not answered.")
def link_goodbye(talk: Talk) -> Steps[None]:
    """Whether a packet after the end gets its RESET is the matter of link.reset."""
    yield from talk.greet()
    goodbye = Packet(RESET, talk.other_session(), boot=talk.host_boot, reason=ResetReason.GOODBYE)
    talk.put(goodbye)
    yield from talk.answered("RESET of another session ended this one")
    talk.beats = False
    session = talk.session
    talk.leave()
    if (yield from talk.packet(RESET, session=session, within=QUIET_S)):
        raise Failed(f"RESET was answered: {talk.heard()}")
    talk.session = session
    yield from _closed(talk, "RESET")


@point("link.heartbeat", "Heartbeat and death", "A side that has sent nothing for 1 s sends an ACK.")
def link_heartbeat(talk: Talk) -> Steps[None]:
    """Twice, so that a late acknowledgement is not taken for it."""
    yield from talk.greet()
    yield from talk.rest(QUIET_S)
    talk.beats = False
    for _ in range(2):
        talk.packets.clear()
        if not (yield from talk.packet(ACK, NAK, DATA, within=BEAT_WITHIN_S)):
            raise Failed(f"expected a packet within {BEAT_WITHIN_S:g} s, but {talk.heard()}")


@point("link.death", "Heartbeat and death", "After 4 s of silence from the host the session is closed, not earlier.")
def link_death(talk: Talk) -> Steps[None]:
    """Silent means silent: what the device sends meanwhile is not acknowledged either."""
    yield from talk.greet()
    yield from talk.rest(QUIET_S)
    talk.beats = talk.acknowledges = False
    yield from talk.rest(ALIVE_S)
    talk.acknowledges = True
    yield from talk.answered(f"closed after {ALIVE_S:g} s of silence already")
    talk.acknowledges = False
    yield from talk.rest(DEAD_S)
    yield from _closed(talk, f"{DEAD_S:g} s of silence")


@point("link.stall", "Heartbeat and death", "A packet that is not acknowledged for 10 s ends the session, not earlier.",
       slow=True)  # fmt: skip
def link_stall(talk: Talk) -> Steps[None]:
    """The host's heartbeats go on all the time, with the old number."""
    yield from talk.greet()
    yield from talk.settle()
    talk.acknowledges = False
    talk.say(talk.probe())
    if not (yield from talk.packet(DATA, within=ANSWER_S)):
        raise Failed(f"expected an answer in DATA, but {talk.heard()}")
    since = talk.now
    yield from talk.rest(UNSTALLED_S)
    talk.packets.clear()
    if not (yield from talk.packet(ACK, NAK, DATA, within=BEAT_WITHIN_S)):
        raise Failed(f"closed {UNSTALLED_S:g} s after a packet that was not acknowledged already")
    yield from talk.rest(since + STALLED_S - talk.now)
    yield from _closed(talk, f"{STALLED_S:g} s without acknowledgement")


def _closed(talk: Talk, after: str) -> Steps[None]:
    """Ask in a session that should be closed: RESET or silence is right, anything else is life."""
    talk.say(talk.probe())
    if (yield from talk.packet(ACK, NAK, DATA, within=QUIET_S)):
        raise Failed(f"after {after} the session is still open: {talk.heard()}")
