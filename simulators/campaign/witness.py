"""The witness of a campaign: checks what devices do and what the table decides against the physical cards.

It uses neither the core's guards nor the guide; each rule is stated again, in terms of what was observed.
"""

# mypyc
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec

from controller.core.events import read
from controller.core.events.event import Entry
from controller.games.game import Method
from controller.journal import JournalReader
from firmware_bridge.wire.messages import (
    AnyCommand,
    CardsCounted,
    Cycle,
    CycleDone,
    Dispense,
    Outcome,
    Release,
    Shuffle,
    StackPresented,
)
from firmware_bridge.wire.messages import EventMessage as DeviceEvent
from simulators.campaign.checks import FLOOR, IN_SHUFFLER, KIND_NAMES, Books, decks_in
from simulators.campaign.luck import Shift
from simulators.devices.cards import DECK_SIZE, Card, CardPlace, Spot
from simulators.table.hands import DEALERS_SEAT, SOURCE

STACK: Final = 3
LEAST_CUT: Final = 10
STUB_ROUNDS: Final = 5
HOUR_S: Final = 3600.0
NOTICED_S: Final = 40.0  # a jam that is older than this must be known at the table, also over a bad wire
MAY_CLEAR: Final = {  # who may clear which warning
    "jam": ("dealer", "technician", "floor"),
    "lost": ("dealer", "technician", "floor"),
    "cycle": ("dealer", "technician", "floor"),
    "restart": ("dealer", "technician", "floor"),
    "door": ("floor",),
    "gap": ("floor",),
    "fail": ("floor",),
    "count": ("floor",),
    "cards": ("floor",),
    "refused": ("floor",),
    "replaced": ("technician", "floor"),
}

_NUMBERED = frozenset({"seats"})  # lists of numbers that are not cards
_SHOE, _OUTPUT, _INFEED, _RACK, _HELD = (
    Spot(place) for place in (CardPlace.SHOE, CardPlace.OUTPUT, CardPlace.INFEED, CardPlace.RACK, CardPlace.HELD)
)
_EXITS = {"shoe": Spot(CardPlace.EXIT, 0), "shuffler": Spot(CardPlace.EXIT, 1)}


class _Round:
    """A round as it was observed."""

    def __init__(self, event: Entry) -> None:
        self.seq = event.seq
        self.number: int = event.data["round"]
        self.deck: str = event.data["deck"]
        self.seats: list[int] = event.data["seats"]
        self.order = [*(f"seat{seat}" for seat in sorted(self.seats)), "dealer"]
        self.at = 0  # how far the dealing has come in the order
        self.void_seq = 0
        self.acted = False
        self.collected: set[str] = set()  # hands that went to the rack, such as that of a player who folded
        self.excused = False  # a sensor lied, or a person lost a card


class Witness(Books):
    """Observes devices and decisions, and raises Broken when a check fails."""

    def __init__(self, shift: Shift) -> None:
        super().__init__()
        self.setup = shift.setup
        self.rounds = 0
        self.completed = 0
        self.voids: Counter[str] = Counter()
        self.recoveries: Counter[str] = Counter()
        self._seen = 0
        self._last: Entry | None = None
        self._at_ms = 0
        self._method = shift.setup.method
        self._backs: dict[str, str] = {}
        self._shuffled: set[str] = set()
        self._order: dict[str, list[Card]] = {}  # how a deck lay when it went into the shuffler
        self._counted: dict[str, int] = {}
        self._by_hand: dict[str, str] = {}
        self._first_dealt: dict[str, float] = {}
        self._excused: set[str] = set()  # decks that a sensor or a person has miscounted
        self._out: set[str] = set()
        self._last_back = ""
        self._uncounted = 0
        self._out_of_service: set[str] = set()
        self._warned: dict[str, bool] = {}  # whether its cause is gone
        self._wagers: set[int] = set()
        self._round: _Round | None = None
        self._boots: dict[str, int] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._done: dict[str, set[int]] = {"shuffler": set(), "shoe": set()}
        self._jammed_since: dict[str, float] = {}
        self._see: dict[str, Callable[[Entry], None]] = {
            "deck.received": self._received,
            "deck.accepted_prepared": self._accepted,
            "deck.recalled": self._recalled,
            "shuffle.failed": self._recalled,
            "recut.cancelled": self._recalled,
            "deck.shuffled_by_hand": self._shuffled_by_hand,
            "cut.made": self._cut,
            "cut.recut_required": self._recut,
            "count.accepted": self._count_accepted,
            "stub.counted": self._stub_counted,
            "deck.locked_out": self._gone,
            "deck.removed": self._gone,
            "deck.loaded": self._used,
            "deck.inserted": self._used,
            "shuffle.started": self._used,
            "table.opened": self._opened,
            "method.changed": self._method_changed,
            "device.out_of_service": self._out_of,
            "device.in_service": self._into,
            "device.connected": self._booted,
            "device.seen": self._booted,
            "round.started": self._started,
            "command.given": self._given,
            "players.acted": self._acted,
            "dealer.revealed": self._revealed,
            "stack.taken": self._taken,
            "hand.collected": self._collected,
            "round.completed": self._completed,
            "round.voided": self._voided,
            "wagers.returned": self._returned,
            "void.completed": self._void_done,
            "warning.raised": self._raised,
            "warning.cause_gone": self._cause_gone,
            "warning.cleared": self._cleared,
        }

    # --- what devices do ----------------------------------------------------------------------------------------------

    def acted(self, device: str, boot: int, command: AnyCommand) -> None:
        """A device begins to carry out a command: it must already be stored, and allowed."""
        house = self.house
        event = self._journaled(command.id)
        name = type(command).__name__
        known = event is not None and event.kind == "command.given"
        same = known and event is not None and event.data["device"] == device and event.data["command"]["name"] == name
        self.check("written first", same, f"the {device} does {name} {command.id}, the journal has", event)
        self.check("done once", command.id not in self._done[device], f"the {device} does {name} {command.id} again")
        self._done[device].add(command.id)
        if isinstance(command, Shuffle):
            pile = house.cards.pile(_INFEED)
            for deck in {card.deck for card in pile}:
                self.check("allowed deck", deck not in self._out, f"deck {deck} is shuffled")
                self._shuffled.discard(deck)
                self._counted.pop(deck, None)
                self._excused.discard(deck)
                self._order[deck] = pile
        elif isinstance(command, Dispense | Release):
            self._deals(command)

    def _journaled(self, seq: int) -> Entry | None:
        if self.house.dark:
            with JournalReader(self.house.file) as reader:
                found = reader.event(seq)
                more = reader.events(after=self._seen)
                self.house.events += [read(event.seq, event.kind, event.clause, event.data) for event in more]
            self.decided()
        else:
            found = self.house.journal.event(seq)
        return read(found.seq, found.kind, found.clause, found.data) if found else None

    def _deals(self, command: Dispense | Release) -> None:
        round_ = self._round
        on = round_ is not None and command.id > round_.seq and (not round_.void_seq or command.id < round_.void_seq)
        self.check("due deck", on, f"the shoe deals for command {command.id} without a round")
        assert round_ is not None
        spot = _SHOE if isinstance(command, Dispense) else _HELD
        decks = decks_in(self.house.cards.pile(spot))
        self.check("due deck", decks == {round_.deck}, f"deck {round_.deck} is dealt, in the shoe lie {sorted(decks)}")
        if isinstance(command, Release):
            self.check("held stack", round_.acted, "the held stack comes out before the players have acted")

    def reported(self, device: str, boot: int, kind: type[DeviceEvent], fields: dict[str, Any]) -> None:
        """A device reports what its sensors saw. Where a sensor is wrong, the table cannot know."""
        if kind not in (CardsCounted, StackPresented, CycleDone):
            return
        cards = self.house.cards
        if kind is CardsCounted:
            pile = cards.pile(_OUTPUT)
            for deck in {card.deck for card in pile}:
                self._counted[deck] = fields["cards"]
                if fields["cards"] != len(pile):
                    self._excused.add(deck)
        elif kind is StackPresented and fields["cards"] >= 0:
            at = _HELD if fields["place"].name == "HELD" else _EXITS[device]
            if fields["cards"] != cards.count(at) and self._round:
                self._round.excused = True
        elif kind is CycleDone and fields["cycle"] is Cycle.SHUFFLE and fields["outcome"] is Outcome.COMPLETE:
            pile = cards.pile(_OUTPUT)
            for deck in {card.deck for card in pile}:
                if pile != self._order.get(deck):
                    self._shuffled.add(deck)

    def forgot(self, device: str, boot: int, number: int) -> None:
        """A device lets go of its events up to this one."""
        if self.house.dark and number > self._numbers.get((device, boot), 0):
            self._journaled(0)  # what a host stored in its last moment
        kept = self._numbers.get((device, boot), 0)
        self.check("event kept", number <= kept, f"the {device} may forget event {number}, the journal has {kept}")

    def lost_by_a_person(self, deck: str) -> None:
        """A person has dropped a card: no sensor saw it."""
        self._excused.add(deck)
        if self._round:
            self._round.excused = True

    # --- what the table decides ---------------------------------------------------------------------------------------

    def decided(self) -> None:
        """Look at what was decided since the last time."""
        events = self.house.events
        there = len(events) >= self._seen and (not self._last or events[self._seen - 1].kind == self._last.kind)
        self.check("nothing lost", there, f"{self._seen} events were committed, {len(events)} are there")
        if len(events) == self._seen:
            return
        state, completed = self.house.state, self.completed
        late_ms = round(self.house.now * 1000) + 1
        for event in events[self._seen :]:
            self._seen += 1
            self._last = event
            data = event.data
            at_ms = data["at_ms"]
            self.check("clock goes forward", self._at_ms <= at_ms <= late_ms, f"{at_ms} ms after {self._at_ms} ms")
            self._at_ms = at_ms
            if "of" in data:
                self._count_event(data["of"])
            if event.kind != "table.configured":
                self._undealt(event)
            see = self._see.get(event.kind)
            if see:
                see(event)
            self.check("event kept", event.seq == self._seen, f"event {event.seq} stands at place {self._seen}")
        for name, deck in state.decks.items():
            total = sum(deck.cards.values())
            self.check("ledger adds up", total == DECK_SIZE, f"deck {name} has {total} cards:", deck.cards)
        if state.seq == self._seen:  # else the rest of a longer decision is still to come
            same = self._warned.keys() == state.warnings.keys()
            self.check("warning latched", same, sorted(self._warned), "were raised, there are", sorted(state.warnings))
            if self.completed != completed:  # between rounds it may have been put right by a count
                self._replay()

    def _count_event(self, of: dict[str, Any]) -> None:
        boot = self._boots.get(of["device"], 0)
        before = self._numbers.get((of["device"], boot), 0)
        good = of["number"] == before + 1
        self.check("event kept", good, f"event {of['number']} of the {of['device']} follows event {before}")
        self._numbers[of["device"], boot] = of["number"]

    def _undealt(self, event: Entry) -> None:
        data = event.data
        if event.kind == "stack.taken":
            data = {key: value for key, value in data.items() if key != "kinds"}
        named = KIND_NAMES.search(msgspec.json.encode(data))
        self.check("nothing undealt told", not named and "kind" not in data and "kinds" not in data, event)
        for key, value in data.items():
            if type(value) is list and value and key not in _NUMBERED:
                self.check("nothing undealt told", not all(type(part) is int for part in value), event)

    # --- decks --------------------------------------------------------------------------------------------------------

    def _received(self, event: Entry) -> None:
        deck = event.data["deck"]
        self.check("allowed deck", deck not in self._backs, f"deck {deck} comes a second time")
        self._backs[deck] = event.data["back"]

    def _accepted(self, event: Entry) -> None:
        self._by_hand[event.data["deck"]] = "mixed"

    def _recalled(self, event: Entry) -> None:
        deck = event.data["deck"]
        self._shuffled.discard(deck)
        self._counted.pop(deck, None)
        if self._by_hand.pop(deck, None) and "5.G" in event.clause:
            self._by_hand[deck] = "mixed"

    def _shuffled_by_hand(self, event: Entry) -> None:
        here = self.setup.shuffler is not None and "shuffler" not in self._out_of_service
        self.check("shuffled deck", not here, "shuffled by hand beside a shuffler in service")
        self._shuffled.discard(event.data["deck"])
        self._by_hand[event.data["deck"]] = "mixed"

    def _cut(self, event: Entry) -> None:
        deck, depth = event.data["deck"], event.data.get("depth", event.data.get("least", 0))
        good = LEAST_CUT <= depth < DECK_SIZE and self._by_hand.get(deck) == "mixed"
        self.check("shuffled deck", good, f"deck {deck}, {self._by_hand.get(deck)}, is cut at {depth}")
        self._by_hand[deck] = "cut"

    def _recut(self, event: Entry) -> None:
        self._by_hand[event.data["deck"]] = "mixed"

    def _count_accepted(self, event: Entry) -> None:
        if event.data["by"] == "shuffler":
            deck = event.data["deck"]
            counted = self._counted.get(deck)
            self.check("counted deck", counted == DECK_SIZE, f"deck {deck} is accepted, counted were {counted}")
        self._uncounted = 0

    def _stub_counted(self, event: Entry) -> None:
        self._uncounted = 0

    def _gone(self, event: Entry) -> None:
        self._out.add(event.data["deck"])
        if event.kind == "deck.removed":
            self._backs.pop(event.data["deck"], None)
            self.recoveries["decks replaced"] += 1

    def _used(self, event: Entry) -> None:
        deck = event.data["deck"]
        self.check("allowed deck", deck not in self._out, f"{event.kind} with deck {deck}, which is out")

    def _opened(self, event: Entry) -> None:
        self._last_back = ""

    def _method_changed(self, event: Entry) -> None:
        self._method = Method(event.data["method"])
        self.recoveries["other ways of dealing"] += 1

    # --- devices ------------------------------------------------------------------------------------------------------

    def _out_of(self, event: Entry) -> None:
        self._out_of_service.add(event.data["device"])

    def _into(self, event: Entry) -> None:
        self._out_of_service.discard(event.data["device"])

    def _booted(self, event: Entry) -> None:
        if event.kind == "device.connected":
            self.recoveries["devices greeted"] += 1
        self._boots[event.data["device"]] = event.data["boot"]

    # --- a round ------------------------------------------------------------------------------------------------------

    def _started(self, event: Entry) -> None:
        house, deck, cards = self.house, event.data["deck"], self.house.cards
        source = _SHOE if cards.count(_SHOE) or self._method is Method.AUTOMATED_SHOE else SOURCE[self._method]
        pile = cards.pile(source)
        decks = decks_in(pile)
        two = len(self._backs) == 2
        self.rounds += 1
        self.check("due deck", decks == {deck}, f"deck {deck} is to be dealt, where it should lie are {sorted(decks)}")
        due = not two or self._backs[deck] != self._last_back
        self.check("due deck", due, f"deck {deck} is dealt again out of its turn")
        self.check("allowed deck", deck not in self._out, f"deck {deck} is out, and dealt")
        shuffler = None if "shuffler" in self._out_of_service else self.setup.shuffler
        self.check("due deck", not two or shuffler is not None, "two decks without a shuffler")
        if shuffler and shuffler.counts:
            counted = self._counted.get(deck)
            self.check("counted deck", counted == DECK_SIZE, f"deck {deck} is dealt, counted were {counted}")
            whole = len(pile) == DECK_SIZE or deck in self._excused
            self.check("whole deck", whole, f"{len(pile)} cards of deck {deck} lie there")
            if shuffler.recognises:  # it sees a foreign card in the place of one of its own, where the number is right
                fits = tuple(cards.kinds(source)) == self.setup.game.copies or deck in self._excused
                self.check("whole deck", fits, f"the kinds of deck {deck} are", *cards.kinds(source))
        else:
            self.check("stub counted", self._uncounted < STUB_ROUNDS, f"{self._uncounted} rounds without a count")
        how = "machine" if deck in self._shuffled else self._by_hand.get(deck, "not at all")
        self.check("shuffled deck", how in ("machine", "cut"), f"deck {deck} was shuffled: {how}")
        life_s = self.setup.game.life_h[self._method] * HOUR_S
        age_s = house.now - self._first_dealt.setdefault(deck, house.now)
        self.check("young deck", age_s < life_s, f"deck {deck} is {age_s:.0f} s old")
        if two:
            other = next(name for name in self._backs if name != deck)
            there = self.lying(other, IN_SHUFFLER)
            self.check("other deck shuffled", there > 0, f"no card of deck {other} is in the shuffler")
        racked = decks_in(cards.pile(_RACK)) - {deck}
        self.check("one deck in the rack", not racked, f"deck {deck} is dealt, in the rack lie {sorted(racked)}")
        left = [*cards.spots(CardPlace.HAND), *cards.spots(CardPlace.EXIT)]
        self.check("table cleared", not left, "cards lie at", *left)
        standing = [key for key in self._warned if key.split(".")[0] not in self._out_of_service]
        self.check("no round under a warning", not standing, "a round starts, there stand:", *standing)
        self._look_for_jams()
        self._shuffled.discard(deck)
        self._counted.pop(deck, None)
        self._by_hand.pop(deck, None)
        self._last_back = self._backs[deck] if two else ""
        self._uncounted += 1
        self._wagers = set(event.data["seats"])
        self._round = _Round(event)

    def _look_for_jams(self) -> None:
        for name, wired in self.house.wired.items():
            if not wired.device.mechanics.way_blocked or name in self._out_of_service:
                self._jammed_since.pop(name, None)
                continue
            since = self._jammed_since.setdefault(name, self.house.now)
            known = self.house.now - since < NOTICED_S
            self.check("no round under a warning", known, f"the {name} is jammed for {self.house.now - since:.0f} s")

    def _given(self, event: Entry) -> None:
        if event.data["command"]["name"] != "Dispense":
            return
        round_, target = self._round, event.data["target"]
        self.check("dealt in order", round_ is not None and target in round_.order, f"{target} is dealt to")
        assert round_ is not None
        at = round_.order.index(target)
        self.check("dealt in order", at >= round_.at, f"{target} comes after {round_.order[round_.at]}")
        round_.at = at

    def _acted(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        round_.acted = True
        for seat in round_.seats:
            self._hand(round_, seat)

    def _revealed(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        for seat in [*round_.seats, DEALERS_SEAT]:
            if f"seat{seat}" not in round_.collected:
                self._hand(round_, seat)

    def _collected(self, event: Entry) -> None:
        assert self._round is not None
        self._round.collected.add(event.data["target"])

    def _hand(self, round_: _Round, seat: int) -> None:
        number = self.house.cards.count(Spot(CardPlace.HAND, seat))
        good = number == STACK or round_.excused or round_.deck in self._excused
        self.check("stack of three", good, f"the hand at {seat} has {number} cards in round {round_.number}")

    def _taken(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        if event.data.get("kinds"):
            shown = Counter(event.data["kinds"])
            spots = [*self.house.cards.spots(CardPlace.HAND), _RACK, FLOOR, *self.house.cards.spots(CardPlace.TABLE)]
            out = Counter(card.kind.name.lower().replace("_", " ") for card in self.piles(spots))
            self.check("nothing undealt told", shown <= out, f"{shown} was told, open lie {out}")
        hands = {int(spot.number) for spot in self.house.cards.spots(CardPlace.HAND)}
        good = hands <= {*round_.seats, DEALERS_SEAT}
        self.check("dealt in order", good, f"cards lie at {sorted(hands)}, wagered have {round_.seats}")

    def _completed(self, event: Entry) -> None:
        self.completed += 1
        self._wagers = set()
        self._round = None

    def _voided(self, event: Entry) -> None:
        assert self._round is not None
        self._round.void_seq = event.seq
        self.voids[event.clause[0] if event.clause else "-"] += 1

    def _returned(self, event: Entry) -> None:
        void = self._round is not None and self._round.void_seq > 0
        self.check("void complete", void, "wagers go back without a void")
        self._wagers = set()

    def _void_done(self, event: Entry) -> None:
        assert self._round is not None
        deck = self._round.deck
        self.check("void complete", not self._wagers, f"wagers of {sorted(self._wagers)} still lie on the table")
        places = (CardPlace.HAND, CardPlace.SHOE, CardPlace.HELD, CardPlace.EXIT, CardPlace.RACK)
        left = self.lying(deck, places)
        self.check("void complete", not left, f"{left} cards of deck {deck} lie in hands, shoe or rack")
        self.recoveries["voids completed"] += 1
        self._uncounted = 0
        self._round = None

    # --- warnings -----------------------------------------------------------------------------------------------------

    def _raised(self, event: Entry) -> None:
        self._warned[event.data["warning"]] = event.data["gone"]

    def _cause_gone(self, event: Entry) -> None:
        key = event.data["warning"]
        self.check("warning latched", key in self._warned, f"the cause of {key} is gone, and it was not raised")
        self._warned[key] = True
        device, _, what = key.partition(".")
        if what == "jam":
            blocked = self.house.wired[device].device.mechanics.way_blocked
            self.check("warning cleared rightly", not blocked, f"the {device} is still jammed")

    def _cleared(self, event: Entry) -> None:
        key, what = event.data["warning"], event.data["warning"].rpartition(".")[2]
        gone = self._warned.pop(key, None)
        self.check("warning cleared rightly", gone is True, f"{key} is cleared, its cause gone: {gone}")
        who, role = event.data.get("who", ""), event.data.get("role", "")
        self.check(
            "warning cleared rightly", bool(who) and role in MAY_CLEAR[what], f"{key} is cleared by {who}, {role}"
        )
        self.recoveries["warnings cleared"] += 1
