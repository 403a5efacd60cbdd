"""The points about link sessions: opening, reset, heartbeat and death."""

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
ALIVE_S = 3.4  # silence that a device must tolerate
DEAD_S = 4.8  # silence after which it must have closed
UNSTALLED_S = (
    8.4  # time without acknowledgement that the device must tolerate, and still send something within the 10 s
)
STALLED_S = 11.0


@point("link.open", "Opening", "OPEN is answered by OPENED with the same session, a boot id and a window of 1 to 8.")
def link_open(talk: Talk) -> Steps[None]:
    """Other points do not check the fields of OPENED."""
    opened = yield from talk.open()
    if opened.boot == 0:
        raise Failed("expected a boot id in OPENED, got 0, which is not used")
    if not 1 <= opened.window <= 8:
        raise Failed(f"expected a window of 1 to 8 in OPENED, got {opened.window}")


@point("link.reopen", "Opening", "The same OPEN again is answered by OPENED and changes nothing.")
def link_reopen(talk: Talk) -> Steps[None]:
    """The numbering and the greeting must remain valid."""
    yield from talk.greet()
    yield from talk.answered("before the repeated OPEN")
    talk.write(DELIMITER + encode_frame(pack(talk.opening())))
    if not (yield from talk.packet(OPENED)):
        raise Failed(f"the same OPEN again: expected OPENED, but {talk.received()}")
    yield from talk.answered("the session did not continue after the same OPEN again")


@point("link.new_session", "Opening", "Another OPEN starts a new session: both sides number from 0.")
def link_new_session(talk: Talk) -> Steps[None]:
    """The old session is not ended first, as when a host has restarted."""
    yield from talk.greet()
    yield from talk.answered("in the first session")
    yield from talk.open()
    yield from _numbered_from_0(talk)


@point("link.host_boot", "Opening", "An OPEN with the same session number and another host boot starts a new session.")
def link_host_boot(talk: Talk) -> Steps[None]:
    """As when a host restarted and chose the same number again."""
    yield from talk.greet()
    yield from talk.answered("in the first session")
    restarted = Packet(PacketType.OPEN, talk.session, boot=talk.host_boot ^ 0xFFFF, window=8)
    talk.write(DELIMITER + encode_frame(pack(restarted)))
    if not (yield from talk.packet(OPENED)):
        raise Failed(f"the same session with another host boot: expected OPENED, but {talk.received()}")
    talk.next_seq = talk.expected = 0
    yield from _numbered_from_0(talk)


def _numbered_from_0(talk: Talk) -> Steps[None]:
    hello = talk.say(Hello(VERSION, VERSION).encode())
    answer = yield from talk.packet(DATA, within=ANSWER_S)
    if answer is None or answer.seq != 0 or answer.ack != hello.seq + 1:
        raise Failed(f"Hello in a new session: expected DATA with seq 0 and ack 1, but {talk.received()}")


@point("link.reset", "Reset", "A packet of a session that is not open is answered by RESET with reason 1.")
def link_reset(talk: Talk) -> Steps[None]:
    """In the middle of a session, which must continue."""
    yield from talk.greet()
    other = talk.other_session()
    for kind in (ACK, NAK, DATA):
        talk.put(Packet(kind, other, seq=3, ack=5, message=talk.probe() if kind is DATA else b""))
        yield from talk.reset_of(other, ResetReason.NO_SUCH_SESSION, f"{kind.name} of session {other:04x}")
    yield from talk.answered("the current session did not continue")


@point("link.goodbye", "Reset", "RESET ends the session it names, no other one, and is not answered.")
def link_goodbye(talk: Talk) -> Steps[None]:
    """link.reset checks whether a packet after the end gets a RESET."""
    yield from talk.greet()
    goodbye = Packet(RESET, talk.other_session(), boot=talk.host_boot, reason=ResetReason.GOODBYE)
    talk.put(goodbye)
    yield from talk.answered("RESET of another session ended this one")
    talk.sends_heartbeats = False
    session = talk.session
    talk.leave()
    if (yield from talk.packet(RESET, session=session, within=QUIET_S)):
        raise Failed(f"RESET was answered: {talk.received()}")
    talk.session = session
    yield from _closed(talk, "RESET")


@point("link.heartbeat", "Heartbeat and death", "A side that has sent nothing for 1 s sends an ACK.")
def link_heartbeat(talk: Talk) -> Steps[None]:
    """Twice, so that a late acknowledgement is not mistaken for it."""
    yield from talk.greet()
    yield from talk.rest(QUIET_S)
    talk.sends_heartbeats = False
    for _ in range(2):
        talk.packets.clear()
        if not (yield from talk.packet(ACK, NAK, DATA, within=BEAT_WITHIN_S)):
            raise Failed(f"expected a packet within {BEAT_WITHIN_S:g} s, but {talk.received()}")


@point("link.death", "Heartbeat and death", "After 4 s of silence from the host the session is closed, not earlier.")
def link_death(talk: Talk) -> Steps[None]:
    """What the device sends meanwhile is not acknowledged either."""
    yield from talk.greet()
    yield from talk.rest(QUIET_S)
    talk.sends_heartbeats = talk.acknowledges = False
    yield from talk.rest(ALIVE_S)
    talk.acknowledges = True
    yield from talk.answered(f"closed after only {ALIVE_S:g} s of silence")
    talk.acknowledges = False
    yield from talk.rest(DEAD_S)
    yield from _closed(talk, f"{DEAD_S:g} s of silence")


@point("link.stall", "Heartbeat and death", "A packet that is not acknowledged for 10 s ends the session, not earlier.",
       slow=True)  # fmt: skip
def link_stall(talk: Talk) -> Steps[None]:
    """The host's heartbeats continue all the time, with the old number."""
    yield from talk.greet()
    yield from talk.settle()
    yield from talk.unacknowledged_answer()
    since = talk.now
    yield from talk.rest(UNSTALLED_S)
    talk.packets.clear()
    if not (yield from talk.packet(ACK, NAK, DATA, within=BEAT_WITHIN_S)):
        raise Failed(f"closed only {UNSTALLED_S:g} s after a packet that was not acknowledged")
    yield from talk.rest(since + STALLED_S - talk.now)
    yield from _closed(talk, f"{STALLED_S:g} s without acknowledgement")


def _closed(talk: Talk, after: str) -> Steps[None]:
    """Ask in a session that should be closed: only RESET or silence is correct."""
    talk.say(talk.probe())
    if (yield from talk.packet(ACK, NAK, DATA, within=QUIET_S)):
        raise Failed(f"after {after} the session is still open: {talk.received()}")
