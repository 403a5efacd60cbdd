"""The three state machines, as tables of data: the table itself, a deck, a device.

Events trigger the machines: `RoundStarted` moves the table from betting to dealing, and the deck from loaded to in
play. Only `apply` triggers them. Before an event is emitted, the rules ask `allows`; an event without a row for the
current state is refused. A row without a target means that the event may happen in that state and does not change it.
A row with several targets leads to the one that the event names in its field `then`, or else to the first: a round goes
on with the type of step that comes next in the script of its game.
The machines know nothing about rules and clauses: the guards in core/rules do.
"""

# mypyc
from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, Final, Generic, TypeVar

from transitions import Machine

from controller.core.events.decks import (
    CutMade,
    CutRecutRequired,
    DeckAcceptedPrepared,
    DeckDelivered,
    DeckGathered,
    DeckInserted,
    DeckInspected,
    DeckLoaded,
    DeckLockedOut,
    DeckReadyToCut,
    DeckRecalled,
    DeckReceived,
    DeckRemoved,
    DeckShuffledByHand,
    DeckSpread,
    DeckStacked,
    DeckVerified,
    DeckWashed,
    ReshuffleDirected,
    ShuffleCompleted,
    ShuffleFailed,
    ShuffleStarted,
)
from controller.core.events.devices import (
    CommandGiven,
    CycleCompleted,
    CycleFailed,
    DeviceAccepted,
    DeviceCleared,
    DeviceConnected,
    DeviceFailed,
    DeviceInService,
    DeviceJammed,
    DeviceLost,
    DeviceOutOfService,
    DeviceRecovered,
    DeviceRefused,
    DeviceResumed,
)
from controller.core.events.event import Event
from controller.core.events.play import (
    ActingResumed,
    BetRecorded,
    CardDue,
    CardsCorrected,
    CardsEntered,
    CutCardAppeared,
    DecisionCorrected,
    DecisionTakenBack,
    DeckFinished,
    HandDecided,
    HandsReconstructed,
    IrregularityReported,
    RoundSettled,
    SeatLeft,
    SessionEnded,
    StakesNoted,
    StockReshuffled,
)
from controller.core.events.rounds import (
    AllActed,
    CardDrawnInError,
    CardFoundFaceUp,
    CardRequested,
    DealerCardExposed,
    DealerHeld,
    DealerRevealed,
    DealingCompleted,
    HandCollected,
    HandFoundWrong,
    MisdealAnswered,
    RevealResumed,
    RoundCompleted,
    RoundStarted,
    RoundVoided,
    StackDispensed,
    StackTakenToHand,
    StubCounted,
    StubCountWanted,
    StubMatched,
    StubRejected,
    StubRemoved,
    VoidCompleted,
    WagersReturned,
)
from controller.core.events.table import (
    BetsClosed,
    BettingOpened,
    BettingWithdrawn,
    MethodChanged,
    OpeningCompleted,
    PlayerCame,
    SeatsWagered,
    TableClosed,
    TableConfigured,
    TableIdled,
    TableOpened,
    TableResumed,
    TableSuspended,
)


class TableState(StrEnum):
    """What the table is doing."""

    __hash__ = str.__hash__  # that of an enum is computed in Python

    CLOSED = "closed"
    OPENING = "opening"  # decks are being inspected, spread, washed and stacked
    WAITING = "waiting"  # for the deck whose turn it is
    BETTING = "betting"  # that deck is loaded, no card has been dealt
    DEALING = "dealing"
    ACTING = "acting"  # players look at their cards and decide
    REVEALING = "revealing"  # the dealer's cards come out and are shown
    CLEARING = "clearing"  # hands are settled and collected
    STUB_COUNT = "stub_count"  # the stub was wrong: were cards misdealt?
    VOIDING = "voiding"
    IDLE = "idle"  # open, without players
    SUSPENDED = "suspended"  # because of a warning: no round starts


class DeckState(StrEnum):
    """Where a deck is on its way from delivery to play and back."""

    __hash__ = str.__hash__  # that of an enum is computed in Python

    RECEIVED = "received"
    INSPECTED = "inspected"
    VERIFIED = "verified"
    SPREAD = "spread"
    WASHED = "washed"
    STACKED = "stacked"  # one stack on the table, to be shuffled next
    INFEED = "infeed"  # in the shuffler, to be shuffled
    SHUFFLING = "shuffling"
    SHUFFLED = "shuffled"  # by the shuffler, in its output
    DELIVERED = "delivered"  # by the shuffler, into the dealer's hands
    MIXED = "mixed"  # shuffled by hand or beforehand: needs a cut
    CUT = "cut"
    LOADED = "loaded"  # where it will be dealt from
    IN_PLAY = "in_play"
    RACKED = "racked"  # played, to be shuffled next
    VOIDED = "voided"  # its round is void: every card must come back
    RECALLED = "recalled"  # its cards must be gathered and shuffled again
    LOCKED_OUT = "locked_out"  # for good
    REMOVED = "removed"


class DeviceState(StrEnum):
    """Whether a device can work."""

    __hash__ = str.__hash__  # that of an enum is computed in Python

    UNKNOWN = "unknown"
    READY = "ready"
    WORKING = "working"
    JAMMED = "jammed"
    FAILED = "failed"
    LOST = "lost"
    OUT_OF_SERVICE = "out_of_service"


T: Final = TableState  # short names for the tables below
D: Final = DeckState
V: Final = DeviceState
Row = tuple[type[Event], Iterable[Any], Any]

_ROUND: Final = (T.DEALING, T.ACTING, T.REVEALING, T.CLEARING)
IN_A_ROUND: Final = (*_ROUND, T.STUB_COUNT)
_PREPARING: Final = (T.OPENING, T.WAITING, T.SUSPENDED)
_AFTER_DEAL: Final = (T.ACTING, T.REVEALING, T.CLEARING)

TABLE: Final[tuple[Row, ...]] = (
    # event, from, to (None: the state does not change)
    (TableConfigured, [T.CLOSED], None),
    (TableOpened, [T.CLOSED], T.OPENING),
    (OpeningCompleted, [T.OPENING], T.WAITING),
    (BettingOpened, [T.WAITING], T.BETTING),
    (BettingWithdrawn, [T.BETTING], T.WAITING),
    (RoundStarted, [T.BETTING], T.DEALING),
    (DealingCompleted, [T.DEALING], (T.ACTING, T.REVEALING, T.CLEARING)),
    (AllActed, [T.ACTING], (T.REVEALING, T.CLEARING)),
    (DealerRevealed, [T.REVEALING], T.CLEARING),
    (RoundCompleted, [T.CLEARING], T.WAITING),
    (StubRejected, _AFTER_DEAL, T.STUB_COUNT),
    (StubMatched, [T.STUB_COUNT], (T.ACTING, T.REVEALING, T.CLEARING)),
    (RevealResumed, [T.ACTING], T.REVEALING),
    (RoundVoided, IN_A_ROUND, T.VOIDING),
    (VoidCompleted, [T.VOIDING], T.WAITING),
    (TableSuspended, [T.WAITING, T.BETTING], T.SUSPENDED),
    (TableResumed, [T.SUSPENDED], T.WAITING),
    (TableIdled, [T.WAITING, T.BETTING], T.IDLE),
    (PlayerCame, [T.IDLE], T.OPENING),
    (TableClosed, [T.OPENING, T.WAITING, T.SUSPENDED, T.IDLE], T.CLOSED),
    # events that do not change the state
    (SeatsWagered, [T.BETTING], None),
    (BetsClosed, [T.BETTING], None),
    (StackDispensed, [T.DEALING, T.ACTING, T.REVEALING], None),
    (DealerHeld, [T.DEALING], None),
    (StackTakenToHand, [T.DEALING, T.ACTING, T.REVEALING], None),
    (CardRequested, [T.ACTING], None),
    (CardFoundFaceUp, [T.DEALING, T.ACTING, T.REVEALING], None),
    (CardDrawnInError, [T.DEALING, T.CLEARING], None),
    (DealerCardExposed, [T.DEALING, T.ACTING, T.REVEALING], None),
    (HandFoundWrong, [*_ROUND], None),
    (HandCollected, [T.ACTING, T.REVEALING, T.CLEARING, T.VOIDING], None),
    (BetRecorded, [T.BETTING], None),
    (SeatLeft, [T.WAITING, T.BETTING, T.SUSPENDED], None),
    (StakesNoted, [T.BETTING], None),
    (CardDue, [T.DEALING, T.ACTING], None),
    (CardsEntered, [*_ROUND, T.STUB_COUNT], None),
    (CardsCorrected, [*_ROUND, T.STUB_COUNT], None),
    (HandDecided, [T.ACTING], None),
    (IrregularityReported, [*_ROUND, T.STUB_COUNT], None),
    (HandsReconstructed, [T.DEALING, T.CLEARING], T.DEALING),
    (DecisionTakenBack, [T.ACTING, T.REVEALING, T.CLEARING], T.ACTING),
    (DecisionCorrected, [T.ACTING, T.CLEARING], None),
    (ActingResumed, [T.CLEARING], T.ACTING),
    (RoundSettled, [T.CLEARING], None),
    (StockReshuffled, [T.ACTING], None),
    (SessionEnded, [T.WAITING, T.BETTING], None),
    (DeckFinished, IN_A_ROUND, None),
    (CutCardAppeared, [T.WAITING, T.BETTING, *_ROUND, T.STUB_COUNT], None),
    (StubCountWanted, [T.DEALING, T.ACTING], None),
    (StubRemoved, [*_AFTER_DEAL, T.STUB_COUNT], None),
    (StubCounted, _AFTER_DEAL, None),
    (MisdealAnswered, [T.STUB_COUNT], None),
    (WagersReturned, [T.VOIDING], None),
    (MethodChanged, [*_PREPARING, T.IDLE], None),
    (DeckReceived, _PREPARING, None),
    (DeckAcceptedPrepared, _PREPARING, None),
    (DeckInspected, _PREPARING, None),
    (DeckVerified, _PREPARING, None),
    (DeckSpread, [*_PREPARING, T.IDLE], None),
    (DeckWashed, _PREPARING, None),
    (DeckStacked, _PREPARING, None),
    (DeckInserted, _PREPARING, None),
    (DeckShuffledByHand, _PREPARING, None),
    (CutMade, _PREPARING, None),
    (CutRecutRequired, [T.WAITING, T.BETTING], None),
    (DeckLoaded, [T.WAITING, T.SUSPENDED], None),
    (ReshuffleDirected, [*_PREPARING, T.BETTING], None),
    (DeckRemoved, [*_PREPARING, T.IDLE, T.VOIDING], None),
)

_UNSHUFFLED: Final = (D.STACKED, D.RACKED, D.MIXED, D.CUT)
_PRESENT: Final = tuple(state for state in D if state not in (D.LOCKED_OUT, D.REMOVED))
_IDLE_HANDS: Final = (D.VERIFIED, D.WASHED, D.STACKED, D.RACKED, D.MIXED, D.CUT, D.DELIVERED)

DECK: Final[tuple[Row, ...]] = (
    (DeckAcceptedPrepared, [D.RECEIVED], D.MIXED),
    (DeckInspected, [D.RECEIVED], D.INSPECTED),
    (DeckVerified, [D.INSPECTED], D.VERIFIED),
    (DeckSpread, _IDLE_HANDS, D.SPREAD),
    (DeckWashed, [D.SPREAD], D.WASHED),
    (DeckStacked, [D.WASHED], D.STACKED),
    (DeckInserted, _UNSHUFFLED, D.INFEED),
    (ShuffleStarted, [D.INFEED], D.SHUFFLING),
    (ShuffleCompleted, [D.SHUFFLING], D.SHUFFLED),
    (ShuffleFailed, [D.INFEED, D.SHUFFLING], D.RECALLED),
    (DeckShuffledByHand, _UNSHUFFLED, D.MIXED),
    (CutMade, [D.MIXED], D.CUT),
    (DeckDelivered, [D.SHUFFLED], D.DELIVERED),
    (DeckLoaded, [D.SHUFFLED, D.DELIVERED, D.CUT, D.MIXED], D.LOADED),
    (RoundStarted, [D.LOADED], D.IN_PLAY),
    (RoundCompleted, [D.IN_PLAY], (D.RACKED, D.LOADED)),
    (RoundVoided, [D.IN_PLAY], D.VOIDED),
    (VoidCompleted, [D.VOIDED], (D.STACKED, D.LOADED)),
    (DeckRecalled, [D.INFEED, D.SHUFFLED, D.DELIVERED, D.MIXED, D.CUT, D.LOADED], D.RECALLED),
    (DeckGathered, [D.RECALLED], D.STACKED),
    (DeckReadyToCut, [D.RECALLED], D.MIXED),
    (CutRecutRequired, [D.CUT], D.MIXED),
    (DeckLockedOut, _PRESENT, D.LOCKED_OUT),
    (DeckRemoved, [*_PRESENT, D.LOCKED_OUT], D.REMOVED),
)

_CONNECTED: Final = (V.READY, V.WORKING, V.JAMMED, V.FAILED)

DEVICE: Final[tuple[Row, ...]] = (
    (DeviceConnected, [V.UNKNOWN, V.LOST, *_CONNECTED], V.READY),
    (DeviceRefused, [V.UNKNOWN, V.LOST, *_CONNECTED], V.UNKNOWN),
    (DeviceAccepted, [V.UNKNOWN], V.UNKNOWN),
    (DeviceLost, _CONNECTED, V.LOST),
    (DeviceResumed, [V.READY], V.WORKING),
    (CommandGiven, [V.READY, V.JAMMED, V.FAILED], V.WORKING),
    (CycleCompleted, [V.WORKING], V.READY),
    (CycleFailed, [V.WORKING], V.READY),
    (DeviceJammed, [V.READY, V.WORKING], V.JAMMED),
    (DeviceCleared, [V.WORKING], V.READY),
    (DeviceFailed, [V.READY, V.WORKING, V.JAMMED], V.FAILED),
    (DeviceRecovered, [V.FAILED], V.READY),
    (DeviceOutOfService, [V.UNKNOWN, V.READY, V.JAMMED, V.FAILED, V.LOST], V.OUT_OF_SERVICE),
    (DeviceInService, [V.OUT_OF_SERVICE], V.UNKNOWN),
)

S = TypeVar("S", bound=StrEnum)


def _transitions(row: Row) -> list[dict[str, Any]]:
    """A row as the library wants it: one transition for each target, under the condition that the event names it."""
    event, sources, dest = row
    targets = dest if isinstance(dest, tuple) else (dest,)
    first, *others = [{"trigger": event.kind, "source": list(sources), "dest": target} for target in targets]
    # The library takes the first transition whose conditions hold, so the usual one comes last and has none.
    return [*({**other, "conditions": [_Names(str(other["dest"]))]} for other in others), first]


class _Names:
    """The condition that an event names this state in its field `then`."""

    def __init__(self, state: str) -> None:
        self.state = state

    def __call__(self, called: Any) -> bool:
        named: str = called.kwargs["then"]
        return named == self.state


class StateMachine(Generic[S]):
    """A machine of the `transitions` library, shared by many objects: a state and an event give the next state.

    The library's machine decides. Its answers never change, because its conditions look at nothing but the event: they
    are read from it once, into `_next` and `_then`, because they are needed thousands of times a second.
    """

    def __init__(self, name: str, states: type[S], rows: tuple[Row, ...], initial: S) -> None:
        self.name = name
        self.states = states
        self.rows = rows
        self.initial = initial
        self._cursor = SimpleNamespace()  # the library's model: it is put into a state, triggered, and read
        self._machine = Machine(
            self._cursor,
            states=states,
            initial=initial,
            transitions=[transition for row in rows for transition in _transitions(row)],
            auto_transitions=False,
            send_event=True,
            ignore_invalid_triggers=False,
        )
        self.events: Final = frozenset(event for event, _, _ in rows)
        assert len(self.events) == len(rows), "an event must have exactly one row"
        self._next: dict[type[Event], dict[S, S]] = {event: self._targets(event, "") for event in self.events}
        self._then: dict[tuple[type[Event], str], dict[S, S]] = {
            (event, then): self._targets(event, then)
            for event, _, dest in rows
            if isinstance(dest, tuple)
            for then in dest
        }

    def _targets(self, event: type[Event], then: str) -> dict[S, S]:
        """The state to which the library's machine goes from each state with this event."""
        sources = [self.states[name] for name in self._machine.events[event.kind].transitions]
        return {source: self.trigger(source, event, then) for source in sources}

    def allows(self, state: S, event: type[Event]) -> bool:
        """Whether this event may happen in this state; an event that is not in the machine's table always may."""
        found = self._next.get(event)
        return found is None or state in found

    def when(self, event: type[Event]) -> tuple[S, ...]:
        """The states in which this event may happen."""
        return tuple(self._next[event])

    def after(self, state: S, event: type[Event], then: str = "") -> S:
        """The state after an event. If it is not allowed, the library raises its MachineError, with both."""
        targets = self._then.get((event, then), self._next[event]) if then else self._next[event]
        found = targets.get(state)
        return self.trigger(state, event, then) if found is None else found

    def trigger(self, state: S, event: type[Event], then: str = "") -> S:
        """The same, asking the library's machine itself."""
        self._cursor.state = state
        self._cursor.trigger(event.kind, then=then)
        after: S = self._cursor.state
        return after

    def diagram(self) -> str:
        """A Mermaid state diagram of the events that change the state.

        The library can draw one too, but with an arrow for every event that leaves the state unchanged: forty here.
        """
        arrows: dict[tuple[S, S], list[str]] = {}
        for kind, event in self._machine.events.items():
            for source, transitions in event.transitions.items():
                for transition in transitions:
                    if transition.dest is not None:
                        arrows.setdefault((self.states[source], self.states[transition.dest]), []).append(kind)
        out = ["stateDiagram-v2", f"    [*] --> {self.initial}"]
        out += [f"    {source} --> {dest}: {', '.join(kinds)}" for (source, dest), kinds in arrows.items()]
        return "\n".join(out)


TABLE_MACHINE: Final = StateMachine("table", TableState, TABLE, TableState.CLOSED)
DECK_MACHINE: Final = StateMachine("deck", DeckState, DECK, DeckState.RECEIVED)
DEVICE_MACHINE: Final = StateMachine("device", DeviceState, DEVICE, DeviceState.UNKNOWN)
MACHINES: Final[tuple[StateMachine[Any], ...]] = (TABLE_MACHINE, DECK_MACHINE, DEVICE_MACHINE)
