"""The witness of a campaign: checks what devices do and what the table decides against the physical cards.

It uses neither the core's guards nor the guide; each rule is stated again, in terms of what was observed.
"""

# mypyc
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec

from controller.core.actions import Role
from controller.core.events import read
from controller.core.events.event import Entry
from controller.games.game import Method
from controller.journal import JournalReader
from firmware_bridge.wire.messages import AnyCommand, Dispense, Release, Shuffle
from simulators.campaign.checks import FLOOR, IN_SHUFFLER, KIND_NAMES, decks_in
from simulators.campaign.deck_witness import EXITS, HELD, OUTPUT, SHOE, DeckWitness, WitnessedRound
from simulators.campaign.luck import Shift
from simulators.devices.cards import DECK_SIZE, CardPlace, Spot
from simulators.table.hands import DEALERS_SEAT, SOURCE
from simulators.table.people import WHO

STACK: Final = 3
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
    "flood": ("floor",),
}

_NO_CARDS = frozenset({"table.configured", "device.identified"})  # the game, and the maker of a device
_NUMBERED = frozenset({"seats", "wagers", "longest_ms"})  # lists of numbers that are not cards
# After these warnings, cards inside the device prove nothing.
_INCIDENTS = frozenset({"jam", "restart", "door", "gap", "fail", "refused"})
_HOLDS = {"shoe": (SHOE, HELD, EXITS["shoe"]), "shuffler": (OUTPUT, EXITS["shuffler"])}
_INFEED, _RACK = Spot(CardPlace.INFEED), Spot(CardPlace.RACK)


class Witness(DeckWitness):
    """Observes devices and decisions, and raises Broken when a check fails."""

    def __init__(self, shift: Shift) -> None:
        super().__init__(shift)
        self.rounds = 0
        self.completed = 0
        self.voids: Counter[str] = Counter()
        self._seen = 0
        self._last: Entry | None = None
        self._at_ms = 0
        self._method = shift.setup.method
        self._first_dealt: dict[str, float] = {}
        self._warned: dict[str, bool] = {}  # whether its cause is gone
        self._wagers: set[int] = set()
        self.wagered = False  # some seats were marked since the last round, and the players are still there
        self._numbers: dict[tuple[str, int], int] = {}
        self._done: dict[str, set[int]] = {"shuffler": set(), "shoe": set()}
        self._jammed_since: dict[str, float] = {}
        self._turned_over: set[int] = set()  # rounds whose hands may be revealed
        self._void_rounds: set[int] = set()
        self._out_then: dict[int, Counter[str]] = {}  # the kinds that were outside the shoe when a stack was taken
        self._see: dict[str, Callable[[Entry], None]] = {
            "deck.received": self._received,
            "deck.accepted_prepared": self._accepted,
            "deck.recalled": self._recalled,
            "shuffle.failed": self._recalled,
            "recut.cancelled": self._recalled,
            "deck.shuffled_by_hand": self._shuffled_by_hand,
            "cut.made": self._cut,
            "cut.recut_required": self._recut,
            "ledger.disagreed": self._ledger_disagreed,
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
            "turn.passed": self._turn_passed,
            "round.started": self._started,
            "command.given": self._given,
            "card.face_up": self._face_up,
            "dealing.completed": self._dealt,
            "device.refused": self._refused,
            "seats.wagered": self._wagered,
            "table.idled": self._idled,
            "players.acted": self._acted,
            "dealer.revealed": self._revealed,
            "hands.requested": self._requested,
            "hand.recognised": self._recognised,
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
        self.check("written first", same, f"the {device} does {name} {command.id}, but the journal has", event)
        self.check("done once", command.id not in self._done[device], f"the {device} does {name} {command.id} again")
        self._done[device].add(command.id)
        if isinstance(command, Shuffle):
            pile = house.cards.pile(_INFEED)
            for deck in decks_in(pile):
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
        spot = SHOE if isinstance(command, Dispense) else HELD
        decks = decks_in(self.house.cards.pile(spot))
        self.check("due deck", decks == {round_.deck}, f"deck {round_.deck} is dealt; the shoe has {sorted(decks)}")
        if isinstance(command, Release):
            self.check("held stack", round_.acted, "the held stack comes out before the players have acted")

    def forgot(self, device: str, boot: int, number: int) -> None:
        """A device lets go of its events up to this one."""
        if self.house.dark and number > self._numbers.get((device, boot), 0):
            self._journaled(0)  # what a host stored in its last moment
        kept = self._numbers.get((device, boot), 0)
        self.check("event kept", number <= kept, f"the {device} may forget event {number}, but the journal has {kept}")

    # --- what the table decides ---------------------------------------------------------------------------------------

    def decided(self) -> None:
        """Look at what was decided since the last time."""
        events = self.house.events
        there = len(events) >= self._seen and (not self._last or events[self._seen - 1].kind == self._last.kind)
        self.check("nothing lost", there, f"{self._seen} events were committed, but {len(events)} are there")
        if self._round and not self._round.void_seq and self._round.shoe_gone_at >= 0:
            gone_s = self.house.now - self._round.shoe_gone_at
            self.check("stopped shoe", gone_s < NOTICED_S, f"round {self._round.number} goes on after {gone_s:.0f} s")
        if len(events) == self._seen:
            return
        state, completed = self.house.state, self.completed
        late_ms = round((self.house.now + self.house.ahead_s) * 1000) + 1
        for event in events[self._seen :]:
            self._seen += 1
            self._last = event
            data = event.data
            at_ms = data["at_ms"]
            self.check("clock goes forward", self._at_ms <= at_ms <= late_ms, f"{at_ms} ms after {self._at_ms} ms")
            self._at_ms = at_ms
            if "of" in data:
                self._count_event(data["of"])
            if event.kind not in _NO_CARDS:
                self._undealt(event)
            see = self._see.get(event.kind)
            if see:
                see(event)
            self.check("event kept", event.seq == self._seen, f"event {event.seq} is at position {self._seen}")
        for name, deck in state.decks.items():
            total = sum(deck.cards.values())
            self.check("ledger adds up", total == DECK_SIZE, f"deck {name} has {total} cards:", deck.cards)
        if state.seq == self._seen:  # else the rest of a longer decision is still to come
            same = self._warned.keys() == state.warnings.keys()
            self.check("warning latched", same, sorted(self._warned), "raised, but active:", sorted(state.warnings))
            if self.completed != completed:  # between rounds it may have been put right by a count
                self._replay()

    def _count_event(self, of: dict[str, Any]) -> None:
        boot = self._boots.get(of["device"], 0)
        before = self._numbers.get((of["device"], boot), 0)
        good = of["number"] == before + 1
        self.check("event kept", good, f"event {of['number']} of the {of['device']} follows event {before}")
        self._numbers[of["device"], boot] = of["number"]
        self._seen_at(of["device"], boot, of["number"])

    def _undealt(self, event: Entry) -> None:
        data = event.data
        if event.kind == "hand.recognised":
            data = {key: value for key, value in data.items() if key != "kinds"}
        elif event.kind == "round.settled":
            self.check("no hidden card named", data["round"] in self._turned_over, event)
            data = {key: value for key, value in data.items() if key not in ("result", "results", "payments")}
        hidden = event.kind == "stack.taken" and "kinds" in data
        self.check("no hidden card named", not hidden, event)
        named = KIND_NAMES.search(msgspec.json.encode(data))
        self.check("no undealt card named", not named and "kind" not in data and "kinds" not in data, event)
        for key, value in data.items():
            if type(value) is list and value and key not in _NUMBERED:
                self.check("no undealt card named", not all(type(part) is int for part in value), event)

    # --- devices ------------------------------------------------------------------------------------------------------

    def _method_changed(self, event: Entry) -> None:
        self._method = Method(event.data["method"])
        self.recoveries["other ways of dealing"] += 1

    def _out_of(self, event: Entry) -> None:
        self._out_of_service.add(event.data["device"])

    def _into(self, event: Entry) -> None:
        self._out_of_service.discard(event.data["device"])

    def _booted(self, event: Entry) -> None:
        if event.kind == "device.connected":
            self.recoveries["devices greeted"] += 1
        self._boots[event.data["device"]] = event.data["boot"]

    def _turn_passed(self, event: Entry) -> None:
        """Two decks alternate. A single deck is always next; when a second one joins it, either may go first."""
        alone = [*self._backs.values()] == [event.data["back"]]
        one_is_used = "shuffler" in self._out_of_service or self.setup.shuffler is None
        self.check("due deck", alone and one_is_used, f"the turn passes while the table has {[*self._backs]}")
        self._last_back = ""

    # --- a round ------------------------------------------------------------------------------------------------------

    def _started(self, event: Entry) -> None:
        house, deck, cards = self.house, event.data["deck"], self.house.cards
        source = SOURCE.get(self._method, SHOE)
        pile = cards.pile(source)
        decks = decks_in(pile)
        two = len(self._backs) == 2
        self.rounds += 1
        self.check("due deck", decks == {deck}, f"deck {deck} is to be dealt, but {sorted(decks)} are in its place")
        due = not two or self._backs[deck] != self._last_back
        self.check("due deck", due, f"deck {deck} is dealt again out of its turn")
        self.check("allowed deck", deck not in self._out, f"deck {deck} is dealt although it is out")
        shuffler = None if "shuffler" in self._out_of_service else self.setup.shuffler
        self.check("due deck", not two or shuffler is not None, "two decks without a shuffler")
        if shuffler and shuffler.counts:
            counted = self._counted.get(deck)
            self.check("counted deck", counted == DECK_SIZE, f"deck {deck} is dealt with a count of {counted}")
            whole = len(pile) == DECK_SIZE or deck in self._excused
            self.check("whole deck", whole, f"{len(pile)} cards of deck {deck} are there")
            if shuffler.recognises:  # it sees a foreign card in the place of one of its own, where the number is right
                fits = tuple(cards.kinds(source)) == self.setup.game.copies or deck in self._excused
                self.check("whole deck", fits, f"the kinds of deck {deck} are", *cards.kinds(source))
        else:
            counted = self._counted.get(deck, DECK_SIZE)
            self.check("counted deck", counted == DECK_SIZE, f"deck {deck} is dealt with a count of {counted}")
            self.check("stub counted", self._uncounted < STUB_ROUNDS, f"{self._uncounted} rounds without a count")
            own = self._uncounted_of.get(deck, 0)
            self.check("stub counted", own < STUB_ROUNDS, f"{own} rounds of deck {deck} without a count")
        how = "machine" if deck in self._shuffled else self._by_hand.get(deck, "not at all")
        self.check("shuffled deck", how in ("machine", "cut"), f"deck {deck} was shuffled: {how}")
        life_s = self.setup.game.life_h[self._method] * HOUR_S
        age_s = house.now - self._first_dealt.setdefault(deck, house.now)
        self.check("young deck", age_s < life_s, f"deck {deck} is {age_s:.0f} s old")
        if two:
            other = next(name for name in self._backs if name != deck)
            there = self.cards_at(other, IN_SHUFFLER)
            self.check("other deck shuffled", there > 0, f"no card of deck {other} is in the shuffler")
            strange = self.house.stranger("shuffler") and house.now - self.house.exchanged_at["shuffler"] > NOTICED_S
            self.check("other deck shuffled", not strange, "another device is in the shuffler's place")
        racked = decks_in(cards.pile(_RACK)) - {deck}
        self.check("one deck in the rack", not racked, f"deck {deck} is dealt while {sorted(racked)} are in the rack")
        left = [*cards.spots(CardPlace.HAND), *cards.spots(CardPlace.EXIT)]
        self.check("table cleared", not left, "there are cards at", *left)
        standing = [key for key in self._warned if key.split(".")[0] not in self._out_of_service]
        self.check("no round under a warning", not standing, "a round starts under these warnings:", *standing)
        self._look_for_jams()
        self._shuffled.discard(deck)
        self._counted.pop(deck, None)
        self._by_hand.pop(deck, None)
        self._last_back = self._backs[deck] if two else ""
        self._uncounted += 1
        self._uncounted_of[deck] = self._uncounted_of.get(deck, 0) + 1
        self._wagers = set(event.data["seats"])
        self.wagered = False
        self._round = WitnessedRound(event)

    def _look_for_jams(self) -> None:
        for name, wired in self.house.wired.items():
            if not wired.device.mechanics.way_blocked or name in self._out_of_service:
                self._jammed_since.pop(name, None)
                continue
            since = self._jammed_since.setdefault(name, self.house.now)
            known = self.house.now - since < NOTICED_S
            self.check("no round under a warning", known, f"the {name} jammed {self.house.now - since:.0f} s ago")

    def _given(self, event: Entry) -> None:
        if event.data["command"]["name"] != "Dispense":
            return
        round_, target = self._round, event.data["target"]
        self.check("dealt in order", round_ is not None and target in round_.order, f"{target} is dealt to")
        assert round_ is not None
        at = round_.order.index(target)
        in_order = at >= round_.at or target in round_.owed
        self.check("dealt in order", in_order, f"{target} comes after {round_.order[round_.at]}")
        self.check("shuffled deck", not round_.spoilt, f"round {round_.number} is dealt: {round_.spoilt}")
        round_.at = max(round_.at, at)
        round_.owed.discard(target)

    def _face_up(self, event: Entry) -> None:
        if self._round:
            self._round.owed.add(event.data.get("target", ""))

    def _dealt(self, event: Entry) -> None:
        if self._round:
            self._round.dealt = True

    def _refused(self, event: Entry) -> None:
        """The table will not use the device that answers. A round cannot go on with another shoe."""
        if event.data["device"] == "shoe" and self._round and not self._round.dealt:
            self._round.spoilt = "its shoe was exchanged"
            if self._round.shoe_gone_at < 0:
                self._round.shoe_gone_at = self.house.now

    def _wagered(self, event: Entry) -> None:
        self.wagered = bool(event.data["seats"])

    def _idled(self, event: Entry) -> None:
        self.wagered = False

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
        self._turned_over.add(round_.number)

    def _requested(self, event: Entry) -> None:
        """Only a floorperson may request hands, with a reason, and only those of a void round."""
        number, who, reason = event.data["round"], event.data.get("who", ""), event.data.get("reason", "")
        self.check("no hidden card named", number in self._void_rounds, f"the hands of round {number} were requested")
        proper = who == WHO[Role.FLOOR] and bool(reason.strip())
        self.check("no hidden card named", proper, f"{who} requested the hands of round {number}: {reason!r}")
        self._turned_over.add(number)
        self.recoveries["hands requested"] += 1

    def _recognised(self, event: Entry) -> None:
        """What is recorded must have been turned over, and have been out of the shoe when the hand got its cards."""
        number, shown = event.data["round"], Counter(event.data["kinds"])
        self.check("no hidden card named", number in self._turned_over, f"a hand of round {number} is recorded")
        out = self._out_then.pop(event.data["command"], Counter())
        self.check("no undealt card named", shown <= out, f"{shown} was recorded, but only {out} had been turned over")

    def _collected(self, event: Entry) -> None:
        assert self._round is not None
        self._round.collected.add(event.data["target"])

    def _hand(self, round_: WitnessedRound, seat: int) -> None:
        number = self.house.cards.count(Spot(CardPlace.HAND, seat))
        good = number == STACK or round_.excused or round_.deck in self._excused
        self.check("stack of three", good, f"the hand at {seat} has {number} cards in round {round_.number}")

    def _taken(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        if "command" in event.data:
            spots = [*self.house.cards.spots(CardPlace.HAND), _RACK, FLOOR, *self.house.cards.spots(CardPlace.TABLE)]
            out = Counter(card.kind.name.lower().replace("_", " ") for card in self.piles(spots))
            self._out_then[event.data["command"]] = out
        hands = {int(spot.number) for spot in self.house.cards.spots(CardPlace.HAND)}
        good = hands <= {*round_.seats, DEALERS_SEAT}
        self.check("dealt in order", good, f"cards are at {sorted(hands)}, but {round_.seats} have wagered")

    def _completed(self, event: Entry) -> None:
        assert self._round is not None
        self.check("shuffled deck", not self._round.spoilt, f"round {self._round.number} counts: {self._round.spoilt}")
        self.completed += 1
        self._wagers = set()
        self._round = None

    def _voided(self, event: Entry) -> None:
        assert self._round is not None
        self._round.void_seq = event.seq
        self._void_rounds.add(self._round.number)
        self.voids[event.clause[0] if event.clause else "-"] += 1

    def _returned(self, event: Entry) -> None:
        void = self._round is not None and self._round.void_seq > 0
        self.check("void complete", void, "wagers go back without a void")
        self._wagers = set()

    def _void_done(self, event: Entry) -> None:
        assert self._round is not None
        deck = self._round.deck
        self.check("void complete", not self._wagers, f"wagers of {sorted(self._wagers)} are still on the table")
        places = (CardPlace.HAND, CardPlace.SHOE, CardPlace.HELD, EXITS["shoe"], CardPlace.RACK)
        left = self.cards_at(deck, places)
        self.check("void complete", not left, f"{left} cards of deck {deck} are in hands, shoe or rack")
        self.recoveries["voids completed"] += 1
        self._uncounted = self._uncounted_of[deck] = 0
        self._round = None

    # --- warnings -----------------------------------------------------------------------------------------------------

    def _raised(self, event: Entry) -> None:
        self._warned[event.data["warning"]] = event.data["gone"]
        device, _, what = event.data["warning"].rpartition(".")
        if what in _INCIDENTS:
            for deck in decks_in(self.piles(_HOLDS.get(device, ()))):
                self._unproven(deck, f"the warning {event.data['warning']} was raised")

    def _cause_gone(self, event: Entry) -> None:
        key = event.data["warning"]
        self.check("warning latched", key in self._warned, f"the cause of {key} is gone, but it was never raised")
        self._warned[key] = True
        device, _, what = key.partition(".")
        if what == "jam":
            blocked = self.house.wired[device].device.mechanics.way_blocked
            self.check("warning cleared rightly", not blocked, f"the {device} is still jammed")

    def _cleared(self, event: Entry) -> None:
        key, what = event.data["warning"], event.data["warning"].rpartition(".")[2]
        gone = self._warned.pop(key, None)
        self.check("warning cleared rightly", gone is True, f"{key} is cleared; cause gone: {gone}")
        who, role = event.data.get("who", ""), event.data.get("role", "")
        self.check(
            "warning cleared rightly", bool(who) and role in MAY_CLEAR[what], f"{key} is cleared by {who}, {role}"
        )
        self.recoveries["warnings cleared"] += 1
