"""`Table`: a report comes in, a decision goes out. The same reports at the same times give the same decisions."""

# mypyc
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller.core.actions import Action, OnDeck, OnDevice, ReceiveDeck
from controller.core.clauses import enforces
from controller.core.concerns import ALL, CLOCK, LOCKS, RULES
from controller.core.decision import TAKES, Decision, Refusal, why_not
from controller.core.guide import next_step
from controller.core.machines import DeckState, TableState
from controller.core.reports import (
    CommandAnswered,
    DeviceAhead,
    DeviceEvent,
    DeviceLost,
    DeviceReady,
    HostStarted,
    Report,
    SignIn,
    Tick,
)
from controller.core.rules import devices, locks, sign_in
from controller.core.rules.automatic import follow
from controller.core.rules.clock import deadline_ms, look_at_clock
from controller.core.rules.dealing import CHAPTER, STUB_WRONG
from controller.core.rules.guards import cannot_start
from controller.core.state import Event, State
from controller.core.step import Step

_BETTING: Final = TableState.BETTING  # a name of its own: guards.py tells why


class Table:
    """One table. What `handle` returns must be stored before anything of it is acted upon."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State()
        self._concerns = ALL  # who has not been asked since the last event
        self._seq = -1  # of the last event that this table has decided
        self._deadline_ms = 0.0
        self._all_well = False

    def handle(self, report: Report, now: float) -> list[Event]:
        """Take one report at this time, in seconds of the table's clock, and decide. Time never goes back."""
        state = self.state
        now_ms = int(now * 1000 + 0.5)  # `round` asks the number for its own way of rounding
        if now_ms < state.now_ms:
            now_ms = state.now_ms
        decision = Decision(state, now_ms, self._concerns if state.seq == self._seq else ALL)
        self._concerns = ALL  # in case that this is not brought to its end
        _REPORTS.get(type(report), _act)(decision, report)
        if decision.concerns & CLOCK:
            decision.concerns ^= CLOCK
            self._deadline_ms = deadline_ms(state)
        if self._deadline_ms <= now_ms:
            look_at_clock(decision)
        if decision.concerns & RULES or state.table is _BETTING:  # bets are withdrawn from a deck that grows too old
            follow(decision)
        if decision.concerns & LOCKS or not self._all_well:
            decision.concerns &= CLOCK
            locks.set_right(decision)
            self._all_well = locks.all_well(state)
        else:
            decision.concerns &= CLOCK
        self._concerns, self._seq = decision.concerns, state.seq
        return decision.events

    @property
    def deadline(self) -> float:
        """When `handle(Tick())` is wanted, in seconds of the table's clock; infinite if nothing is due."""
        if self._concerns & CLOCK or self._seq != self.state.seq:  # only an event can change it
            self._concerns &= ~CLOCK
            self._deadline_ms = deadline_ms(self.state)
        return self._deadline_ms / 1000

    def next_step(self, now: float | None = None) -> Step:
        """What the dealer is told now."""
        now_ms = self.state.now_ms if now is None else max(int(now * 1000 + 0.5), self.state.now_ms)
        return next_step(self.state, now_ms)


def _act(d: Decision, action: Action) -> None:
    """What a person did, or asks for: refused in words, or decided."""
    refusal = _not_theirs(action) or _not_there(d, action) or _not_now(d, action) or TAKES[type(action)](d, action)
    if refusal:
        d.refuse(action, refusal)


@enforces("4.A", "5.G", "13.H")
def _not_theirs(action: Action) -> Refusal | None:
    """Somebody whose part this is not."""
    if action.role in action.roles and action.who:
        return None
    who = " or ".join(role for role in action.roles)
    return Refusal(f"not in the role of {action.role}", f"a {who} does it", _CLAUSE_OF_ACTION.get(action.kind, ()))


def _not_there(d: Decision, action: Action) -> Refusal | None:
    """A deck or a device that the table does not have."""
    if isinstance(action, OnDeck) and not isinstance(action, ReceiveDeck) and action.deck not in d.state.decks:
        gone = action.deck in d.state.retired
        return Refusal(f"deck {action.deck} {'has left the table for good' if gone else 'is not here'}",
                       "a deck that is here is named", ("5.D",) if gone else ())  # fmt: skip
    if isinstance(action, OnDevice) and action.device not in d.state.devices:
        return Refusal(f"the table has no {action.device}", "a device of the table is named")
    return None


@enforces("4.D", "5.A", "5.D", "11.D(2)")
def _not_now(d: Decision, action: Action) -> Refusal | None:
    """What the machines do not allow now."""
    deck = action.deck if isinstance(action, OnDeck) and not isinstance(action, ReceiveDeck) else ""
    device = action.device if isinstance(action, OnDevice) else ""
    kind = "" if action.kind == "cut.recut_required" else action.kind  # a loaded deck is called back for it
    refusal = why_not(d.state, kind, deck, device) or why_not(d.state, action.kind)
    if action.kind == "bets.closed" and d.state.table in (TableState.WAITING, TableState.SUSPENDED):
        return cannot_start(d.state, d.now_ms) or refusal  # what is missing says more than the state
    if refusal:
        out = deck in d.state.decks and d.state.decks[deck].state is DeckState.LOCKED_OUT
        clause = ("5.D",) if out else _clause_now(d, action.kind)
        return Refusal(refusal.reason, refusal.possible_when, clause)
    return refusal


# Who takes which report; all others are actions of people.
_REPORTS: Final[dict[type, Callable[[Decision, Any], None]]] = {
    DeviceEvent: devices.event,
    CommandAnswered: devices.answered,
    DeviceReady: devices.ready,
    DeviceAhead: devices.ahead,
    DeviceLost: devices.lost,
    SignIn: sign_in.sign_in,
    HostStarted: devices.host_started,
    Tick: lambda decision, report: None,
}


def _clause_now(d: Decision, kind: str) -> tuple[str, ...]:
    """The clause that a person is told when the moment is wrong, where one speaks of it."""
    if kind in ("bets.closed", "stack.taken"):
        return (CHAPTER[d.state.method],)
    if d.state.table is TableState.STUB_COUNT:
        return (STUB_WRONG[d.round.method],)
    return _CLAUSE_OF_ACTION.get(kind, ())


# The clause that speaks of an action: of its moment, and of who may do it.
_CLAUSE_OF_ACTION: Final[dict[str, tuple[str, ...]]] = {
    "deck.inspected": ("4.A",),
    "deck.verified": ("4.A",),
    "deck.spread": ("4.B",),
    "deck.washed": ("4.C",),
    "deck.stacked": ("4.C",),
    "deck.inserted": ("4.A", "5.A"),
    "deck.loaded": ("5.A",),
    "deck.shuffled_by_hand": ("5.A",),
    "reshuffle.directed": ("5.A",),
    "cut.recut_required": ("5.G",),
    "dealer.revealed": ("11.D(2)",),
    "hand.collected": ("11.D(2)",),
    "deck.locked_out": ("5.D",),
    "dealer_card.exposed": ("13.E",),
    "method.changed": ("13.H",),
    "device.out_of_service": ("13.H",),
    "device.in_service": ("13.H",),
}
