"""`Table`: takes a report and returns a decision. The same reports at the same times give the same decisions."""

# mypyc
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from controller.core.actions import (
    Action,
    CloseBets,
    DealCards,
    FinishDeal,
    OnDeck,
    OnDevice,
    ReceiveDeck,
    RecordBet,
    RequireRecut,
)
from controller.core.decision import DEVICE, HANDLERS, Decision, why_not
from controller.core.enforcement import enforces
from controller.core.events.event import Entry, Event
from controller.core.guide import next_step
from controller.core.machines import DeckState, TableState
from controller.core.names import known_name, role_name
from controller.core.refusal import Refusal
from controller.core.reports import (
    CardsRecognised,
    CommandReply,
    DeviceAhead,
    DeviceEvent,
    DeviceFlooding,
    DeviceReady,
    DeviceUnusable,
    HostBoot,
    LinkLost,
    Report,
    SignIn,
    SignOut,
    StateSaved,
    Tick,
)
from controller.core.rules import (  # noqa: F401 - importing a module registers its handlers
    correcting,
    dealing,
    devices,
    gathering,
    irregular,
    links,
    locks,
    opening,
    play,
    recognising,
    reconstructing,
    service,
    shuffling,
    sign_in,
    starting,
    warnings,
    wrong_entries,
)
from controller.core.rules.automatic import follow
from controller.core.rules.clock import check_deadlines, deadline_ms
from controller.core.rules.guards import cannot_start
from controller.core.state import State
from controller.core.step import Step
from controller.games.rulebook import Rule


class Table:
    """One table. What `handle` returns must be stored before any of it is acted upon."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State()

    def handle(self, report: Report, now: float) -> list[Entry]:
        """Decide what follows from a report at this time, in seconds of the table's clock; time never runs back."""
        decision = Decision(self.state, self._now_ms(now))
        if type(report) is DeviceEvent:
            decision.origin = DEVICE
        _REPORT_HANDLERS.get(type(report), _act)(decision, report)
        check_deadlines(decision)
        follow(decision)
        locks.update_locks(decision)
        return decision.entries

    def _now_ms(self, now: float) -> int:
        return max(int(now * 1000 + 0.5), self.state.now_ms)

    @property
    def deadline(self) -> float:
        """When to call `handle(Tick())`, in seconds of the table's clock; infinite if nothing is due."""
        return deadline_ms(self.state) / 1000

    def next_step(self, now: float | None = None) -> Step:
        """What people should do now."""
        return next_step(self.state, self.state.now_ms if now is None else self._now_ms(now))


# The handler of each type of report; all others are actions of people.
_REPORT_HANDLERS: Final[dict[type, Callable[[Decision, Any], None]]] = {
    DeviceEvent: devices.event,
    CommandReply: devices.answered,
    CardsRecognised: recognising.recognised,
    DeviceReady: links.ready,
    DeviceAhead: links.ahead,
    DeviceUnusable: links.unusable,
    DeviceFlooding: links.flooding,
    LinkLost: links.lost,
    SignIn: sign_in.sign_in,
    SignOut: sign_in.sign_out,
    HostBoot: links.host_started,
    StateSaved: links.state_saved,
    Tick: lambda decision, report: None,
}


def _act(d: Decision, action: Action) -> None:
    """Handle what a person did or asks for, or refuse it with a reason."""
    d.origin = action.origin
    first = len(d.entries)
    action = _with_known_names(d.state, action)
    refusal = _not_theirs(action) or _not_there(d, action) or _not_now(d, action) or HANDLERS[type(action)](d, action)
    if refusal:
        d.refuse(action, refusal)
    d.origin = ""  # what follows automatically has no origin of its own
    d.record_person(action.who, first)


def _with_known_names(state: State, action: Action) -> Action:
    """The same action, with its deck and back named as the table has them: `Red-1 ` is the deck red-1."""
    if not isinstance(action, OnDeck):
        return action
    names = {"deck": known_name(action.deck, [*state.decks, *state.retired])}
    if isinstance(action, ReceiveDeck):
        names["back"] = known_name(action.back, state.setup.backs)
    return msgspec.structs.replace(action, **names)


@enforces(Rule.INSPECT_DECK, Rule.RECUT, Rule.OUT_OF_SERVICE)
def _not_theirs(action: Action) -> Refusal | None:
    """Refuse an action that the person's role does not allow."""
    if action.role in action.roles and action.who:
        return None
    who = " or ".join(role_name(role) for role in action.roles)
    return Refusal(f"{role_name(action.role)} may not do this", f"{who} does it", action.rules)


def _not_there(d: Decision, action: Action) -> Refusal | None:
    """Refuse a deck or a device that the table does not have."""
    if isinstance(action, OnDeck) and not isinstance(action, ReceiveDeck) and action.deck not in d.state.decks:
        if action.deck in d.state.retired:
            return Refusal(
                f"deck {action.deck} has left the table for good", "a deck at the table is named", (Rule.WRONG_COUNT,)
            )
        return Refusal(f"deck {action.deck} is not at the table", "a deck at the table is named")
    if isinstance(action, OnDevice) and action.device not in d.state.devices:
        return Refusal(f"the table has no {action.device}", "a device of the table is named")
    return None


@enforces(Rule.SHUFFLE_NEW_DECK, Rule.SHUFFLE, Rule.WRONG_COUNT, Rule.REVEAL_DEALER)
def _not_now(d: Decision, action: Action) -> Refusal | None:
    """Refuse what the state machines do not allow now."""
    deck = action.deck if isinstance(action, OnDeck) and not isinstance(action, ReceiveDeck) else ""
    device = action.device if isinstance(action, OnDevice) else ""
    recut = isinstance(action, RequireRecut)  # a loaded deck is recalled first, so only the table's state matters
    late = play.too_late_to_bet(d.state, action) if isinstance(action, RecordBet) else None
    none_due = reconstructing.no_card_due(d.state) if isinstance(action, DealCards) else None
    if late or none_due:
        return late or none_due
    refusal = why_not(d.state, Event if recut else action.leads_to, deck, device) or why_not(d.state, action.leads_to)
    if isinstance(action, CloseBets) and d.state.table in (TableState.WAITING, TableState.SUSPENDED):
        return cannot_start(d.state, d.now_ms) or refusal  # the missing condition is more helpful than the state
    if refusal is None:
        return None
    locked_out = deck in d.state.decks and d.state.decks[deck].state is DeckState.LOCKED_OUT
    rules = (Rule.WRONG_COUNT,) if locked_out else _rules_now(d, action)
    return Refusal(refusal.reason, refusal.possible_when, rules)


def _rules_now(d: Decision, action: Action) -> tuple[Rule, ...]:
    """The rules that say when this action may happen."""
    if isinstance(action, CloseBets | DealCards | FinishDeal):
        return (Rule.DEALING,)
    if d.state.table is TableState.STUB_COUNT:
        return (Rule.STUB_WRONG,)
    return action.rules
