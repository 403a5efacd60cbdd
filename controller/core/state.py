"""The state of a table: plain data with one encoding. `apply` is the only thing that changes it."""

# mypyc
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.setup import Setup
from controller.games.game import Method


@dataclass(init=False)
class Given:
    """A command that a device was given and has not finished. `id` is the number of its `command.given` event."""

    id: int
    name: str
    boot: int
    until_ms: int
    args: dict[str, int | bool | str] = field(default_factory=dict)
    deck: str = ""
    target: str = ""  # whose stack it brings
    answered: bool = False
    counted: int = -1
    fits: bool = True  # the kinds a recognising device has counted are those of a deck
    presented: int = -1
    face_up: int = 0

    def __init__(
        self,
        id: int,
        name: str,
        boot: int,
        until_ms: int,
        args: dict[str, int | bool | str] | None = None,
        deck: str = "",
        target: str = "",
        answered: bool = False,
        counted: int = -1,
        fits: bool = True,
        presented: int = -1,
        face_up: int = 0,
    ) -> None:
        self.id, self.name, self.boot, self.until_ms = id, name, boot, until_ms
        self.args = args if args is not None else {}
        self.deck, self.target, self.answered = deck, target, answered
        self.counted, self.fits, self.presented, self.face_up = counted, fits, presented, face_up

    def copy(self) -> Given:
        """Another one, equal now."""
        return Given(
            self.id,
            self.name,
            self.boot,
            self.until_ms,
            self.args,
            self.deck,
            self.target,
            self.answered,
            self.counted,
            self.fits,
            self.presented,
            self.face_up,
        )


@dataclass
class Device:
    """A shuffler or a shoe."""

    state: DeviceState = DeviceState.UNKNOWN
    boot: int = 0
    online: bool = False
    last_event: int = 0  # of this boot: what the device may forget
    refused: str = ""  # why it cannot be used at this table
    told: int = 0  # the last of its events that the journal lacks, and nobody has given up yet
    lost_ms: int = -1
    doing: Given | None = None
    at_exit: Given | None = None  # whose stack lies at the exit
    hindered: str = ""  # why it last refused; until somebody has seen to it
    busy_ms: int = -1  # since when it says that it is busy, and takes on nothing
    late: Given | None = None  # given up while the link was away; its events may still come
    can_lock: bool = False
    can_show: bool = False
    locked: bool = False  # as it was told last, or has told itself
    shown: str = ""  # the light and the text that it was told last
    opened_by: str = ""  # who reaches into it: until its next cycle or warning it is not locked
    beside: list[Given] = field(default_factory=list)  # locks and lights without an answer: they are no cycles
    out_how: str = ""  # covered, removed, marked


@dataclass
class Deck:
    """One deck, by the name on its box."""

    back: str
    cards: dict[str, int]
    state: DeckState = DeckState.RECEIVED
    inspected_by: str = ""
    prepared: bool = False  # inspected and shuffled before it came
    counted: bool = False  # a counting shuffler has counted it right since it was last dealt
    by_hand: bool = False  # its last shuffle was not a shuffler's
    recut: bool = False
    in_play_ms: int = -1  # when its first round began
    change_due: bool = False


@dataclass
class Stack:
    """A step of this round's programme, for one hand."""

    target: str
    cards: int
    held: bool = False
    after_acting: bool = False


@dataclass
class Round:
    """A round from its first card to its last."""

    number: int
    deck: str
    method: Method
    seats: list[int]
    plan: list[Stack]
    dealt: int = 0  # stacks of the plan that have reached their hands
    in_hand: int = 0  # cards of the present stack that the hand has already
    held: bool = False  # the present stack lies formed in the shoe
    extra: dict[str, int] = field(default_factory=dict)
    face_up: int = 0
    to_rack: int = 0  # face-up cards in the stack now coming out
    count_wanted: bool = False
    stub_out: bool = False
    stub_counted: bool = False
    acted: bool = False
    misdealt: bool = False
    void: bool = False
    void_reason: str = ""
    void_clause: list[str] = field(default_factory=list)
    wagers_open: bool = True  # wagers lie on the table


@dataclass
class Warned:
    """A warning that stands until its cause is gone and a person has cleared it."""

    text: str
    clause: list[str]
    needs: str  # the role that may clear it
    device: str = ""
    deck: str = ""
    gone: bool = False
    since_ms: int = 0


@dataclass
class WrongPins:
    """Wrong PINs in a row under one name, and the lock-out they led to."""

    count: int
    until_ms: int = 0


@dataclass
class Host:
    """The life of the computer in which the table's clock was last tied to the computer's own."""

    boot_id: str
    up_ms: int
    at_ms: int


@dataclass
class State:
    """Everything there is to know about a table."""

    seq: int = 0  # of the last event
    now_ms: int = 0
    table: TableState = TableState.CLOSED
    setup: Setup = field(default_factory=Setup)
    configured: bool = False
    method: Method = Method.AUTOMATED_SHOE
    due: str = ""  # the back of the deck whose turn it is
    decks: dict[str, Deck] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)  # decks that have left; none comes back
    devices: dict[str, Device] = field(default_factory=dict)
    round: Round | None = None
    seats: list[int] = field(default_factory=list)  # that have wagered
    rounds: int = 0
    rounds_uncounted: int = 0
    warnings: dict[str, Warned] = field(default_factory=dict)
    wrong_pins: dict[str, WrongPins] = field(default_factory=dict)
    host: Host | None = None
    why: str = ""  # suspended, or withdrawn from betting: because of this

    @property
    def next_seq(self) -> int:
        """The number of the next event."""
        return self.seq + 1


# What lies in the fields of a state, for the decoder: a class that was compiled keeps only the outer type of each.
_PARTS: Final[dict[type, dict[str, Any]]] = {
    Given: {"args": dict[str, int | bool | str]},
    Device: {"doing": Given | None, "at_exit": Given | None, "late": Given | None, "beside": list[Given]},
    Deck: {"cards": dict[str, int]},
    Round: {"seats": list[int], "plan": list[Stack], "extra": dict[str, int], "void_clause": list[str]},
    Warned: {"clause": list[str]},
    State: {
        "decks": dict[str, Deck],
        "retired": list[str],
        "devices": dict[str, Device],
        "round": Round | None,
        "seats": list[int],
        "warnings": dict[str, Warned],
        "wrong_pins": dict[str, WrongPins],
        "host": Host | None,
    },
}
for _kind, _fields in _PARTS.items():
    _kind.__annotations__.update(_fields)

_encoder: Final = msgspec.msgpack.Encoder()  # not sorted: decks, devices and warnings are asked in the order they have
_decoder: Final = msgspec.msgpack.Decoder(State)


def encode(state: State) -> bytes:
    """The state as bytes. Equal states in the same order give equal bytes, and the order outlives a snapshot."""
    return _encoder.encode(state)


def decode(data: bytes) -> State:
    """The state from a snapshot's bytes."""
    return _decoder.decode(data)


@dataclass(init=False)
class Event:
    """Something that the table has decided, or taken note of. `data` is plain JSON without fractions."""

    seq: int
    kind: str
    clause: tuple[str, ...]
    data: dict[str, Any]

    # By hand, since one is made for every step of a round: what the library writes is not compiled.
    def __init__(self, seq: int, kind: str, clause: tuple[str, ...], data: dict[str, Any]) -> None:
        self.seq = seq
        self.kind = kind
        self.clause = clause
        self.data = data


def pending(state: State) -> list[Given]:
    """The commands that no device has answered yet: after a restart of the host they are given again, as they are."""
    found = [given for device in state.devices.values() for given in pending_of(device)]
    return sorted(found, key=lambda given: given.id)


def pending_of(device: Device) -> list[Given]:
    """The commands that this device has not answered, in the order of their ids."""
    cycle = [device.doing] if device.doing and not device.doing.answered else []
    return sorted([*cycle, *device.beside], key=lambda given: given.id)


def deck_with_back(state: State, back: str) -> str:
    """The name of the deck with this back; empty where there is none."""
    for name, deck in state.decks.items():
        if deck.back == back:
            return name
    return ""


def due_deck(state: State) -> str:
    """The name of the deck whose turn it is; empty where it is not at the table."""
    return deck_with_back(state, state.due)
