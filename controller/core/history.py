"""Answers from the journal about the past: how a round was dealt, and what a wrong count may have affected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from controller.core import ledger
from controller.core.enforcement import enforces
from controller.core.events.decks import CountAccepted
from controller.core.events.event import Entry
from controller.core.events.play import (
    CardsCorrected,
    CardsEntered,
    DecisionCorrected,
    DecisionTakenBack,
    HandDecided,
    HandsReconstructed,
    RoundSettled,
    StockReshuffled,
)
from controller.core.events.rounds import (
    CardFoundFaceUp,
    DealerRevealed,
    HandCollected,
    HandRecognised,
    HandsRequested,
    RoundCompleted,
    RoundStarted,
    RoundVoided,
    StackTakenToHand,
    VoidCompleted,
    WagersReturned,
)
from controller.core.events.table import WarningCleared, WarningRaised
from controller.core.state import replaced
from controller.games.rulebook import Rule

Played = CardsEntered | CardsCorrected | HandDecided | DecisionCorrected | DecisionTakenBack | StockReshuffled

# Whether a reader can see which cards a hand had. Empty if the shoe does not recognise cards.
HIDDEN: Final = "hidden"  # until the dealer's cards are shown; in a void round, until a floorperson requests them
KNOWN: Final = "known"
NOT_KNOWN: Final = "not known"  # the shoe has not answered, or has forgotten them


@enforces(Rule.COLLECT_HANDS)
def rebuild(entries: Iterable[Entry], number: int) -> dict[str, Any]:
    """What happened in a round: times, hands, in which order they were collected, warnings, how it ended.

    Empty if there was no such round. A warning belongs to the round in which it was raised; who cleared it is looked
    for until the next round starts. Which cards the hands had may be recorded later still.
    """
    story: _RoundStory | None = None
    others = False  # a later round has started
    for entry in entries:
        event = entry.event
        if isinstance(event, RoundStarted):
            others = story is not None
            if event.round == number:
                story = _RoundStory(entry, event)
        elif story and not others:
            story.take(entry)
        elif story and isinstance(event, LATE) and event.round == number:
            story.take_cards(entry, event)
    return story.facts if story else {}


# What may be recorded about a round when another one has started.
LATE: Final = (HandsRequested, HandRecognised)


class _RoundStory:
    """Collects what the events of one round say."""

    def __init__(self, entry: Entry, started: RoundStarted) -> None:
        self._open = True  # until its last card is accounted for
        self._warnings: dict[str, dict[str, Any]] = {}  # those that nobody has cleared yet
        self._hidden: dict[int, dict[str, Any]] = {}  # stacks that the shoe can be asked about, by their commands
        self._shown = False  # the hidden cards have been turned over
        self.facts: dict[str, Any] = {
            "round": started.round,
            "deck": started.deck,
            "seats": started.seats,
            "method": started.method,
            "first_seq": entry.seq,
            "last_seq": entry.seq,
            "started_ts": entry.ts,
            "ended_ts": "",
            "ended": "",
            "void": None,
            "bets": started.bets,
            "hands": {},
            "stacks": [],
            "entered": {},
            "decisions": [],
            "reshuffled": [],
            "reconstructed": [],
            "settled": None,
            "requested": [],
            "collected": [],
            "face_up": 0,
            "warnings": [],
        }

    def take(self, entry: Entry) -> None:
        """Add what this event says, if it belongs to the round."""
        event, facts = entry.event, self.facts
        if getattr(event, "round", None) == facts["round"]:
            facts["last_seq"] = entry.seq
        if isinstance(event, WarningRaised):
            self._raised(entry, event)
        elif isinstance(event, WarningCleared):
            cleared = {"cleared_by": event.who, "cleared_role": event.role, "cleared_ts": entry.ts}
            self._warnings.pop(event.warning, {}).update(cleared)
        elif isinstance(event, StackTakenToHand):
            self._taken(entry, event)
        elif isinstance(event, DealerRevealed | HandsRequested | HandRecognised):
            if event.round == facts["round"]:  # not an earlier one
                self.take_cards(entry, event)
        elif isinstance(event, CardFoundFaceUp):
            facts["face_up"] += 1
            for place, _, cards in event.moves:
                if place == event.target:  # it was in that hand already
                    facts["hands"][place]["cards"] -= cards
        elif isinstance(event, HandCollected):
            facts["collected"].append(event.target)
            decided = any(one["target"] == event.target for one in facts["decisions"])
            if decided and not self._shown and not facts["void"]:  # forfeited: it stays hidden for ever
                self._hidden = {id: one for id, one in self._hidden.items() if one["target"] != event.target}
        elif isinstance(event, Played):
            self._played(entry, event)
        elif isinstance(event, HandsReconstructed):
            self._reconstructed(entry, event)
        elif isinstance(event, RoundSettled):
            payments = [msgspec.to_builtins(payment) for payment in event.payments]
            facts["settled"] = {"ts": entry.ts, "clause": list(entry.clause), "result": event.result}
            facts["settled"] |= {"results": msgspec.to_builtins(event.results), "payments": payments}
        elif isinstance(event, RoundCompleted | RoundVoided):
            facts["ended"], facts["ended_ts"] = event.kind, entry.ts
            self._open = isinstance(event, RoundVoided)
            if isinstance(event, RoundVoided):
                clause = list(entry.clause) or event.why
                facts["void"] = {"reason": event.reason, "clause": clause, "wagers": None, "settled_ts": ""}
        elif facts["void"] and isinstance(event, WagersReturned):
            facts["void"]["wagers"] = {"returned_by": event.who, "seats": event.seats, "ts": entry.ts}
        elif facts["void"] and isinstance(event, VoidCompleted):
            facts["void"]["settled_ts"] = entry.ts
            self._open = False

    def _taken(self, entry: Entry, event: StackTakenToHand) -> None:
        seen = HIDDEN if event.command else KNOWN if event.kinds else ""
        stack = {
            "ts": entry.ts,
            "target": event.target,
            "cards": event.kept,
            "kinds": list(event.kinds or ()),
            "seen": seen,
        }
        self.facts["stacks"].append(stack)
        if event.command:
            self._hidden[event.command] = stack
        hand = self.facts["hands"].setdefault(event.target, {"cards": 0, "kinds": [], "seen": ""})
        hand["cards"] += event.kept
        self._look_at(event.target)

    def _played(self, entry: Entry, event: Played) -> None:
        """What people decided, and which cards they entered."""
        facts = self.facts
        if isinstance(event, StockReshuffled):
            facts["reshuffled"].append({"ts": entry.ts, "cards": event.cards, "cut_by": event.cut_by, "who": event.who})
            return
        hand, entered = facts["hands"][event.target], facts["entered"].setdefault(event.target, [])
        if isinstance(event, HandDecided | DecisionTakenBack):
            for place, target, cards in event.moves or ():
                hand["cards"] += cards * ((target == event.target) - (place == event.target))
        if isinstance(event, HandDecided | DecisionCorrected):
            corrected = isinstance(event, DecisionCorrected)
            number = 0 if isinstance(event, DecisionCorrected) else event.number
            decided = {"ts": entry.ts, "target": event.target, "choice": event.choice, "number": number}
            decided |= {"kinds": event.kinds, "who": event.who, "corrected": corrected, "taken_back": False}
            facts["decisions"].append(decided)
            if isinstance(event, HandDecided) and event.turned:
                entered += event.kinds
        elif isinstance(event, DecisionTakenBack):
            last = next(one for one in reversed(facts["decisions"]) if not one["taken_back"])
            last["taken_back"] = True
            if event.turned:
                del entered[len(entered) - len(last["kinds"]) :]
        elif isinstance(event, CardsEntered):
            entered += event.kinds
        else:
            self._correct(event, entered)
        self._look_at(event.target)

    def _correct(self, event: CardsCorrected, entered: list[str]) -> None:
        """Replace cards that were entered, on their own, with a stack of the hand, or with a decision."""
        stacks = [one["kinds"] for one in self.facts["stacks"] if one["target"] == event.target]
        right = replaced([kind for kinds in (*stacks, entered) for kind in kinds], event.was, event.kinds)
        for kinds in (*stacks, entered):
            kinds[:], right = right[: len(kinds)], right[len(kinds) :]
        renamed = dict(zip(event.was, event.kinds, strict=True))
        for one in self.facts["decisions"]:
            if one["target"] == event.target:
                one["kinds"] = [renamed.get(kind, kind) for kind in one["kinds"]]

    def _reconstructed(self, entry: Entry, event: HandsReconstructed) -> None:
        """The cards in the order in which they were drawn, and whose they are, replace what was recorded before."""
        facts = self.facts
        facts["reconstructed"].append({"ts": entry.ts, "kinds": event.kinds, "who": event.who})
        facts["settled"] = None
        aside = [ledger.ASIDE] * len(event.hands.get(ledger.ASIDE, ()))
        planned = [stack.target for stack in event.plan if stack.target != ledger.BURNT]
        targets = planned[: len(event.kinds) - len(aside)] + aside
        burnt = [stack for stack in facts["stacks"] if stack["target"] == ledger.BURNT]
        times = [stack["ts"] for stack in facts["stacks"][len(burnt) :]] + [entry.ts] * len(event.kinds)
        facts["stacks"] = burnt + [
            {"ts": ts, "target": target, "cards": 1, "kinds": [kind], "seen": KNOWN}
            for ts, target, kind in zip(times, targets, event.kinds, strict=False)  # some may not have been drawn
        ]
        facts["entered"] = {}
        for target in planned:
            facts["hands"][target] = {"cards": targets.count(target), "kinds": [], "seen": ""}
            self._look_at(target)

    def take_cards(self, entry: Entry, event: DealerRevealed | HandsRequested | HandRecognised) -> None:
        """The hands are not hidden any more, or the shoe has said which cards were in one."""
        if isinstance(event, HandRecognised):
            if stack := self._hidden.pop(event.command, None):
                stack |= {"kinds": event.kinds, "seen": KNOWN}
        else:
            self._shown = True
            for stack in self._hidden.values():
                stack["seen"] = NOT_KNOWN
        if isinstance(event, HandsRequested):
            self.facts["requested"].append({"ts": entry.ts, "who": event.who, "reason": event.reason})
        for target in self.facts["hands"]:
            self._look_at(target)

    def _look_at(self, target: str) -> None:
        """A hand is known if all of its stacks are."""
        stacks = [stack for stack in self.facts["stacks"] if stack["target"] == target]
        seen = {stack["seen"] for stack in stacks}
        hand = self.facts["hands"][target]
        entered = self.facts["entered"].get(target, [])
        hand["kinds"] = [*(kind for stack in stacks for kind in stack["kinds"]), *entered]
        hand["seen"] = next((one for one in (NOT_KNOWN, HIDDEN, KNOWN) if one in seen), "")
        if entered and len(hand["kinds"]) >= hand["cards"]:
            hand["seen"] = KNOWN

    def _raised(self, entry: Entry, event: WarningRaised) -> None:
        if not self._open:
            return
        raised = {"warning": event.warning, "text": event.text, "clause": list(entry.clause) or event.why}
        raised |= {"ts": entry.ts, "cleared_by": "", "cleared_role": "", "cleared_ts": ""}
        self._warnings[event.warning] = raised
        self.facts["warnings"].append(raised)


class RoundNow:
    """Which round is going on, event by event: from its start until its last card is accounted for."""

    def __init__(self, number: int = 0) -> None:
        self._number = number  # 0 between two rounds

    def after(self, kind: str, data: dict[str, Any]) -> int:
        """The round that this stored event belongs to; 0 if none."""
        if kind == RoundStarted.kind:
            self._number = data.get("round", 0)
        number = self._number
        if kind in (RoundCompleted.kind, VoidCompleted.kind):
            self._number = 0
        return number


@enforces(Rule.WRONG_COUNT)
def impact(entries: Iterable[Entry], deck: str) -> list[dict[str, Any]]:
    """The rounds and stacks that were dealt from a deck since its last correct count."""
    rounds: list[dict[str, Any]] = []
    for entry in entries:
        event = entry.event
        if getattr(event, "deck", None) != deck:
            continue
        if isinstance(event, CountAccepted):
            rounds = []
        elif isinstance(event, RoundStarted):
            rounds.append({"round": event.round, "at_ms": event.at_ms, "stacks": []})
        elif isinstance(event, StackTakenToHand) and rounds:
            rounds[-1]["stacks"].append({"target": event.target, "cards": event.kept})
    return rounds
