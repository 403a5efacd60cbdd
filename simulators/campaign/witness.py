"""The witness of a campaign: checks what devices do and what the table decides against the physical cards.

It uses neither the core's guards nor the guide; each rule is stated again, in terms of what was observed.
"""

# mypyc
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from controller.core import ledger
from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.setup import ShufflerKind
from controller.games.game import Method
from controller.journal import JournalReader
from firmware_bridge.wire.messages import AnyCommand, Dispense, DispenseFaceUp, Release, Shuffle
from simulators.campaign.checks import FLOOR, IN_SHUFFLER
from simulators.campaign.deck_witness import EXITS, HELD, OUTPUT, SHOE, WitnessedRound
from simulators.campaign.games import campaign_game
from simulators.campaign.games.model import GameWitness
from simulators.campaign.hand_witness import HandWitness
from simulators.campaign.luck import Shift
from simulators.devices.cards import CardPlace, Spot
from simulators.table.hands import SOURCE, hand

MOST_LOST: Final = 3  # cards that a device loses in one cycle, or puts out too many
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
_NUMBERED = frozenset({"seats", "wagers", "longest_ms", "counts"})  # lists of numbers that are not cards
# After these warnings, cards inside the device prove nothing.
_INCIDENTS = frozenset({"jam", "restart", "door", "gap", "fail", "refused"})
_HOLDS = {"shoe": (SHOE, HELD, EXITS["shoe"]), "shuffler": (OUTPUT, EXITS["shuffler"])}
_BESIDE = frozenset(hand(name) for name in (ledger.DISCARDS, ledger.BURNT))
_INFEED, _RACK = Spot(CardPlace.INFEED), Spot(CardPlace.RACK)


class Witness(HandWitness):
    """Observes devices and decisions, and raises Broken when a check fails."""

    def __init__(self, shift: Shift) -> None:
        super().__init__(shift)
        witness = campaign_game(shift.game).witness
        self.made.update(dict.fromkeys(witness.checks, 0))
        self.game: GameWitness = witness(self)
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
            "card.due": self._due,
            "card.requested": self._due,
            "hand.decided": self._decided,
            "decision.taken_back": self._taken_back,
            "cards.seen": self._seen_by_shoe,
            "cards.entered": self._entered,
            "cards.corrected": self._corrected,
            "round.settled": self._settled,
            "cut_card.appeared": self._finishes,
            "deck.finished": self._finishes,
            "deck.recut_ordered": self._recut_ordered,
            "device.refused": self._refused,
            "seats.wagered": self._wagered,
            "bet.recorded": self._bet,
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
            for deck in self.decks_in(pile):
                self.check("allowed deck", deck not in self._out, f"deck {deck} is shuffled")
                self._shuffled.discard(deck)
                self._counted.pop(deck, None)
                self._excused.discard(deck)
                self._order[deck] = pile
        elif isinstance(command, Dispense | DispenseFaceUp | Release):
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

    def _deals(self, command: Dispense | DispenseFaceUp | Release) -> None:
        round_ = self._round
        on = round_ is not None and command.id > round_.seq and (not round_.void_seq or command.id < round_.void_seq)
        self.check("due deck", on, f"the shoe deals for command {command.id} without a round")
        assert round_ is not None
        pile = self.house.cards.pile(HELD if isinstance(command, Release) else SHOE)
        decks = self.decks_in(pile)
        if isinstance(command, DispenseFaceUp):
            self._faced[command.id] = pile[: command.cards + MOST_LOST]  # others may come out, or fall
        good = decks == {round_.deck} or round_.deck in self.unreported()
        self.check("due deck", good, f"deck {round_.deck} is dealt; the shoe has {sorted(decks)}")
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
            see = self._see.get(event.kind)
            if see:
                see(event)
            self.game.saw(event, self._round)
            if event.kind not in _NO_CARDS:
                self._undealt(event)
            self.check("event kept", event.seq == self._seen, f"event {event.seq} is at position {self._seen}")
        for name, deck in state.decks.items():
            total = sum(deck.cards.values())
            self.check("ledger adds up", total == self.deck_size, f"deck {name} has {total} cards:", deck.cards)
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
        """An event names only cards that were turned over in this round, or that somebody named by mistake."""
        data = event.data
        if event.kind == "hand.recognised":
            data = {key: value for key, value in data.items() if key != "kinds"}
        hidden = event.kind == "stack.taken" and not set(data.get("kinds", ())) <= self._open | self.spoken
        self.check("no hidden card named", not hidden, event)
        hidden_names = self.named(data) - self._open - self.spoken
        kinds = data.get("kinds", ())
        unknown = not set(kinds) <= self._open | self.spoken
        self.check("no undealt card named", not hidden_names and not unknown and "kind" not in data, event)
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
        decks = self.decks_in(cards.pile(SOURCE.get(self._method, SHOE)))
        two = len(self._backs) == 2
        self.rounds += 1
        good = decks == {deck} or deck in self.unreported()
        self.check("due deck", good, f"deck {deck} is to be dealt, but {sorted(decks)} are in its place")
        if self._in_play:
            self.check("due deck", deck == self._in_play, f"deck {deck} is dealt before {self._in_play} is finished")
        due = not two or bool(self._in_play) or self._backs[deck] != self._last_back
        self.check("due deck", due, f"deck {deck} is dealt again out of its turn")
        self.check("allowed deck", deck not in self._out, f"deck {deck} is dealt although it is out")
        shuffler = None if "shuffler" in self._out_of_service else self.setup.shuffler
        alone = self.game.one_deck_without_shuffler and shuffler is None
        self.check("due deck", not two or not alone, "two decks without a shuffler")
        if not self._in_play:
            self._finished = ""
            self._begun(deck, shuffler)
        hours = self.setup.game.life_h.get(self._method)
        age_s = house.now - self._first_dealt.setdefault(deck, house.now)
        self.check("young deck", hours is None or age_s < hours * HOUR_S, f"deck {deck} is {age_s:.0f} s old")
        if two and self.game.other_deck_in_shuffler:
            other = next(name for name in self._backs if name != deck)
            there = self.cards_at(other, IN_SHUFFLER)
            self.check("other deck shuffled", there > 0, f"no card of deck {other} is in the shuffler")
            strange = self.house.stranger("shuffler") and house.now - self.house.exchanged_at["shuffler"] > NOTICED_S
            self.check("other deck shuffled", not strange, "another device is in the shuffler's place")
        racked = self.decks_in(cards.pile(_RACK)) - {deck}
        self.check("one deck in the rack", not racked, f"deck {deck} is dealt while {sorted(racked)} are in the rack")
        left = [*cards.spots(CardPlace.HAND), *cards.spots(CardPlace.EXIT)]
        if not self.game.other_deck_in_shuffler:  # the other deck may wait at the shuffler's exit
            left = [spot for spot in left if spot != EXITS["shuffler"]]
        self.check("table cleared", not left, "there are cards at", *left)
        standing = [key for key in self._warned if key.split(".")[0] not in self._out_of_service]
        self.check("no round under a warning", not standing, "a round starts under these warnings:", *standing)
        self._look_for_jams()
        self._shuffled.discard(deck)
        self._counted.pop(deck, None)
        self._by_hand.pop(deck, None)
        self._last_back = self._backs[deck] if two else ""
        first = not self._in_play
        self._in_play = deck if self.setup.game.keeps_dealing else ""
        self._uncounted += 1
        self._uncounted_of[deck] = self._uncounted_of.get(deck, 0) + 1
        self._wagers = set(event.data["seats"])
        self.wagered = False
        self._open.clear()
        self._faced.clear()
        self._round = WitnessedRound(event)
        self._round.first = first
        self.game.started(self._round)

    def _begun(self, deck: str, shuffler: ShufflerKind | None) -> None:
        """The first round since its shuffle is dealt from a deck."""
        if deck in self.unreported():
            return
        source, size = SOURCE.get(self._method, SHOE), self.deck_size
        pile = self.house.cards.pile(source)
        if shuffler and shuffler.counts:
            counted = self._counted.get(deck)
            self.check("counted deck", counted == size, f"deck {deck} is dealt with a count of {counted}")
            whole = len(pile) == size or deck in self._excused
            self.check("whole deck", whole, f"{len(pile)} cards of deck {deck} are there")
            if shuffler.recognises:  # it sees a foreign card in the place of one of its own, where the number is right
                kinds = self.house.cards.kinds(source)
                fits = tuple(kinds) == self.setup.game.copies or deck in self._excused
                self.check("whole deck", fits, f"the kinds of deck {deck} are", *kinds)
        else:
            counted = self._counted.get(deck, size)
            self.check("counted deck", counted == size, f"deck {deck} is dealt with a count of {counted}")
            most = self.game.stub_rounds
            self.check("stub counted", not most or self._uncounted < most, f"{self._uncounted} rounds without a count")
            own = self._uncounted_of.get(deck, 0)
            self.check("stub counted", not most or own < most, f"{own} rounds of deck {deck} without a count")
        how = "machine" if deck in self._shuffled else self._by_hand.get(deck, "not at all")
        self.check("shuffled deck", how in ("machine", "cut"), f"deck {deck} was shuffled: {how}")

    def _look_for_jams(self) -> None:
        for name, wired in self.house.wired.items():
            if not wired.device.mechanics.way_blocked or name in self._out_of_service:
                self._jammed_since.pop(name, None)
                continue
            since = self._jammed_since.setdefault(name, self.house.now)
            known = self.house.now - since < NOTICED_S
            self.check("no round under a warning", known, f"the {name} jammed {self.house.now - since:.0f} s ago")

    def _given(self, event: Entry) -> None:
        if event.data["command"]["name"] not in ("Dispense", "DispenseFaceUp"):
            return
        round_, target = self._round, event.data["target"]
        self.check("dealt in order", round_ is not None and target in round_.targets, f"{target} is dealt to")
        assert round_ is not None
        later = [at for at in range(round_.at, len(round_.plan)) if round_.plan[at].target == target]
        in_order = bool(later) or target in round_.owed
        self.check("dealt in order", in_order, f"{target} comes after {round_.plan[round_.at].target}")
        self.check("shuffled deck", not round_.spoilt, f"round {round_.number} is dealt: {round_.spoilt}")
        round_.at = later[0] if later else round_.at
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

    def _bet(self, event: Entry) -> None:
        self.wagered = self.wagered or event.data["amount"] > 0

    def _idled(self, event: Entry) -> None:
        self.wagered = False

    def _acted(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        round_.acted = True
        self._whole(late=False)

    def _revealed(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        self._whole(late=True)
        self._turned_over.add(round_.number)
        for target in round_.targets - round_.collected:
            self._turn_over(self.pile_of(target))

    def _collected(self, event: Entry) -> None:
        assert self._round is not None
        self._round.collected.add(event.data["target"])

    def _taken(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        if "command" in event.data:
            spots = [*self.house.cards.spots(CardPlace.HAND), _RACK, FLOOR, *self.house.cards.spots(CardPlace.TABLE)]
            out = Counter(self.kind(card) for card in self.piles(spots))
            self._out_then[event.data["command"]] = out
        hands = set(self.house.cards.spots(CardPlace.HAND))
        good = hands <= {hand(target, self.setup.game) for target in round_.targets} | _BESIDE
        self.check("dealt in order", good, f"cards are at {sorted(hands)}, but {round_.seats} have wagered")
        target, kept = event.data["target"], event.data["kept"]
        if not round_.void_seq:
            round_.dealt_to[target] += kept
            if any(stack.target == target and stack.face_up for stack in round_.plan):
                newest = self.pile_of(target)[:kept]
                self._turn_over(newest)
                if event.data.get("kinds"):
                    self._known(target, event.data["kinds"], newest)

    def _completed(self, event: Entry) -> None:
        assert self._round is not None
        self.check("shuffled deck", not self._round.spoilt, f"round {self._round.number} counts: {self._round.spoilt}")
        self.completed += 1
        self._wagers = set()
        self._round = None
        if event.data.get("then") != "loaded":
            self._in_play = ""

    def _voided(self, event: Entry) -> None:
        assert self._round is not None
        self._round.void_seq = event.seq
        self._round.keeps = event.data.get("keeps", False)
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
        self.recoveries["voids completed"] += 1
        if not self._round.keeps:  # else its hands are collected, which the start of the next round shows
            self._leaves_play(deck)
            places = (CardPlace.HAND, CardPlace.SHOE, CardPlace.HELD, EXITS["shoe"], CardPlace.RACK)
            left = self.cards_at(deck, places)
            self.check("void complete", not left, f"{left} cards of deck {deck} are in hands, shoe or rack")
            self._uncounted = self._uncounted_of[deck] = 0
        self._round = None

    # --- warnings -----------------------------------------------------------------------------------------------------

    def _raised(self, event: Entry) -> None:
        self._warned[event.data["warning"]] = event.data["gone"]
        device, _, what = event.data["warning"].rpartition(".")
        if what in _INCIDENTS:
            for deck in self.decks_in(self.piles(_HOLDS.get(device, ()))):
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
