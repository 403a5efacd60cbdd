"""The state of a table: plain data with one encoding. `apply` is the only function that changes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from controller.core.events.rounds import PlannedStack
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.setup import Setup
from controller.games.game import Method
from controller.games.payments import HandResult, Payment
from controller.games.record import Decided
from firmware_bridge.wire.messages import AnyCommand, AskCards


class Given(msgspec.Struct):
    """A command that a device was given and has not finished."""

    command: AnyCommand
    until_ms: int = 0
    deck: str = ""
    target: str = ""  # the hand that its stack is for
    answered: bool = False
    counted: int = -1  # the first wrong count of the cycle, else the count after the shuffle
    counted_at: str = ""
    fits: bool = True  # False if a recognising device found the wrong kinds of cards
    recognised: bool = False  # after the shuffle, the device reported the kinds of cards too
    presented: int = -1
    face_up: int = 0
    seen: list[str] = []  # the cards of its stack, if the device recognised them face up
    refilled: bool = False  # a delivery had emptied the output, and then cards were in it again

    @property
    def id(self) -> int:
        """The number of the `command.given` event."""
        return self.command.id

    @property
    def name(self) -> str:
        """The command's name in the protocol."""
        return type(self.command).__name__


class DealtStack(msgspec.Struct):
    """Cards that a recognising shoe dealt face down to a hand. It knows which they are; the journal does not yet."""

    round: int
    target: str
    command: int  # that put them out
    wanted: bool = False  # they were turned over, or a floorperson requested them: the shoe is asked


class Device(msgspec.Struct):
    """A shuffler or a shoe."""

    state: DeviceState = DeviceState.UNKNOWN
    boot: int = 0
    online: bool = False
    last_event: int = 0  # of this boot; the device may forget events up to this one
    refused: str = ""  # why it cannot be used at this table
    told: int = 0  # the last of its events missing from the journal, until the device is accepted again
    lost_ms: int = -1
    doing: Given | None = None
    at_exit: Given | None = None  # the command whose cards are at the exit
    sensed: dict[str, bool] = {}  # what its sensors have reported since its last command: whether cards are at a place
    freed: bool = False  # a jam was freed since it was last emptied: the cards taken out then have not been counted
    hindered: str = ""  # why it refused its last command, until that is resolved
    busy_ms: int = -1  # since when it has refused commands because it is busy
    late: Given | None = None  # a command given up while the link was down; its events may still arrive
    can_lock: bool = False
    can_show: bool = False
    can_recognise: bool = False
    locked: bool = False  # as last commanded, or as the device reported
    shown: str = ""  # the light and text last sent to it
    opened_by: str = ""  # who is reaching into it; it is not locked until its next cycle or warning
    beside: list[Given] = []  # lock and light commands without an answer; they are not cycles
    dealt: list[DealtStack] = []  # the latest ones, in order, that the journal does not know
    out_how: str = ""  # covered, removed, marked
    longest_ms: list[int] = []  # how long each cycle may take by its own account, in the order of their numbers
    serial: str = ""  # of the device that was last used here
    firmware: str = ""
    firmware_digest: str = ""


class Deck(msgspec.Struct):
    """One deck, by the name on its box."""

    back: str
    cards: dict[str, int]
    state: DeckState = DeckState.RECEIVED
    inspected_by: str = ""
    prepared: bool = False  # inspected and shuffled before it came
    counted: bool = False  # a shuffler has counted it, correctly, since it was last dealt
    by_hand: bool = False  # it was not last shuffled by a shuffler
    recut: bool = False
    in_play_ms: int = -1  # when its first round began
    change_due: bool = False
    rounds_uncounted: int = 0  # its own rounds since its cards were last counted
    brought_by: str = ""
    seen: dict[str, int] = {}  # how many of each kind were dealt face up since it was shuffled
    first_round: int = 0  # that was dealt from it since it was shuffled; 0: none
    rounds_left: int = -1  # after its cut card has come out
    came_from: str = ""  # where a prepared deck was inspected and shuffled


class BeforeDecision(msgspec.Struct):
    """What is needed to take a decision back."""

    plan: int  # how many stacks the plan had; the decision added those after them
    turned: bool = False  # cards were entered with the decision


class Round(msgspec.Struct):
    """A round from its first card to its last."""

    number: int
    deck: str
    method: Method
    seats: list[int]
    plan: list[PlannedStack]
    dealt: int = 0  # stacks of the plan that have reached their hands
    in_hand: int = 0  # cards of the current stack that the hand already has
    held: bool = False  # the current stack is formed and held in the shoe
    extra: dict[str, int] = {}
    face_up: int = 0
    to_rack: int = 0  # face-up cards in the stack now coming out
    count_wanted: bool = False
    stub_out: bool = False
    stub_counted: bool = False
    acted: bool = False
    misdealt: bool = False
    void: bool = False
    void_reason: str = ""
    void_clause: list[str] = []
    void_places: list[str] = []  # where its cards have been since it became void
    wagers_open: bool = True  # wagers are still on the table
    kinds: dict[str, list[str]] = {}  # the cards of each hand that were seen, in order
    unseen: dict[str, int] = {}  # cards that were dealt face up and have not been entered yet
    entered: str = ""  # the hand whose cards a person entered last
    decisions: list[Decided] = []
    before: list[BeforeDecision] = []  # each of them
    reshuffles: int = 0  # how often stock and discards were shuffled
    stock_outside: bool = False  # the new stock is not in the automated shoe yet
    button: int = 0  # the seat that has it
    button_before: int = 0  # the seat that had it in the round before
    last: bool = False  # the last round of a deck that lasts several
    keeps: bool = False  # it is void, and the cards that are left to deal stay where they are
    settled: bool = False
    result: str = ""
    payments: list[Payment] = []
    carried_before: dict[str, Any] = {}  # what the game remembered before the settlement
    started_ms: int = 0


class Settled(msgspec.Struct):
    """The result of the last round that the table settled, or of the last session; 0 is the round of a session."""

    round: int
    result: str
    payments: list[Payment]
    results: list[HandResult] = []  # in the order of settlement


class LastCount(msgspec.Struct):
    """The last count that a person entered. It can be corrected while the deck's cards are still as it left them."""

    event: int  # its number
    who: str
    deck: str
    place: str
    cards: int
    before: dict[str, int]  # the deck's cards before it
    left: dict[str, int]  # and after it


class Warned(msgspec.Struct):
    """A warning, which stays until its cause is gone and a person has cleared it."""

    text: str
    clause: list[str]
    needs: str  # the role that may clear it
    device: str = ""
    deck: str = ""
    gone: bool = False
    since_ms: int = 0


class WrongPins(msgspec.Struct):
    """Wrong PINs entered under one name at one place, and the lock-out they led to.

    At `forgotten_ms` the last of them is forgotten; 0 in journals of version 0.1, where a right PIN did that.
    """

    count: int
    until_ms: int = 0
    forgotten_ms: int = 0


class Host(msgspec.Struct):
    """The boot of the computer in which the table's clock was last matched with the computer's own."""

    boot_id: str
    up_ms: int
    at_ms: int
    wall_ms: int = -1  # the wall clock's time then, or an earlier one if it may be ahead; -1 if it is not known


class State(msgspec.Struct):
    """Everything there is to know about a table."""

    seq: int = 0  # of the last event
    now_ms: int = 0
    table: TableState = TableState.CLOSED
    setup: Setup = msgspec.field(default_factory=Setup)
    configured: bool = False
    method: Method = Method.AUTOMATED_SHOE
    due: str = ""  # the back of the deck whose turn it is
    decks: dict[str, Deck] = {}
    retired: list[str] = []  # decks that have left; they never come back
    devices: dict[str, Device] = {}
    round: Round | None = None
    seats: list[int] = []  # that have wagered
    bets: dict[str, dict[str, int]] = {}  # the amounts that were recorded, by the hand of the seat and by the bet
    button: int = 0  # the seat that has it, in games that have one; 0 before the first round
    carried: dict[str, Any] = {}  # what the game remembers from one round to the next
    settled: Settled | None = None  # the last round that was settled, until the next one is
    session_ended: Settled | None = None  # the last session, until a round of the next one is settled
    rounds: int = 0
    rounds_uncounted: int = 0
    warnings: dict[str, Warned] = {}
    wrong_pins: dict[str, dict[str, WrongPins]] = {}  # by name, then by the place where they were entered
    last_count: LastCount | None = None
    host: Host | None = None
    why: str = ""  # why the table is suspended or betting was withdrawn


_encoder: Final = msgspec.msgpack.Encoder()  # not sorted: the order of decks, devices and warnings is part of the state
_decoder: Final = msgspec.msgpack.Decoder(State)


def encode(state: State) -> bytes:
    """The state as bytes. Equal states in the same order give equal bytes."""
    return _encoder.encode(state)


def decode(data: bytes) -> State:
    """The state from a snapshot's bytes."""
    return _decoder.decode(data)


def pending_of(device: Device) -> list[Given]:
    """The commands that this device has not answered, in the order of their ids."""
    cycle = [device.doing] if device.doing and not device.doing.answered else []
    return sorted([*cycle, *device.beside], key=lambda given: given.id)


def questions_of(device: Device, round_: int = 0) -> list[AskCards]:
    """What this device is to be asked about its stacks, of one round or of all."""
    if not device.dealt:
        return []
    wanted = [stack for stack in device.dealt if stack.wanted and round_ in (0, stack.round)]
    return [AskCards(ref=stack.command, command=stack.command) for stack in wanted]


def requestable_rounds(state: State) -> list[int]:
    """The void rounds whose hands a shoe knows. Those of other rounds are asked for when they are turned over."""
    now = state.round.number if state.round and not state.round.void else 0
    hidden = [stack.round for device in state.devices.values() for stack in device.dealt if not stack.wanted]
    return [number for number in dict.fromkeys(hidden) if number != now]


def replaced(known: Sequence[str], was: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """The known cards of a hand with those that were others replaced; of equal ones, the last."""
    found: list[int] = []
    for kind in reversed(was):
        found.insert(0, max(at for at, one in enumerate(known) if one == kind and at not in found))
    right = list(known)
    for place, kind in zip(found, kinds, strict=True):
        right[place] = kind
    return right


def deck_with_back(state: State, back: str) -> str:
    """The name of the deck with this back; empty if there is none."""
    for name, deck in state.decks.items():
        if deck.back == back:
            return name
    return ""


def next_back(state: State) -> str:
    """The back of the deck whose turn it is after the deck that is due now."""
    others = [back for back in state.setup.backs if back != state.due and deck_with_back(state, back)]
    return others[0] if others else state.due


def due_deck(state: State) -> str:
    """The name of the deck whose turn it is; empty if it is not at the table."""
    return deck_with_back(state, state.due)
