"""Property test: random actions, devices, faults and times, and what must be true after every step."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.events.event import Entry
from controller.core.machines import DeviceState, TableState
from controller.core.reports import CommandReply, DeviceEvent
from controller.core.rules.guards import HOUR_MS
from controller.core.rules.locks import holds, not_to_be_dealt, to_be_locked
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import decode, encode
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Cycle, Outcome, Place, Reason
from tests.support.core_driver import WHO, House

SETUPS = [
    Setup(),
    Setup(hold_dealer=True),
    Setup(backs=("red",)),
    Setup(backs=("red",), shuffler=None),
    Setup(shuffler=ShufflerKind(counts=True)),
    Setup(shuffler=ShufflerKind(feeds_shoe=True)),
    Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None),
    Setup(method=Method.HAND, shuffler=ShufflerKind(counts=True)),
    Setup(method=Method.MANUAL_SHOE, shuffler=ShufflerKind(counts=True, reshuffles=True, feeds_shoe=True)),
]
FAULTS = ["jam", "incomplete", "stall", "fail", "miscount", "double", "short", "face_up", "two_face_up", "lose_card",
          "refuse:DOOR_OPEN", "refuse:OTHER_BOOT", "refuse:JAMMED", "refuse:NO_CARDS"]  # fmt: skip
COMMANDS = ["Shuffle", "Deliver", "Dispense", "Release", "Eject"]
DEVICES = st.sampled_from(["shuffler", "shoe"])
PLACES = ["seat1", "seat2", "dealer", "rack", "stub", "shoe", "shuffler", "missing", "hand"]
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "person": st.sampled_from(["flo", "dana", ""]),
    "back": st.sampled_from(["red", "blue"]),
    "prepared": st.booleans(),
    "came_from": st.sampled_from(["the card room", ""]),
    "good": st.just(True),
    "reason": st.just("bent"),
    "depth": st.sampled_from([5, 20]),
    "seats": st.sampled_from([(1,), (1, 2), (2, 6), (9,)]),
    "target": st.sampled_from(["seat1", "seat2", "dealer"]),
    "cards": st.sampled_from([0, 1, 2, 3, 44, 47]),
    "misdealt": st.booleans(),
    "place": st.sampled_from(PLACES),
    "device": DEVICES,
    "how": st.sampled_from(["covered", "removed", "marked"]),
    "method": st.sampled_from(Method),
    "round": st.integers(0, 3),
    "warning": st.sampled_from(["shuffler.jam", "shoe.jam", "shoe.lost", "shuffler.cycle", "red-1.count"]),
    "seat": st.sampled_from([1, 2, 6, 9]),
    "bet": st.sampled_from(["ante", "ante bonus", "three card bonus", "luck"]),
    "amount": st.sampled_from([-1, 0, 10, 20]),
    "cut_by": st.integers(0, 7),
    "kinds": st.sampled_from([("tiger", "panda", "rabbit"), ("gold dragon", "gold dragon", "tiger"), ("tiger",), ()]),
    "choice": st.sampled_from(["play", "forfeit", "swim"]),
    "number": st.sampled_from([0, 1, 4]),
    "irregularity": st.sampled_from(["foreign_card", "two_cards"]),
}
ACTIONS = [kind for kind in act.AnyAction.__args__ if kind is not act.Configure]


class Watch:
    """An independent check of the rules, from the events alone and without the core's code."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.mixed: dict[str, str] = {}  # deck → how it was shuffled since it was last dealt: machine, hand, cut
        self.counted: set[str] = set()
        self.out: set[str] = set()
        self.since: dict[str, int] = {}
        self.back: dict[str, str] = {}
        self.last_back = ""
        self.hands: dict[str, int] = {}
        self.wagers: set[int] = set()
        self.out_of_service: set[str] = set()
        self.uncounted_rounds = 0
        self.method = setup.method
        self.void: set[int] = set()
        self.turned_over: set[int] = set()  # rounds whose hands may be known

    def _see_hands(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "round.voided":
            self.void.add(data["round"])
        elif kind == "hands.requested":
            assert data["round"] in self.void
            self.turned_over.add(data["round"])
        elif kind == "dealer.revealed":
            self.turned_over.add(data["round"])
        elif kind in ("hand.recognised", "cards.entered", "cards.corrected"):
            assert data["round"] in self.turned_over
        elif kind == "hand.decided":
            assert not data["kinds"], "no card is named before the hands are turned over"
        else:
            assert "kinds" not in data, kind

    def see(self, event: Entry, house: House) -> None:
        """Check one event."""
        kind, data = event.kind, event.data
        deck = data.get("deck", "")
        if kind in ("deck.loaded", "round.started", "shuffle.started", "deck.inserted", "cut.made"):
            assert deck not in self.out, f"{kind} with a locked-out deck"
        self._see_hands(kind, data)
        if kind == "deck.received":
            assert deck not in self.back, "a deck arrives only once"
            self.back[deck] = data["back"]
        elif kind == "deck.accepted_prepared":
            self.mixed[deck] = "hand"
        elif kind == "shuffle.completed":
            self.mixed[deck] = "machine"
        elif kind == "deck.shuffled_by_hand":
            assert "shuffler" in self.out_of_service or self.setup.shuffler is None, "13.H"
            self.mixed[deck] = "hand"
            self.counted.discard(deck)
        elif kind == "cut.made":
            assert self.mixed[deck] in ("hand", "cut")
            assert data["depth"] >= 10
            self.mixed[deck] = "cut"
        elif kind in ("deck.recalled", "shuffle.started", "shuffle.failed"):
            if not (kind == "deck.recalled" and "5.G" in event.clause):
                self.mixed.pop(deck, None)
            else:
                self.mixed[deck] = "hand"
            self.counted.discard(deck)
        elif kind == "cut.recut_required":
            self.mixed[deck] = "hand"
        elif kind == "count.accepted":
            self.uncounted_rounds = 0
            if data["by"] == "shuffler":
                self.counted.add(deck)
        elif kind in ("deck.locked_out", "deck.removed"):
            self.out.add(deck)
        elif kind == "method.changed":
            self.method = Method(data["method"])
        elif kind == "device.out_of_service":
            assert data["who"] == WHO[Role.FLOOR]
            self.out_of_service.add(data["device"])
        elif kind == "device.in_service":
            self.out_of_service.discard(data["device"])
        elif kind == "stub.counted":
            self.uncounted_rounds = 0
        elif kind == "round.started":
            self._round(event)
        elif kind == "stack.taken":
            self.hands[data["target"]] = self.hands.get(data["target"], 0) + data["kept"]
            assert self.hands[data["target"]] <= 3 or any(e.kind == "round.voided" for e in house.last)
        elif kind == "dealing.completed":
            held = self.setup.hold_dealer and self.method is Method.AUTOMATED_SHOE
            dealt = {hand: number for hand, number in self.hands.items() if not (held and hand == "dealer")}
            assert dealt
            assert all(number == 3 for number in dealt.values()), "three cards in a stack"
        elif kind == "dealer.revealed":
            assert all(number == 3 for number in self.hands.values())
        elif kind == "wagers.returned":
            assert data["round"] in self.wagers
            self.wagers.remove(data["round"])
        elif kind == "round.completed":
            self.wagers.discard(data["round"])
            self.uncounted_rounds += 0
        elif kind == "void.completed":
            assert data["round"] not in self.wagers, "a void leaves no wager behind"

    def _round(self, event: Entry) -> None:
        data = event.data
        deck, at_ms = data["deck"], data["at_ms"]
        shuffler = self.setup.shuffler if "shuffler" not in self.out_of_service else None
        how = self.mixed.pop(deck, "not at all")
        assert how in ("machine", "cut") or (shuffler and shuffler.reshuffles and how == "hand"), f"shuffled {how}"
        if shuffler and shuffler.counts:
            assert deck in self.counted, "uncounted"
        else:
            assert self.uncounted_rounds < 5, "the sixth round without a count"
        self.counted.discard(deck)
        life = 4 if self.method is Method.HAND else 8
        assert at_ms - self.since.setdefault(deck, at_ms) < life * HOUR_MS, "over age"
        here = [name for name in self.back if name not in self.out]
        if len(here) == 2:
            assert shuffler is not None, "two decks without a shuffler"
            assert self.back[deck] != self.last_back, "only the deck whose turn it is"
        self.last_back = self.back[deck]
        self.hands = {}
        self.wagers.add(data["round"])
        self.uncounted_rounds += 1


class Rounds(RuleBasedStateMachine):
    """The state machine that hypothesis explores."""

    def __init__(self) -> None:
        super().__init__()
        self.house: House
        self.seen = 0
        self.fresh = 1

    @initialize(setup=st.sampled_from(SETUPS))
    def begin(self, setup: Setup) -> None:
        self.house = House(setup, recognises=True).open()
        self.house.kinds = [0, 2, 7]
        self.watch = Watch(setup)
        self._look()

    def _look(self) -> None:
        for event in self.house.events[self.seen :]:
            self.watch.see(event, self.house)
        self.seen = len(self.house.events)

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "house"):
            return
        self.house.check()
        state = self.house.state
        assert encode(decode(encode(state))) == encode(state)
        self._look()
        assert self.house.table.next_step().text
        for name, device in state.devices.items():
            if device.online:
                assert (
                    device.locked is to_be_locked(state, name, holds(not_to_be_dealt(state), name))
                    or not device.can_lock
                )
                assert device.locked is self.house.devices[name].locked or not self.house.answers
                assert not (device.locked and device.state is DeviceState.WORKING)
        rack = [name for name, deck in state.decks.items() if deck.cards.get("rack")]
        assert len(rack) <= 1, "one deck in the rack"
        assert not (self.house.at() is TableState.BETTING and state.warnings and self._blocks())

    def _blocks(self) -> bool:
        from controller.core.rules.guards import blocking

        return bool(blocking(self.house.state))

    # --- people -----------------------------------------------------------------------------------------------------

    @rule()
    def a_good_round(self) -> None:
        house = self.house
        house.auto_work = house.auto_take = True
        if house.at() is TableState.BETTING:
            house.attempt(act.CloseBets, (1, 2))
            if house.at() is TableState.DEALING and house.state.method != "automated_shoe":
                house.deal_by_hand()

    @rule(steps=st.integers(1, 25))
    def good_people(self, steps: int) -> None:
        house = self.house
        house.auto_work = house.auto_take = True
        for _ in range(steps):
            state = house.state
            if state.table is TableState.BETTING:
                return
            if state.table in (TableState.ACTING, TableState.REVEALING, TableState.CLEARING):
                self._settle()
            elif not house.do_next_task():
                self._bring_decks()

    def _settle(self) -> None:
        house = self.house
        round_ = house.state.round
        assert round_ is not None
        for kind in (act.RemoveStub, act.CountStub, act.PlayersActed, act.RevealDealer, act.CollectAll):
            if kind is act.CountStub:
                house.attempt(kind, house.state.decks[round_.deck].cards.get("stub", 0))
                continue
            if kind is act.RemoveStub and house.state.method is not Method.AUTOMATED_SHOE:
                house.move_all("manual_shoe", "rack")
                house.move_all("hand", "rack")
            if kind is act.CollectAll and house.at() is TableState.CLEARING:
                for target in {stack.target for stack in round_.plan}:
                    house.move(round_.deck, target, "rack", 60)
            house.attempt(kind)

    def _bring_decks(self) -> None:
        house = self.house
        backs = {deck.back for deck in house.state.decks.values()}
        for back in house.setup.backs:
            if back not in backs:
                self.fresh += 1
                name = f"{back}-{self.fresh}"
                house.cards[name] = {"table": 53}
                house.attempt(act.ReceiveDeck, name, back)

    @rule(data=st.data(), kind=st.sampled_from(ACTIONS), role=st.sampled_from(Role))
    def somebody_does_something(self, data: st.DataObject, kind: type[act.Action], role: Role) -> None:
        house = self.house
        role = role if role in kind.roles or data.draw(st.booleans()) else kind.roles[0]
        fields: dict[str, Any] = {}
        for name in kind.__struct_fields__:
            if name == "deck":
                self.fresh += 1
                fresh = f"new-{self.fresh}"
                fields[name] = fresh if kind is act.ReceiveDeck else data.draw(st.sampled_from([*house.cards]))
            elif name in FIELDS:
                fields[name] = data.draw(FIELDS[name])
        if kind is act.ReceiveDeck:
            house.cards.setdefault(fields["deck"], {"table": 53})
        house.do(kind(**fields, who=WHO[role], role=role))

    # --- devices ----------------------------------------------------------------------------------------------------

    @rule(device=DEVICES, command=st.sampled_from(COMMANDS), fault=st.sampled_from(FAULTS))
    def a_fault_waits(self, device: str, command: str, fault: str) -> None:
        self.house.faults[device, command] = fault

    @precondition(lambda self: bool(getattr(self, "house", None) and self.house.devices))
    @rule(device=DEVICES, what=st.sampled_from(["lose", "connect", "restart", "slow", "fast", "leave", "take"]))
    def a_device_comes_or_goes(self, device: str, what: str) -> None:
        house = self.house
        if device not in house.devices:
            return
        if what == "lose":
            house.disconnect(device)
        elif what == "connect":
            house.connect(device)
        elif what == "restart":
            house.devices[device].failed = False
            house.restart(device)
        elif what in ("slow", "fast"):
            house.auto_work = what == "fast"
        else:
            house.auto_take = what == "take"

    @rule(device=DEVICES, kind=st.integers(0, 7), command=st.integers(0, 400), cards=st.integers(-1, 54),
          place=st.sampled_from([Place.EXIT, Place.HELD, Place.INFEED, Place.SHOE]))  # fmt: skip
    def a_device_says_anything(self, device: str, kind: int, command: int, cards: int, place: Place) -> None:
        house = self.house
        if device not in house.devices or not house.devices[device].online:
            return
        found = house.state.devices[device]
        known = found.doing or found.at_exit
        id = known.id if known and command % 2 else command
        number = house.devices[device].number = house.devices[device].number + 1
        base: dict[str, Any] = {"number": number, "at_ms": 0}
        events: list[Callable[[], Any]] = [
            lambda: wire.Jam(**base, command=id, place=place),
            lambda: wire.StackTaken(**base, command=id, place=Place.EXIT, cards=cards),
            lambda: wire.StackPresented(**base, command=id, place=place, cards=cards),
            lambda: wire.CycleDone(
                **base, command=id, cycle=Cycle.SHUFFLE, outcome=Outcome(cards % 5), cards=cards, duration_ms=0
            ),
            lambda: wire.Fault(**base, code=wire.FaultCode.MOTOR),
            lambda: wire.CardsPresent(**base, place=place, present=cards > 3),
            lambda: wire.CardFaceUp(**base, command=id, place=place, kind=cards % 8),
            lambda: wire.PowerUp(**base, cause=wire.PowerCause.RESET, memory_kept=cards > 0),
        ]
        event = events[kind]()
        if kind == 0:
            house.devices[device].jammed = True
        elif kind == 7 and cards > 0:
            house.devices[device].locked = False  # a device is not locked when it is switched on
        house.handle(DeviceEvent(device, house.devices[device].boot, event))

    @rule(device=DEVICES, command=st.integers(0, 400), reason=st.sampled_from([None, *Reason]))
    def a_device_answers_anything(self, device: str, command: int, reason: Reason | None) -> None:
        found = self.house.state.devices.get(device)
        id = found.doing.id if found and found.doing else command
        if found and any(given.id == id for given in found.beside):
            return  # the device carries these out, and answers them itself
        if reason is Reason.LOCKED and found and found.doing and not found.doing.answered:
            self.house.devices[device].locked = True  # what it says about itself is true
        self.house.handle(CommandReply(device, id, wire.Refused(id, reason) if reason else wire.Done(id)))

    @rule(seconds=st.sampled_from([1, 12, 200, 3600, 4 * 3600]))
    def time_passes(self, seconds: int) -> None:
        self.house.tick(seconds)
        assert self.house.table.deadline > self.house.now - 1 or self.house._todo

    @rule(place=st.sampled_from(["output", "shoe", "seat1", "table"]))
    def a_card_falls(self, place: str) -> None:
        for deck, cards in self.house.cards.items():
            if cards.get(place):
                self.house.move(deck, place, "floor", 1)
                return

    # --- at the end ---------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """Whatever has happened, people who follow the rules bring the table back into play."""
        if not hasattr(self, "house"):
            return
        house = self.house
        house.faults.clear()
        house._todo.clear()
        house.auto_work = house.auto_take = True
        for name, device in house.devices.items():
            device.failed = device.door_open = False
            house.restart(name)
        if house.at() is TableState.CLOSED:
            house.ask(act.OpenTable)
        for _ in range(400):
            if house.at() is TableState.BETTING:
                break
            self._rescue()
            self.holds()
        assert house.at() is TableState.BETTING, (house.table.next_step(), house.state)

    def _rescue(self) -> None:
        house, state = self.house, self.house.state
        for name, device in state.devices.items():
            if device.state is DeviceState.OUT_OF_SERVICE:
                house.attempt(act.PutInService, name)
        if state.table is TableState.DEALING:
            if state.method is Method.AUTOMATED_SHOE:
                if not house.do_next_task():
                    house.attempt(act.ReportDealerExposed)
            else:
                house.deal_by_hand()
        elif state.table in (TableState.ACTING, TableState.REVEALING, TableState.CLEARING):
            before = len(house.events)
            self._settle()
            if not any(e.kind not in ("action.refused",) for e in house.events[before:]) and not house.do_next_task():
                house.attempt(act.ReportWrongNumber, "dealer", 2)
        elif state.table is TableState.IDLE:
            if not house.do_next_task():
                for name in list(state.decks):
                    house.attempt(act.SpreadDeck, name)
                house.attempt(act.PlayerArrived)
        elif not house.do_next_task():
            self._bring_decks()
            for name in list(state.decks):
                old = [e for e in house.attempt(act.InsertDeck, name) if "3.C" in e.clause]
                if old or "remove" in house.table.next_step().text:
                    house.attempt(act.UnloadDeck, name)
                    for _ in range(20):
                        house.do_next_task()
                    house.attempt(act.RemoveDeck, name)
            if state.method is not house.setup.method:
                for name in list(state.decks):
                    house.attempt(act.UnloadDeck, name)
                house.attempt(act.ChangeMethod, house.setup.method)
            house.tick()


Rounds.TestCase.settings = settings(
    max_examples=int(os.environ.get("EXAMPLES", "70")),  # more with `make test-campaign`
    stateful_step_count=40,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # a failing example is shown unshortened: shrinking it takes minutes
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestRounds = Rounds.TestCase
