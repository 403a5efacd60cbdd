"""Questions and their answers. A question changes nothing and may be asked at any time."""

from __future__ import annotations

from firmware_bridge.wire.messages.base import Message
from firmware_bridge.wire.messages.enums import DeviceRole, Mode, Outcome, Reason
from firmware_bridge.wire.messages.fields import (
    CardCount,
    Digest,
    Id,
    Kinds,
    Milliseconds,
    Name,
    Numbers,
    Text,
    Total,
    check_digest,
)


class Question(Message):
    """Base of the questions. `ref` comes back in the answer and has no other meaning."""

    ref: Id


class Identify(Question, tag=48):
    """Who are you? Answered by `Identity`."""


class AskStatus(Question, tag=49):
    """What are you doing? Answered by `Status`."""


class AskCounters(Question, tag=50):
    """What have you done? Answered by `Counters`."""


class AskCards(Question, tag=51):
    """Which cards did this Dispense or Release put out? Answered by `CardKinds` once they were taken."""

    command: Id


class Identity(Message, tag=8):
    """Device: its identity, as in Welcome."""

    ref: Id
    role: DeviceRole
    maker: Name
    model: Name
    serial: Name
    firmware: Name
    firmware_digest: Digest
    capabilities: Numbers

    def __post_init__(self) -> None:
        check_digest(self.firmware_digest)


class Status(Message, tag=9):
    """Device: what it is doing. A card count is -1 where the device has no sensor."""

    ref: Id
    mode: Mode
    doing: Id  # id of the command whose cycle is running, 0 for none
    last_command: Id  # highest command id seen since this boot, 0 for none
    last_cycle: Id  # id of the command whose cycle ended last, 0 for none
    last_outcome: Outcome
    infeed_cards: CardCount
    inside_cards: CardCount
    output_cards: CardCount
    exit_cards: CardCount
    held_cards: CardCount
    door_open: bool
    locked: bool
    events_kept: Total
    uptime_ms: Milliseconds


class Counters(Message, tag=10):
    """Device: totals since its boot."""

    ref: Id
    uptime_ms: Milliseconds
    effects: Total  # commands carried out; a repeated id does not count
    cycles: Total
    cards_moved: Total
    stacks: Total
    jams: Total
    faults: Total
    frames_in: Total
    frames_bad: Total
    resends: Total


class CardKinds(Message, tag=11):
    """Device: the kinds of the cards that a command put out, in any order."""

    ref: Id
    command: Id
    kinds: Kinds


class NoAnswer(Message, tag=7):
    """Device: it cannot answer this question."""

    ref: Id
    reason: Reason
    text: Text = ""


AnyQuestion = Identify | AskStatus | AskCounters | AskCards
QUESTION_ANSWERS = (Status, Counters, Identity, CardKinds, NoAnswer)
