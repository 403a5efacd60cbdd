"""The three machines of a table, as tables of data: the table itself, a deck, a device.

Theory of operation. What triggers a machine is the kind of a journal event: `round.started` moves the table from
betting to dealing, and the deck from loaded to in play. `apply` fires the triggers and nothing else does. Before an
event is emitted, `allows` is asked; what a state does not list is refused there. A row without a target leaves the
state as it is, and says that the event may happen in it. The machines know nothing of clauses: guards stand beside.
"""

# mypyc
from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, Final, Generic, TypeVar

from transitions import Machine as _Machine


class TableState(StrEnum):
    """What the table is doing."""

    CLOSED = "closed"
    OPENING = "opening"  # decks are inspected, spread, washed and stacked
    WAITING = "waiting"  # for the deck whose turn it is
    BETTING = "betting"  # that deck is loaded, no card is dealt
    DEALING = "dealing"
    ACTING = "acting"  # players look at their cards and decide
    REVEALING = "revealing"  # the dealer's cards come out and are shown
    CLEARING = "clearing"  # hands are settled and collected
    STUB_COUNT = "stub_count"  # the stub did not fit: was it a misdeal?
    VOIDING = "voiding"
    IDLE = "idle"  # open, without players
    SUSPENDED = "suspended"  # a warning stands: no round starts


class DeckState(StrEnum):
    """What a deck has been through."""

    RECEIVED = "received"
    INSPECTED = "inspected"
    VERIFIED = "verified"
    SPREAD = "spread"
    WASHED = "washed"
    STACKED = "stacked"  # one stack on the table, to be shuffled next
    INFEED = "infeed"  # lies in the shuffler
    SHUFFLING = "shuffling"
    SHUFFLED = "shuffled"  # by the shuffler, in its output
    DELIVERED = "delivered"  # by the shuffler, into the dealer's hands
    MIXED = "mixed"  # shuffled by hand or beforehand: needs a cut
    CUT = "cut"
    LOADED = "loaded"  # where it will be dealt from
    IN_PLAY = "in_play"
    RACKED = "racked"  # played, to be shuffled next
    VOIDED = "voided"  # its round is void: every card must come back
    RECALLED = "recalled"  # its cards must be brought together and shuffled again
    LOCKED_OUT = "locked_out"  # for good
    REMOVED = "removed"


class DeviceState(StrEnum):
    """What is known of a device."""

    UNKNOWN = "unknown"
    READY = "ready"
    WORKING = "working"
    JAMMED = "jammed"
    FAILED = "failed"
    LOST = "lost"
    OUT_OF_SERVICE = "out_of_service"


T: Final = TableState
D: Final = DeckState
V: Final = DeviceState
Row = tuple[str, Iterable[Any], Any]

_ROUND: Final = (T.DEALING, T.ACTING, T.REVEALING, T.CLEARING)
_PREPARING: Final = (T.OPENING, T.WAITING, T.SUSPENDED)
_AFTER_DEAL: Final = (T.ACTING, T.REVEALING, T.CLEARING)

TABLE: Final[tuple[Row, ...]] = (
    # kind, from, to (None: stays)
    ("table.configured", [T.CLOSED], None),
    ("table.opened", [T.CLOSED], T.OPENING),
    ("opening.completed", [T.OPENING], T.WAITING),
    ("betting.opened", [T.WAITING], T.BETTING),
    ("betting.withdrawn", [T.BETTING], T.WAITING),
    ("round.started", [T.BETTING], T.DEALING),
    ("dealing.completed", [T.DEALING], T.ACTING),
    ("players.acted", [T.ACTING], T.REVEALING),
    ("dealer.revealed", [T.REVEALING], T.CLEARING),
    ("round.completed", [T.CLEARING], T.WAITING),
    ("stub.rejected", _AFTER_DEAL, T.STUB_COUNT),
    ("round.voided", [*_ROUND, T.STUB_COUNT], T.VOIDING),
    ("void.completed", [T.VOIDING], T.WAITING),
    ("table.suspended", [T.WAITING, T.BETTING], T.SUSPENDED),
    ("table.resumed", [T.SUSPENDED], T.WAITING),
    ("table.idled", [T.WAITING, T.BETTING], T.IDLE),
    ("player.arrived", [T.IDLE], T.OPENING),
    ("table.closed", [T.OPENING, T.WAITING, T.SUSPENDED, T.IDLE], T.CLOSED),
    # what may happen in a state without leaving it
    ("seats.wagered", [T.BETTING], None),
    ("bets.closed", [T.BETTING], None),
    ("stack.dispensed", [T.DEALING, T.ACTING, T.REVEALING], None),
    ("dealer.held", [T.DEALING], None),
    ("stack.taken", [T.DEALING, T.ACTING, T.REVEALING], None),
    ("card.requested", [T.ACTING], None),
    ("card.face_up", [T.DEALING, T.ACTING, T.REVEALING], None),
    ("card.drawn_in_error", [T.DEALING], None),
    ("dealer_card.exposed", [T.DEALING, T.ACTING], None),
    ("hand.found_wrong", [*_ROUND], None),
    ("hand.collected", [T.REVEALING, T.CLEARING], None),
    ("stub.count_wanted", [T.DEALING, T.ACTING], None),
    ("stub.removed", [*_AFTER_DEAL, T.STUB_COUNT], None),
    ("stub.counted", _AFTER_DEAL, None),
    ("misdeal.answered", [T.STUB_COUNT], None),
    ("wagers.returned", [T.VOIDING], None),
    ("method.changed", [*_PREPARING, T.IDLE], None),
    ("deck.received", _PREPARING, None),
    ("deck.inspected", _PREPARING, None),
    ("deck.verified", _PREPARING, None),
    ("deck.spread", [*_PREPARING, T.IDLE], None),
    ("deck.washed", _PREPARING, None),
    ("deck.stacked", _PREPARING, None),
    ("deck.inserted", _PREPARING, None),
    ("deck.shuffled_by_hand", _PREPARING, None),
    ("cut.made", _PREPARING, None),
    ("cut.recut_required", [T.WAITING, T.BETTING], None),
    ("deck.loaded", [T.WAITING, T.SUSPENDED], None),
    ("reshuffle.directed", [*_PREPARING, T.BETTING], None),
    ("deck.removed", [*_PREPARING, T.IDLE, T.VOIDING], None),
)  # fmt: skip

_UNSHUFFLED: Final = (D.STACKED, D.RACKED, D.MIXED, D.CUT)
_PRESENT: Final = tuple(state for state in D if state not in (D.LOCKED_OUT, D.REMOVED))
_IDLE_HANDS: Final = (D.VERIFIED, D.WASHED, D.STACKED, D.RACKED, D.MIXED, D.CUT, D.DELIVERED)

DECK: Final[tuple[Row, ...]] = (
    ("deck.accepted_prepared", [D.RECEIVED], D.MIXED),
    ("deck.inspected", [D.RECEIVED], D.INSPECTED),
    ("deck.verified", [D.INSPECTED], D.VERIFIED),
    ("deck.spread", _IDLE_HANDS, D.SPREAD),
    ("deck.washed", [D.SPREAD], D.WASHED),
    ("deck.stacked", [D.WASHED], D.STACKED),
    ("deck.inserted", _UNSHUFFLED, D.INFEED),
    ("shuffle.started", [D.INFEED], D.SHUFFLING),
    ("shuffle.completed", [D.SHUFFLING], D.SHUFFLED),
    ("shuffle.failed", [D.INFEED, D.SHUFFLING], D.RECALLED),
    ("deck.shuffled_by_hand", _UNSHUFFLED, D.MIXED),
    ("cut.made", [D.MIXED], D.CUT),
    ("deck.delivered", [D.SHUFFLED], D.DELIVERED),
    ("deck.loaded", [D.SHUFFLED, D.DELIVERED, D.CUT, D.MIXED], D.LOADED),
    ("round.started", [D.LOADED], D.IN_PLAY),
    ("round.completed", [D.IN_PLAY], D.RACKED),
    ("round.voided", [D.IN_PLAY], D.VOIDED),
    ("void.completed", [D.VOIDED], D.STACKED),
    ("deck.recalled", [D.INFEED, D.SHUFFLED, D.DELIVERED, D.MIXED, D.CUT, D.LOADED], D.RECALLED),
    ("deck.gathered", [D.RECALLED], D.STACKED),
    ("deck.ready_to_cut", [D.RECALLED], D.MIXED),
    ("cut.recut_required", [D.CUT], D.MIXED),
    ("deck.locked_out", _PRESENT, D.LOCKED_OUT),
    ("deck.removed", [*_PRESENT, D.LOCKED_OUT], D.REMOVED),
)  # fmt: skip

_CONNECTED: Final = (V.READY, V.WORKING, V.JAMMED, V.FAILED)

DEVICE: Final[tuple[Row, ...]] = (
    ("device.connected", [V.UNKNOWN, V.LOST, *_CONNECTED], V.READY),
    ("device.refused", [V.UNKNOWN, V.LOST, *_CONNECTED], V.UNKNOWN),
    ("device.accepted", [V.UNKNOWN], V.UNKNOWN),
    ("device.lost", _CONNECTED, V.LOST),
    ("device.resumed", [V.READY], V.WORKING),
    ("command.given", [V.READY, V.JAMMED], V.WORKING),
    ("cycle.completed", [V.WORKING], V.READY),
    ("cycle.failed", [V.WORKING], V.READY),
    ("device.jammed", [V.READY, V.WORKING], V.JAMMED),
    ("device.cleared", [V.WORKING], V.READY),
    ("device.failed", [V.READY, V.WORKING, V.JAMMED], V.FAILED),
    ("device.out_of_service", [V.UNKNOWN, V.READY, V.JAMMED, V.FAILED, V.LOST], V.OUT_OF_SERVICE),
    ("device.in_service", [V.OUT_OF_SERVICE], V.UNKNOWN),
)  # fmt: skip

S = TypeVar("S", bound=StrEnum)


class Moves(Generic[S]):
    """One machine over many things: a state and a kind of event in, the next state out."""

    def __init__(self, name: str, states: type[S], rows: tuple[Row, ...], initial: S) -> None:
        self.name = name
        self.states = states
        self.rows = rows
        self.initial = initial
        self.kinds = frozenset(kind for kind, _, _ in rows)
        self._sources = {kind: tuple(sources) for kind, sources, _ in rows}
        self._allowed = {kind: frozenset(sources) for kind, sources in self._sources.items()}
        assert len(self._sources) == len(rows), "a kind has one row"
        self._cursor = SimpleNamespace()  # what the library moves: it is set to a state, triggered, and read
        self._machine = _Machine(
            self._cursor,
            states=states,
            initial=initial,
            transitions=[{"trigger": kind, "source": list(s), "dest": dest} for kind, s, dest in rows],
            auto_transitions=False,
            send_event=True,
            ignore_invalid_triggers=False,
        )
        self._moves: dict[str, dict[S, S]] = {}

    def moves(self, kind: str) -> dict[S, S]:
        """What follows each state by an event of this kind. The library is asked once for each: it has no guard and no
        callback here, so its answer is always the same, and asked for thousands of times.
        """
        found = self._moves.get(kind)
        if found is None:
            self._moves[kind] = found = {state: self._trigger(state, kind) for state in self._sources[kind]}
        return found

    def allows(self, state: S, kind: str) -> bool:
        """Whether an event of this kind may happen in this state; a kind the machine does not know always may."""
        allowed = self._allowed.get(kind)
        return allowed is None or state in allowed

    def when(self, kind: str) -> tuple[S, ...]:
        """The states in which this may happen."""
        return self._sources[kind]

    def after(self, state: S, kind: str) -> S:
        """The state after an event of this kind. An event that the state does not allow is an error of the caller."""
        found = self.moves(kind).get(state)
        return self._trigger(state, kind) if found is None else found  # the library says what is wrong

    def _trigger(self, state: S, kind: str) -> S:
        self._cursor.state = state
        self._cursor.trigger(kind)  # the library has put it there
        after: S = self._cursor.state
        return after


TABLE_MACHINE: Final = Moves("table", TableState, TABLE, TableState.CLOSED)
DECK_MACHINE: Final = Moves("deck", DeckState, DECK, DeckState.RECEIVED)
DEVICE_MACHINE: Final = Moves("device", DeviceState, DEVICE, DeviceState.UNKNOWN)
MACHINES: Final[tuple[Moves[Any], ...]] = (TABLE_MACHINE, DECK_MACHINE, DEVICE_MACHINE)


def diagram(machine: Moves[Any]) -> str:
    """The machine as a Mermaid state diagram: what moves it, not what it merely allows."""
    out = ["stateDiagram-v2", f"    [*] --> {machine.initial}"]
    arrows: dict[tuple[str, str], list[str]] = {}
    for kind, sources, dest in machine.rows:
        for source in sources if dest is not None else ():
            arrows.setdefault((str(source), str(dest)), []).append(kind)
    out += [f"    {source} --> {dest}: {', '.join(kinds)}" for (source, dest), kinds in arrows.items()]
    return "\n".join(out)
