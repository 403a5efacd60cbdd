"""Drives the core in tests, with simulated devices, people and physical cards.

Devices and people move the cards of `House.cards` and report to the core what they observe, so the core's ledger can be
compared with where the cards really are. `House.check` compares the state with that rebuilt from all events.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from controller.core import actions as act
from controller.core.actions import Action, Role
from controller.core.apply import apply, fold
from controller.core.events.event import Entry
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.reports import CardsRecognised, CommandReply, DeviceEvent, DeviceReady, LinkLost, Report, Tick
from controller.core.rules.guards import in_service
from controller.core.rules.opening import packed_counts
from controller.core.rules.shuffling import waits_for_shuffler
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import Given, State, decode, encode, pending_of, questions_of
from controller.core.table import Table
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Capability, Cycle, Outcome, Place, Reason

WHO = {Role.DEALER: "dana", Role.FLOOR: "flo", Role.TECHNICIAN: "tess", Role.AUDITOR: "ada"}
INSIDE = {"shuffler": ("infeed", "shelves", "output"), "shoe": ("shoe", "held")}
EXIT = {"shuffler": "tray", "shoe": "exit"}
BESIDE = ("Lock", "Unlock", "Indicate")
SIDE = (Capability.LOCKS, Capability.INDICATES)
CYCLE = {
    "Shuffle": Cycle.SHUFFLE, "Deliver": Cycle.DELIVER, "Dispense": Cycle.DISPENSE, "Release": Cycle.RELEASE,
    "Eject": Cycle.EJECT, "ClearJam": Cycle.CLEAR_JAM, "SelfTest": Cycle.SELF_TEST,
}  # fmt: skip


@dataclass
class FakeDevice:
    """What a device remembers."""

    boot: int
    number: int = 0
    online: bool = False
    jammed: bool = False
    failed: bool = False
    door_open: bool = False
    locked: bool = False
    shows: str = ""
    presented_by: int = 0
    last_command: int = 0
    knows: dict[int, list[int]] = field(default_factory=dict)  # the cards it has dealt, by command
    waiting: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # commands not carried out yet


def capabilities(setup: Setup, device: str) -> tuple[int, ...]:
    """What a device that fits this set-up can do."""
    if device == "shoe":
        return (Capability.COUNTS, Capability.HOLDS_STACK, *SIDE)
    kind = setup.shuffler or ShufflerKind()
    pairs = {Capability.COUNTS: kind.counts, Capability.FEEDS_SHOE: kind.feeds_shoe,
             Capability.RESHUFFLES: kind.reshuffles, Capability.RECOGNISES: kind.recognises}  # fmt: skip
    return (*(capability for capability, has in pairs.items() if has), *SIDE)


class House:
    """A table with its people, devices and cards."""

    def __init__(self, setup: Setup | None = None, *, connect: bool = True, recognises: bool = False) -> None:
        self.setup = setup or Setup()
        self.recognises = recognises  # the shoe
        self.table = Table()
        self.now = 0.0
        self.events: list[Entry] = []
        self.last: list[Entry] = []
        self.folded = State()
        self.cards: dict[str, dict[str, int]] = {}  # deck → place → cards, as they really are
        self.devices: dict[str, FakeDevice] = {}
        self.faults: dict[tuple[str, str], str] = {}  # (device, command) → what goes wrong with the next one
        self.auto_work = True  # devices carry out commands without `step`
        self.answers = True  # devices accept lock and light commands
        self.auto_take = True  # the dealer takes cards at an exit without being asked
        self.kinds: list[int] = []  # what a recognising shoe sees next
        self.asked: list[int] = []  # the commands that a shoe was asked about
        self.shuffled_kinds: list[int] = list(self.setup.game.copies)
        self._todo: deque[tuple[str, int, dict[str, Any]]] = deque()
        self._side: deque[tuple[str, int, dict[str, Any]]] = deque()  # lock and light commands: also while busy
        self._busy = False
        self.do(act.Configure(setup=self.setup, who="tess", role=Role.TECHNICIAN))
        if connect:
            for name in self.table.state.devices:
                self.connect(name)

    # --- reports ----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The table's state."""
        return self.table.state

    def at(self) -> TableState:
        """What the table is doing now."""
        return self.state.table

    def deck(self, name: str) -> DeckState:
        """Where a deck is now."""
        return self.state.decks[name].state

    def device(self, name: str) -> DeviceState:
        """The state of a device now."""
        return self.state.devices[name].state

    def handle(self, report: Report) -> list[Entry]:
        """Handle a report, then let the devices and the dealer react."""
        self.now += 1.0
        made = self.table.handle(report, self.now)
        self._keep(made)
        while self._side and self.answers:
            self._lock_or_show(*self._side.popleft())
        self._run()
        self._ask()
        return made

    def _keep(self, made: list[Entry]) -> None:
        self.last = made
        self.events += made
        for event in made:
            apply(self.folded, event)
            if event.kind == "command.given" and event.data["command"]["name"] in BESIDE:
                self._side.append((event.data["device"], event.seq, event.data["command"]))
            elif event.kind == "command.given":
                self._todo.append((event.data["device"], event.seq, event.data["command"]))
            assert not event.kind.startswith("ledger.broken"), event

    def check(self) -> None:
        """Check what must be true after every report."""
        assert encode(self.folded) == encode(self.state)
        for name, deck in self.state.decks.items():
            assert sum(deck.cards.values()) == self.setup.game.deck_size, name
            assert all(n > 0 for place, n in deck.cards.items() if place not in ("missing", "gone")), deck.cards

    def _run(self) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            while True:
                if self._todo and self.auto_work:
                    self._carry_out(*self._todo.popleft())
                elif not (self.auto_take and self.auto_work and self._take_any()):
                    break
        finally:
            self._busy = False

    def step(self) -> None:
        """One device carries out one command; for use when `auto_work` is off."""
        self._busy = True
        self._carry_out(*self._todo.popleft())
        self._busy = False

    def report(self, name: str, event_type: type[wire.EventMessage], /, **fields: Any) -> None:
        """A device reports an event."""
        device = self.devices[name]
        device.number += 1
        if device.online:
            event: Any = event_type(number=device.number, at_ms=0, **fields)
            self.handle(DeviceEvent(name, device.boot, event))

    def tick(self, seconds: float = 0.0) -> list[Entry]:
        """Time passes."""
        self.now += seconds
        return self.handle(Tick())

    # --- devices ----------------------------------------------------------------------------------------------------

    def connect(self, name: str, *, boot: int | None = None) -> list[Entry]:
        """A device connects; with a new boot number it has restarted."""
        device = self.devices.setdefault(name, FakeDevice(boot or 1000 + len(self.devices)))
        if boot and boot != device.boot:
            self.devices[name] = device = FakeDevice(boot, jammed=device.jammed, presented_by=0)
        device.online = True
        can = capabilities(self.setup, name)
        if name == "shoe" and self.recognises:
            can = (*can, Capability.RECOGNISES)
        made = self.handle(DeviceReady(name, device.boot, can, last_command=0))
        for id, command in device.waiting:
            (self._side if command["name"] in BESIDE else self._todo).append((name, id, command))
        device.waiting = []
        self._run()
        return made

    def restart(self, name: str) -> list[Entry]:
        """The power went off and on."""
        self._todo = deque(todo for todo in self._todo if todo[0] != name)
        self._side = deque(todo for todo in self._side if todo[0] != name)
        return self.connect(name, boot=self.devices[name].boot + 1)

    def disconnect(self, name: str) -> list[Entry]:
        """The cable is out."""
        self.devices[name].online = False
        return self.handle(LinkLost(name))

    def _answer(self, name: str, id: int, reason: Reason | None = None) -> None:
        self.handle(CommandReply(name, id, wire.Refused(id, reason) if reason else wire.Done(id)))

    def _lock_or_show(self, name: str, id: int, command: dict[str, Any]) -> None:
        """Carry out a lock or light command: not a cycle, and no time passes."""
        device, kind = self.devices[name], command["name"]
        if not device.online:
            device.waiting.append((id, command))
            return
        fault = self.faults.pop((name, kind), "")
        answer = wire.Refused(id, Reason[fault[7:]]) if fault.startswith("refuse:") else wire.Done(id)
        device.last_command = max(device.last_command, id)
        self._keep(self.table.handle(CommandReply(name, id, answer), self.now))
        if fault:
            return
        if kind == "Indicate":
            device.shows = wire.Light(command["light"]).name
            return
        device.locked = kind == "Lock"
        device.number += 1
        door = wire.DoorState.LOCKED if device.locked else wire.DoorState.UNLOCKED
        event = DeviceEvent(name, device.boot, wire.Door(device.number, 0, door))
        self._keep(self.table.handle(event, self.now))

    def _carry_out(self, name: str, id: int, command: dict[str, Any]) -> None:
        device, kind = self.devices[name], command["name"]
        if not device.online:
            device.waiting.append((id, command))
            return None
        fault = self.faults.pop((name, kind), "")
        device.last_command = id
        if fault.startswith("refuse:"):
            return self._answer(name, id, Reason[fault[7:]])
        hindrance = self._hindrance(name, device, command)
        if hindrance:
            return self._answer(name, id, hindrance)
        self._answer(name, id)
        if fault == "stall":
            return None
        if fault == "jam":
            device.jammed = True
            self.report(name, wire.Jam, command=id, place=Place.UNKNOWN)
            return self._done(name, id, kind, Outcome.JAMMED, -1)
        if fault in ("incomplete", "stopped", "fail"):
            outcome = {"incomplete": Outcome.INCOMPLETE, "stopped": Outcome.STOPPED, "fail": Outcome.FAILED}[fault]
            device.failed = fault == "fail"
            return self._done(name, id, kind, outcome, -1)
        outcome, cards = getattr(self, f"_{kind.lower()}")(name, id, command, fault)
        return self._done(name, id, kind, outcome, cards)

    def _hindrance(self, name: str, device: FakeDevice, command: dict[str, Any]) -> Reason | None:
        kind = command["name"]
        if device.failed:
            return Reason.FAILED
        if device.jammed and kind != "ClearJam":
            return Reason.JAMMED
        if device.locked:
            return Reason.LOCKED
        if kind == "ClearJam":
            return None if device.jammed else Reason.NOT_JAMMED
        if device.door_open:
            return Reason.DOOR_OPEN
        if kind != "SelfTest" and kind not in ("Shuffle",) and not command.get("hold") and self.count(EXIT[name]):
            return Reason.EXIT_OCCUPIED
        if kind == "Shuffle" and self.count("shelves", "output"):
            return Reason.OUTPUT_OCCUPIED
        if kind == "Eject" and not self.count(*INSIDE[name]):
            return Reason.NO_CARDS
        need = {"Shuffle": "infeed", "Deliver": "output", "Release": "held", "Dispense": "shoe"}.get(kind)
        if need and self.count(need) < command.get("cards", 1):
            return Reason.NOTHING_HELD if kind == "Release" else Reason.NO_CARDS
        return None

    def _done(self, name: str, id: int, kind: str, outcome: Outcome, cards: int) -> None:
        self.report(name, wire.CycleDone, command=id, cycle=CYCLE[kind], outcome=outcome, cards=cards, duration_ms=1)

    def _shuffle(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        if fault == "lose_card":
            self.move(self._deck_at("infeed"), "infeed", "floor", 1)
        self.move_all("infeed", "output")
        if fault == "face_up":
            self.report(name, wire.CardFaceUp, command=id, place=Place.OUTPUT, kind=3)
        counted = self.count("output") + (1 if fault == "miscount" else 0)
        kind = self.setup.shuffler
        if not (kind and kind.counts):
            return Outcome.COMPLETE, -1
        kinds = self.shuffled_kinds if kind.recognises else []
        self.report(name, wire.CardsCounted, command=id, place=Place.OUTPUT, cards=counted, kinds=kinds)
        return Outcome.COMPLETE, counted

    def _deliver(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        kind = self.setup.shuffler
        assert kind is not None
        target = ({"automated_shoe": "shoe", "manual_shoe": "manual_shoe", "hand": "hand"}[self.state.method]
                  if kind.feeds_shoe else "tray")  # fmt: skip
        self.move_all("output", target)
        number = self.count(target) - (1 if fault == "miscount" else 0)
        counted = number if kind.counts else -1
        if target == "tray":
            self.devices[name].presented_by = id
            self.report(name, wire.StackPresented, command=id, place=Place.EXIT, cards=counted)
        elif target == "shoe" and self.devices["shoe"].online:
            self.report("shoe", wire.CardsPresent, place=Place.SHOE, present=True)
        return Outcome.COMPLETE, counted

    def _dispense(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        asked, deck = command["cards"], self._deck_at("shoe")
        target = "held" if command["hold"] else "exit"
        number = asked + {"double": 1, "short": -1}.get(fault, 0)
        if fault in ("face_up", "two_face_up"):
            for _ in range(2 if fault == "two_face_up" else 1):
                place = Place.HELD if command["hold"] else Place.EXIT
                self.report(name, wire.CardFaceUp, command=id, place=place, kind=4)
        self.move(deck, "shoe", target, number)
        number += 1 if fault == "miscount" else 0
        if target == "exit":
            self.devices[name].presented_by = id
        self.report(name, wire.StackPresented, command=id, place=Place[target.upper()], cards=number)
        return (Outcome.COMPLETE if number == asked else Outcome.INCOMPLETE), number

    def _release(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        self.move_all("held", "exit")
        self.devices[name].presented_by = id
        self.report(name, wire.StackPresented, command=id, place=Place.EXIT, cards=self.count("exit"))
        return Outcome.COMPLETE, self.count("exit")

    def _eject(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        for place in INSIDE[name]:
            self.move_all(place, EXIT[name])
        number = self.count(EXIT[name]) + (1 if fault == "miscount" else 0)
        self.devices[name].presented_by = id
        self.report(name, wire.StackPresented, command=id, place=Place.EXIT, cards=number)
        return Outcome.COMPLETE, number

    def _clearjam(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        self.devices[name].jammed = fault == "still"
        return (Outcome.JAMMED if fault == "still" else Outcome.COMPLETE), 0

    def _selftest(self, name: str, id: int, command: dict[str, Any], fault: str) -> tuple[Outcome, int]:
        return Outcome.COMPLETE, 0

    # --- cards and hands --------------------------------------------------------------------------------------------

    def count(self, *places: str) -> int:
        """How many cards are really there."""
        return sum(cards.get(place, 0) for cards in self.cards.values() for place in places)

    def _deck_at(self, place: str) -> str:
        return next(deck for deck, cards in self.cards.items() if cards.get(place))

    def move(self, deck: str, source: str, target: str, number: int) -> None:
        """Move real cards."""
        cards = self.cards[deck]
        number = min(number, cards.get(source, 0))
        cards[source] = cards.get(source, 0) - number
        cards[target] = cards.get(target, 0) + number

    def move_all(self, source: str, target: str) -> None:
        """Move all real cards from one place to another."""
        for deck, cards in self.cards.items():
            self.move(deck, source, target, cards.get(source, 0))

    def _take_any(self) -> bool:
        return any(self.take(name) for name in self.devices if self.devices[name].online)

    def take(self, name: str) -> bool:
        """A person takes the cards at the exit and puts them where they belong; False if there are none."""
        number = self.count(EXIT[name])
        if not number:
            return False
        deck = self._deck_at(EXIT[name])
        given, round_ = self.state.devices[name].at_exit, self.state.round
        target = "table"
        if name == "shoe" and round_ and round_.void and not (given and given.name == "Eject" and not given.target):
            target = "taken"  # the dealer keeps it until asked for it
        elif given and name == "shoe" and round_ and not round_.void:
            target = "rack" if given.target == "stub" else given.target
            if round_.to_rack and target != "rack":
                self.move(deck, "exit", "rack", round_.to_rack)
        self.move(deck, EXIT[name], target, number)
        if given and given.name in ("Dispense", "Release"):
            self.devices[name].knows[given.id] = self.kinds[:number]
        self.report(name, wire.StackTaken, command=self.devices[name].presented_by, place=Place.EXIT, cards=number)
        return True

    def _ask(self) -> None:
        """Ask the devices what is not hidden any more, as the daemon does; those that recognise cards answer."""
        for name, device in self.devices.items():
            for question in questions_of(self.state.devices[name]) if device.online else []:
                if question.command in self.asked:
                    continue
                self.asked.append(question.command)
                kinds = device.knows.get(question.command)
                if kinds is not None:
                    report = CardsRecognised(name, question.command, tuple(kinds))
                    self._keep(self.table.handle(report, self.now))

    # --- people -----------------------------------------------------------------------------------------------------

    def do(self, action: Action) -> list[Entry]:
        """A person acts, and the journal says who."""
        made = self.handle(action)  # type: ignore[arg-type]  # the union of all actions
        assert any(event.data.get("who") == action.who for event in made), (action, made)
        return made

    def ask(
        self, kind: type[Action], *fields: Any, role: Role | None = None, who: str = "", **more: Any
    ) -> list[Entry]:
        """A person with a suitable role acts, and confirms a number if asked to; the action must not be refused."""
        made = self.attempt(kind, *fields, role=role, who=who, **more)
        if any(event.data.get("confirm") for event in made):
            made = self.attempt(kind, *fields, role=role, who=who, **more, confirmed=True)
        refused = [event for event in made if event.kind in ("action.refused", "cut.refused")]
        assert not refused, refused
        return made

    def attempt(self, kind: type[Action], *f: Any, role: Role | None = None, who: str = "", **more: Any) -> list[Entry]:
        """A person acts; the action may be refused."""
        role = role or kind.roles[0]
        return self.do(kind(*f, role=role, who=who or WHO[role], **more))

    def refused(self, kind: type[Action], *fields: Any, **more: Any) -> Entry:
        """A person attempts something that must be refused; returns the refusal."""
        before = encode(self.state)
        made = self.attempt(kind, *fields, **more)
        event = next(e for e in made if e.kind in ("action.refused", "cut.refused"))
        assert event.data["reason"], event
        assert event.data["possible_when"], event
        assert [e.kind for e in made] == [event.kind], "a refusal changes nothing"
        assert len(before) > 0
        return event

    def kinds_since(self, start: int) -> list[str]:
        """The kinds of the events after this many."""
        return [event.kind for event in self.events[start:]]

    def find(self, kind: str) -> list[Entry]:
        """All events of a kind."""
        return [event for event in self.events if event.kind == kind]

    # --- whole procedures -------------------------------------------------------------------------------------------

    def receive(self, deck: str, back: str, *, prepared: bool = False) -> None:
        """A deck arrives at the table; a floorperson accepts one that was prepared."""
        self.cards[deck] = {"table": self.setup.game.deck_size}
        self.ask(act.ReceiveDeck, deck, back, prepared, "the card room" if prepared else "")
        if prepared:
            self.ask(act.AcceptDeck, deck)

    def open(self, *, prepared: bool = False) -> House:
        """Open the table with new decks and continue until bets can be made."""
        self.ask(act.OpenTable)
        for back in self.setup.backs:
            self.receive(f"{back}-1", back, prepared=prepared)
        self.work()
        assert self.state.table is TableState.BETTING, self.table.next_step()
        return self

    def work(self, *, stop: TableState = TableState.BETTING, spare: int = 0) -> None:
        """People do what has to be done until nothing is left to do, or the table is in the state `stop`."""
        for _ in range(300):
            if self.state.table is stop or not self.do_next_task():
                return
        raise AssertionError(f"people never finish: {self.table.next_step()}")

    def do_next_task(self) -> bool:
        """Do the next thing that a dealer or floorperson should do; False if there is none."""
        state = self.state
        if state.table is TableState.VOIDING and state.round and state.round.wagers_open:
            return not_refused(self.attempt(act.ReturnWagers))
        if state.table is TableState.STUB_COUNT:
            return not_refused(self.attempt(act.AnswerMisdeal, True))
        for name, device in state.devices.items():
            if device.state is DeviceState.JAMMED and self.devices[name].online:
                return not_refused(self.attempt(act.FreeJam, name))
            if device.hindered and not self.take_if_online(name):
                for deck in state.retired:  # it was reported as removed, but its cards were not
                    self.move_whole_deck(deck, "away")
                for deck, found in state.decks.items():
                    if found.state is DeckState.INFEED and name == "shuffler":
                        self.move_whole_deck(deck, "infeed")
                    elif not any(found.cards.get(place) for place in INSIDE[name]):
                        for place in INSIDE[name]:
                            self.move(deck, place, "table", 60)
                return not_refused(self.attempt(act.TryAgain, name))
            if device.at_exit and self.auto_work and self.take(name):
                return True
        for key, warned in state.warnings.items():
            if warned.gone:
                return not_refused(self.attempt(act.ClearWarning, key, role=Role.FLOOR))
        return any(self._do_deck_task(name) for name in list(state.decks))

    def take_if_online(self, name: str) -> bool:
        """Take the cards at the exit; False if there are none."""
        return self.devices[name].online and self.take(name)

    def _do_deck_task(self, name: str) -> bool:
        state, deck = self.state, self.state.decks[name]
        easy: dict[DeckState, type[act.OnDeck]] = {
            DeckState.RECEIVED: act.InspectDeck,
            DeckState.INSPECTED: act.VerifyDeck,
            DeckState.VERIFIED: act.SpreadDeck,
            DeckState.SPREAD: act.WashDeck,
            DeckState.WASHED: act.StackDeck,
        }
        if deck.state in easy and state.table in (TableState.OPENING, TableState.WAITING):
            counts: dict[str, Any] = (
                {"counts": packed_counts(self.setup.game)} if deck.state is DeckState.RECEIVED else {}
            )
            return not_refused(self.attempt(easy[deck.state], name, **counts))
        if deck.state in (DeckState.VOIDED, DeckState.RECALLED, DeckState.LOCKED_OUT):
            return self._do_gathering_task(name)
        if state.table not in (TableState.WAITING, TableState.OPENING, TableState.SUSPENDED):
            return False
        shuffler = in_service(state, "shuffler")
        if shuffler and waits_for_shuffler(state, name):
            return self.insert(name)
        if deck.state in (DeckState.STACKED, DeckState.RACKED):
            self.gather_real(name, "table")
            return not_refused(self.attempt(act.ShuffleByHand, name))
        if deck.state is DeckState.MIXED:
            return not_refused(self.attempt(act.CutDeck, name, 20))
        if deck.state in (DeckState.CUT, DeckState.DELIVERED) and deck.back == state.due:
            target = {"automated_shoe": "shoe", "manual_shoe": "manual_shoe", "hand": "hand"}[state.method]
            made = self.attempt(act.LoadDeck, name)
            if not_refused(made):
                self.gather_real(name, target)
                return True
        return False

    def insert(self, name: str) -> bool:
        """The dealer puts a deck into the shuffler; the cards move before it is reported, as at a real table."""
        before = dict(self.cards[name])
        if any(cards.get(p) for d, cards in self.cards.items() for p in INSIDE["shuffler"] if d != name):
            return False
        self.gather_real(name, "infeed")
        if not_refused(self.attempt(act.InsertDeck, name)):
            return True
        self.cards[name] = before
        return False

    def _do_gathering_task(self, name: str) -> bool:
        from controller.core.ledger import DEVICE_OF
        from controller.core.rules.gathering import emptied_by_device, next_place

        place = next_place(self.state, name)
        if not place:
            if self.state.decks[name].state is DeckState.LOCKED_OUT:
                return not_refused(self.attempt(act.RemoveDeck, name))
            return False
        if emptied_by_device(self.state, place):
            return False
        if place == "missing":
            found = self.cards[name].get("floor", 0)
            missing = self.state.decks[name].cards["missing"]
            if 0 < found == missing:
                self.move(name, "floor", "table", found)
                return not_refused(self.attempt(act.GatherCards, name, place, found))
            return not_refused(self.attempt(act.DeclareMissing, name))
        device = DEVICE_OF.get(place, "")
        places = (*INSIDE[device], EXIT[device]) if device else (place,)
        number = sum(self.cards[name].get(spot, 0) for spot in places)
        for spot in places:
            self.move(name, spot, "table", self.cards[name].get(spot, 0))
        return not_refused(self.attempt(act.GatherCards, name, place, number, confirmed=True))

    def gather_real(self, deck: str, target: str) -> None:
        """Move all real cards of a deck from the table and the rack to one place."""
        for place in ("table", "rack"):
            self.move(deck, place, target, self.cards[deck].get(place, 0))

    def move_whole_deck(self, deck: str, target: str) -> None:
        """Move all real cards of a deck to one place, except those on the floor."""
        for place in [place for place in self.cards[deck] if place not in ("floor", target)]:
            self.move(deck, place, target, self.cards[deck][place])

    def play(self, seats: tuple[int, ...] = (1, 3, 6)) -> list[Entry]:
        """Play a whole round, from the closing of the bets until bets can be made again."""
        start = len(self.events)
        self.deal(seats)
        self.finish()
        self.work()
        return self.events[start:]

    def deal(self, seats: tuple[int, ...] = (1, 3, 6)) -> None:
        """Close the bets and deal."""
        self.ask(act.CloseBets, seats)
        if self.state.method != "automated_shoe":
            self.deal_by_hand()

    def deal_by_hand(self) -> None:
        """The dealer deals all cards by hand."""
        round_ = self.state.round
        assert round_ is not None
        source = {"manual_shoe": "manual_shoe", "hand": "hand"}[round_.method]
        for stack in round_.plan[round_.dealt :]:
            self.move(round_.deck, source, stack.target, stack.cards)
        self.ask(act.FinishDeal)

    def finish(self) -> None:
        """Finish the round, from the players acting until all cards are in the rack."""
        self.stub()
        self.ask(act.PlayersActed)
        self.ask(act.RevealDealer)
        self.stub()
        round_ = self.state.round
        assert round_ is not None
        for target in {stack.target for stack in round_.plan}:
            self.move(round_.deck, target, "rack", 60)
        self.ask(act.CollectAll)

    def stub(self, number: int | None = None) -> None:
        """Take the stub out by hand if the shoe does not, and count it if that is due."""
        from controller.core.rules.dealing import stub_may_leave
        from controller.core.rules.guards import stub_count_due

        round_ = self.state.round
        assert round_ is not None
        if self.state.method != "automated_shoe" and stub_may_leave(self.state, round_):
            for source in ("manual_shoe", "hand"):
                self.move(round_.deck, source, "rack", 60)
            self.ask(act.RemoveStub)
        if self.state.round and self.state.round.stub_out and stub_count_due(self.state):
            there = self.state.decks[round_.deck].cards.get("stub", 0)
            self.ask(act.CountStub, there if number is None else number)


def not_refused(made: list[Entry]) -> bool:
    """Whether a person's action was accepted."""
    return not any(event.kind in ("action.refused", "cut.refused") for event in made)


def same_after_snapshot(house: House) -> None:
    """Check that a snapshot and the fold of all events both give the same state."""
    house.check()
    assert encode(decode(encode(house.state))) == encode(house.state)
    assert encode(fold(house.events)) == encode(house.state)


def house_in(state: TableState) -> House:
    """A house whose table has reached this state in the ordinary way."""
    house = House()
    if state is TableState.CLOSED:
        return house
    if state is TableState.OPENING:
        house.ask(act.OpenTable)
        house.receive("red-1", "red")
        return house
    house.open()
    if state is TableState.SUSPENDED:
        house.disconnect("shuffler")
        house.tick(20)
    elif state is TableState.IDLE:
        house.ask(act.IdleTable)
    elif state is TableState.DEALING:
        house.auto_take = False
        house.ask(act.CloseBets, (1,))
    elif state is TableState.STUB_COUNT:
        house.faults["shoe", "Eject"] = "miscount"
        house.deal((1,))
    elif state is not TableState.BETTING:
        house.deal((1,))
        if state is TableState.VOIDING:
            house.ask(act.ReportDealerExposed)
        elif state is not TableState.ACTING:
            house.ask(act.PlayersActed)
            if state is not TableState.REVEALING:
                house.ask(act.RevealDealer)
                if state is TableState.WAITING:
                    house.ask(act.CollectAll)
    assert house.state.table is state
    return house


def pending(state: State) -> list[Given]:
    """The commands that no device has answered yet, in the order of their ids."""
    found = [given for device in state.devices.values() for given in pending_of(device)]
    return sorted(found, key=lambda given: given.id)
