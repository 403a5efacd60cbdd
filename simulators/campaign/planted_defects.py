"""Defects to plant in the core, the journal and the bridge; a campaign that misses one proves little.

Each names the mishaps that bring it out, so that it is found soon. People and devices are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import msgspec

from controller.core import actions, decision, ledger, table
from controller.core.changes.change import CHANGES
from controller.core.commands import command_of
from controller.core.decision import HANDLERS, Decision
from controller.core.events.decks import CutMade, DeckLoaded
from controller.core.events.devices import CommandGiven
from controller.core.events.event import Entry, Event
from controller.core.events.rounds import RoundCompleted, RoundStarted, RoundVoided
from controller.core.events.table import WarningCauseGone, WarningCleared
from controller.core.machines import DeckState, TableState
from controller.core.reports import DeviceEvent
from controller.core.rules import automatic, clock, dealing, devices, gathering, guards, shuffling, starting, warnings
from controller.core.state import State, decode, encode
from controller.daemon import live_table
from controller.games import GAMES
from controller.games.rulebook import Rule
from controller.journal import Journal, store
from firmware_bridge.wire import session
from firmware_bridge.wire.messages import Outcome
from simulators.campaign import planted_leaks, planted_tampering
from simulators.campaign.games import campaign_game
from simulators.campaign.planting import (
    BY_HAND,
    COUNTS_NOT,
    DEFECTS,
    HOLDS,
    SHORT_LIFE,
    Swap,
    defect,
    everywhere,
    never,
    planted,
)

WITHIN: Final = 200  # rounds in which each defect must be found
RATE: Final = 1.0  # mishaps in a round while a defect is looked for

for _name in GAMES:
    campaign_game(_name)  # the module of a game plants those of its own

__all__ = ["DEFECTS", "RATE", "WITHIN", "planted", "planted_leaks", "planted_tampering"]


# --- the turn, the count, the shuffle, the age ----------------------------------------------------------------------


@defect("the turn does not pass to the other deck")
def _turn_not_passed() -> list[Swap]:
    right = CHANGES[RoundStarted]

    def change(state: State, event: RoundStarted) -> None:
        right(state, msgspec.structs.replace(event, next_back=state.decks[event.deck].back))

    return [(CHANGES, RoundStarted, change)]


@defect("a deck is accepted whatever the shuffler has counted", "missing_card", "extra_card", "miscount")
def _count_not_checked() -> list[Swap]:
    right = shuffling.shuffle_done

    def done(d: Decision, given: Any, cycle: Any) -> None:
        given.counted, given.fits = d.state.setup.game.deck_size, True
        right(d, given, msgspec.structs.replace(cycle, cards=d.state.setup.game.deck_size))

    return everywhere(right, done)


@defect("a deck is played past its time", "long_pause", setup=SHORT_LIFE)
def _age_ignored() -> list[Swap]:
    return everywhere(guards.over_age, never)


@defect("the other deck need not be in the shuffler")
def _other_deck_not_asked_for() -> list[Swap]:
    return everywhere(guards.other_deck_not_in_shuffler, never)


@defect("a shuffle that left a card behind counts as done", "short_feed", setup=COUNTS_NOT)
def _broken_shuffle_accepted() -> list[Swap]:
    return _incomplete_as_complete("Shuffle")


def _incomplete_as_complete(command: str) -> list[Swap]:
    right = devices._cycle_done

    def done(d: Decision, name: str, given: Any, cycle: Any) -> None:
        if given.name == command and cycle.outcome is Outcome.INCOMPLETE:
            cycle = msgspec.structs.replace(cycle, outcome=Outcome.COMPLETE)
        right(d, name, given, cycle)

    return everywhere(right, done)


@defect("the cover card may go in anywhere", "short_cut", setup=BY_HAND)
def _short_cut_taken() -> list[Swap]:
    def cut(d: Decision, act: Any) -> None:
        d.emit(CutMade(deck=act.deck, depth=act.depth, who=act.who), Rule.CUT_DEPTH)

    return everywhere(HANDLERS[actions.CutDeck], cut)


@defect("a deck shuffled by hand is dealt without a cut", "short_cut", setup=BY_HAND)
def _cut_not_required() -> list[Swap]:
    return everywhere(guards.uncut, never)


@defect("the stub is never counted", setup=COUNTS_NOT)
def _stub_count_skipped() -> list[Swap]:
    return [*everywhere(guards.stub_overdue, never), *everywhere(guards.stub_count_due, lambda state: False)]


@defect("a count of one deck's stub counts for the other deck too", setup=COUNTS_NOT)
def _one_deck_counted_for_both() -> list[Swap]:
    return everywhere(guards.rounds_uncounted, lambda state: state.rounds_uncounted)


@defect("a second deck that came already shuffled is not put into the shuffler", setup=COUNTS_NOT)
def _second_prepared_deck_left_out() -> list[Swap]:
    def waits(state: State, name: str) -> bool:
        return state.decks[name].state in (DeckState.STACKED, DeckState.RACKED)

    return everywhere(shuffling.waits_for_shuffler, waits)


@defect("a deck that is locked out goes on to the next shuffle", "miscount", "missing_card")
def _locked_out_deck_returns() -> list[Swap]:
    right = gathering.lock_out

    def lock_out(d: Decision, deck: str, *rules: Rule, reason: str) -> None:
        right(d, deck, *rules, reason=reason)
        d.state.decks[deck].state = DeckState.RECALLED

    return everywhere(right, lock_out)


# --- dealing --------------------------------------------------------------------------------------------------------


@defect("a stack of two or four is accepted as three", "double_feed", "short_feed")
def _wrong_stack_accepted() -> list[Swap]:
    right = dealing.presented

    def presented(d: Decision, given: Any, number: int, at_held: bool) -> None:
        right(d, given, getattr(given.command, "cards", 3), at_held)

    def taken(d: Decision, given: Any, number: int) -> None:
        right_taken(d, given, -1)

    right_taken = dealing.taken
    return [*everywhere(right, presented), *everywhere(right_taken, taken), *_incomplete_as_complete("Dispense")]


@defect("the deal begins at the dealer's right")
def _dealt_from_the_right() -> list[Swap]:
    right = starting._plan
    return [(starting, "_plan", lambda state, seats: right(state, sorted(seats, reverse=True)))]


@defect("a seat without a wager is dealt to")
def _seat_without_wager_dealt_to() -> list[Swap]:
    right = starting._plan
    return [(starting, "_plan", lambda state, seats: right(state, sorted({*seats, 1, 2, 3, 4, 5, 6})))]


@defect("the held stack comes out before the players have acted", setup=HOLDS)
def _held_stack_released_early() -> list[Swap]:
    return everywhere(dealing.waits_for_players, lambda round_: False)


@defect("a round is over with the hands still on the table")
def _round_over_too_early() -> list[Swap]:
    def completing(d: Decision) -> bool:
        if not d.round.stub_out:
            return False
        d.emit(RoundCompleted(round=d.round.number, deck=d.round.deck), Rule.COLLECT_HANDS)
        return True

    return everywhere(automatic.completing, completing)


# --- voids and warnings ---------------------------------------------------------------------------------------------


@defect("a void does not ask for the hands", "double_feed", "jam")
def _void_leaves_hands() -> list[Swap]:
    right = gathering.next_place

    def next_place(state: State, name: str) -> str:
        place = right(state, name)
        hands = [p for p in state.decks[name].cards if p.startswith("seat")]
        if not place.startswith("seat"):
            return place
        left = {p: n for p, n in state.decks[name].cards.items() if p not in hands}
        deck = msgspec.structs.replace(state.decks[name], cards=left)
        return right(msgspec.structs.replace(state, decks={**state.decks, name: deck}), name)

    return everywhere(right, next_place)


@defect("a stack taken just as the round became void is assumed to be on the pile", "unplug", "jam", "hasty_hand")
def _taken_stack_not_asked_for() -> list[Swap]:
    return everywhere(gathering._destination, lambda state, name, deck, given, counted: ledger.TABLE)


@defect("a void keeps the wagers", "double_feed", "jam")
def _void_keeps_wagers() -> list[Swap]:
    right = CHANGES[RoundVoided]

    def change(state: State, event: RoundVoided) -> None:
        right(state, event)
        assert state.round is not None
        state.round.wagers_open = False

    return [(CHANGES, RoundVoided, change)]


@defect("a warning disappears with its cause", "jam", "unplug")
def _warning_clears_itself() -> list[Swap]:
    def change(state: State, event: WarningCauseGone) -> None:
        del state.warnings[event.warning]

    return [(CHANGES, WarningCauseGone, change)]


@defect("a warning can be cleared while its cause persists", "early_clear", "jam", "power_loss")
def _warning_cleared_too_early() -> list[Swap]:
    def clear(d: Decision, act: Any) -> None:
        if act.warning in d.state.warnings:
            d.emit(WarningCleared(warning=act.warning, who=act.who, role=str(act.role)))

    return everywhere(warnings.clear_warning, clear)


@defect("a dealer can clear what needs a floorperson", "stall", "early_clear")
def _warning_cleared_by_anybody() -> list[Swap]:
    return [(warnings, "_RANK", {"dealer": 9, "technician": 9, "floor": 9})]


@defect("a round starts under a warning", "jam", "ignored_warning")
def _warning_ignored() -> list[Swap]:
    return [*everywhere(guards.blocking, lambda state: []), *everywhere(guards.warned, lambda state, device: False)]


@defect("a device that does not end its cycle is waited for forever", "stall")
def _deadline_missed() -> list[Swap]:
    return [*everywhere(clock.check_deadlines, never), (table.Table, "deadline", property(lambda self: math.inf))]


# --- the ledger, the clock, refusals, secrets -----------------------------------------------------------------------


@defect("the cards of a loaded deck are not moved in the ledger")
def _ledger_not_updated() -> list[Swap]:
    right = shuffling.loaded

    def loaded(d: Decision, name: str, who: str = "") -> None:
        d.emit(DeckLoaded(deck=name, method=str(d.state.method), moves=[], who=who), Rule.LOAD_SHOE)

    return everywhere(right, loaded)


@defect("missing cards are made up in the ledger", "missing_card", "dropped_card")
def _ledger_invents_cards() -> list[Swap]:
    def move(cards: dict[str, int], moves: Any) -> None:
        for source, target, number in moves:
            if source != ledger.MISSING:
                cards[source] = cards.get(source, 0) - number
                if not cards[source]:
                    del cards[source]
            cards[target] = cards.get(target, 0) + number
            if not cards[target]:
                del cards[target]

    return everywhere(ledger.move, move)


@defect("the table's clock follows a late report", "clock_late")
def _clock_goes_back() -> list[Swap]:
    right = decision.Decision.emit

    def emit(self: Decision, event: Event, *cited: Rule | str) -> Entry:
        if self.now_ms == self.state.now_ms and self.state.now_ms > 10_000:
            self.now_ms -= 7
        return right(self, event, *cited)

    return [(decision.Decision, "emit", emit)]


@defect("a refused action gets no answer", "wrong_button", "pressed_twice")
def _refusal_swallowed() -> list[Swap]:
    return [(decision.Decision, "refuse", never)]


# --- the journal and what goes over the wire ------------------------------------------------------------------------


@defect("commands are sent before they are stored", "host_dies_before_commit")
def _journal_after_send() -> list[Swap]:
    right = live_table.LiveTable.take

    def take(self: live_table.LiveTable, report: Any, now: float, ts: str) -> list[Entry]:
        handle = self.table.handle

        def early(report: Any, now: float) -> list[Entry]:
            entries = handle(report, now)
            for event in entries:
                given = event.event
                if isinstance(given, CommandGiven):
                    self._send(given.device, command_of(event.seq, given.boot, given.command))
            return entries

        real, self._send = self._send, _once(self._send)
        self.table.handle = early  # type: ignore[method-assign]
        try:
            return right(self, report, now, ts)
        finally:
            self._send = real
            del self.table.handle

    return [(live_table.LiveTable, "take", take)]


def _once(send: Callable[..., None]) -> Callable[..., None]:
    """Send each command once."""
    sent: set[int] = set()

    def first(device: str, command: Any) -> None:
        if command.id not in sent:
            sent.add(command.id)
            send(device, command)

    return first


@defect("a device's event is dropped now and then")
def _event_dropped() -> list[Swap]:
    right = live_table.LiveTable.take
    number = 0

    def take(self: live_table.LiveTable, report: Any, now: float, ts: str) -> list[Entry]:
        nonlocal number
        if isinstance(report, DeviceEvent):
            number += 1
            if number % 50 == 0:
                return []
        return right(self, report, now, ts)

    return [(live_table.LiveTable, "take", take)]


@defect("a device may forget an event before it is stored")
def _acknowledged_early() -> list[Swap]:
    right = session.HostSession.receive

    def receive(self: session.HostSession, data: bytes, now: float) -> Any:
        before = self._delivered
        happenings = right(self, data, now)
        if self._delivered > before and self.ready:
            self.stored(session.EventMark(self.boot, self._delivered + 1), now)
        return happenings

    return [(session.HostSession, "receive", receive)]


@defect("a command gets the number of another event")
def _command_id_wrong() -> list[Swap]:
    return [(live_table, "command_of", lambda id, boot, found: command_of(id - 1, boot, found))]


@defect("after a restart an open command is given under a new number", "host_dies_after_send", "host_dies")
def _command_renumbered() -> list[Swap]:
    right = live_table.LiveTable.unanswered

    def unanswered(self: live_table.LiveTable, device: str) -> list[Any]:
        return [msgspec.structs.replace(command, id=self.state.seq + 1) for command in right(self, device)]

    return [(live_table.LiveTable, "unanswered", unanswered)]


@defect("the snapshot belongs to an earlier event", "host_dies")
def _snapshot_gone_stale() -> list[Swap]:
    kept: list[bytes] = []

    def stale(state: State) -> bytes:
        kept.append(encode(state))
        old = decode(kept[max(0, len(kept) - 2)])
        old.seq = state.seq
        return encode(old)

    return [(live_table, "encode", stale)]


@defect("a commit is postponed until the next one", "host_dies", "host_dies_after_send")
def _commit_put_off() -> list[Swap]:
    right = Journal._write_events
    waiting: list[Any] = []

    def write(self: Journal, rows: list[Any]) -> None:
        waiting.extend(rows)
        due = [row for row in waiting if row[0] < rows[0][0]]
        waiting[:] = [row for row in waiting if row[0] >= rows[0][0]]
        right(self, due)

    return [(Journal, "_write_events", write)]


@defect("the chain has a wrong hash now and then")
def _chain_broken() -> list[Swap]:
    right = Journal._write_events

    def write(self: Journal, rows: list[Any]) -> None:
        right(self, [row._replace(hash=bytes(32)) if row.seq % 97 == 0 else row for row in rows])

    return [(store.Journal, "_write_events", write)]


@defect("the state is changed without an event")
def _state_changed_without_event() -> list[Swap]:
    right = table.Table.handle

    def handle(self: table.Table, report: Any, now: float) -> list[Entry]:
        events = right(self, report, now)
        if self.state.table is TableState.CLEARING:
            self.state.rounds_uncounted += 1
        return events

    return [(table.Table, "handle", handle)]
