"""A dealer who plays by himself at a real daemon's table, and the hands that do what people say on the screen.

The robot is the good people of people.py in real time: one thing, a pause, the next thing. Where something is wrong
he waits for a person, unless he is asked to help. Whoever does something on the screen has it done: the hands move the
simulated cards as a dealer's hands would.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, Role
from controller.core.events.event import Entry
from controller.core.machines import DeviceState, TableState
from controller.core.rules.guards import blocking
from controller.core.setup import Setup
from controller.core.state import State
from controller.daemon.people import PeopleFile as SignInPeople
from controller.daemon.people import Person, hash_pin
from controller.games.game import Method
from firmware_bridge.wire.messages import Mode
from simulators.control import ControlError, Hands
from simulators.devices.cards import DECK_SIZE, Cards, Place, Spot
from simulators.devices.device import ON_THE_TABLE, SimulatedDevice, SimulatedTable
from simulators.devices.faults import OF_THE_MECHANICS, FaultName
from simulators.pipes.endpoints import Endpoint
from simulators.table.house import House
from simulators.table.people import RACK, SOURCE, NoMoreDecks, People, hand

PACE_S = 0.8  # between two things that the robot does
BETTING_S = 3.0  # for the players to make their bets
STALE_S = 2.0  # after this time somebody takes what lies at an exit, known to the table or not
PEOPLE = (
    ("Dana", Role.DEALER, "2580"),
    ("Flo", Role.FLOOR, "1470"),
    ("Frank", Role.FLOOR, "3690"),
    ("Tess", Role.TECHNICIAN, "7913"),
)


@dataclass
class Played:
    """A device that is played."""

    device: SimulatedDevice


class Table:
    """A running table as the robot sees it: what it believes, how to tell it something, and the cards as they lie."""

    def __init__(
        self,
        sim: SimulatedTable,
        devices: tuple[str, ...],
        setup: Setup,
        state: Callable[[], State],
        report: Callable[[Action], list[Entry]],
        look: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.sim = sim
        self.setup = setup
        self.decks = sim.decks
        self.wired = {name: Played(getattr(sim, name)) for name in devices}
        self.report = report
        self.look = look
        self._state = state
        self._clock = clock

    @property
    def state(self) -> State:
        """What the table believes."""
        return self._state()

    @property
    def cards(self) -> Cards:
        """What is true."""
        return self.sim.cards

    @property
    def now_ms(self) -> int:
        """The table's time."""
        return self.state.now_ms

    @property
    def now(self) -> float:
        """The devices' time, which may run faster than the table's."""
        return self._clock()


class Robot(People):
    """Does one thing at a time, and never waits inside it: real time passes between two things."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        super().__init__(cast(House, table))  # all that the good people need of a house
        self.helps = False
        self.doing = "waits"
        self._rng = random.Random(f"{seed}/robot")
        self._seen_at: dict[str, float] = {}

    def pause(self) -> None:
        """Real time passes between two things, not here."""

    def _take(self, name: str) -> bool:
        """A stack is taken when it is whole and the table knows of it."""
        house = self.house
        device = house.wired[name].device
        if not house.cards.count(device.mechanics.exit) or device.mechanics.mode is Mode.WORKING:
            self._seen_at.pop(name, None)
            return False
        since = self._seen_at.setdefault(name, house.now)
        if house.state.devices[name].at_exit is None and house.now - since < STALE_S:
            return False
        self._seen_at.pop(name, None)
        return super()._take(name)

    def _collect(self, deck: str, target: Spot) -> None:
        """Also what lies at a seat: a stack may be taken in the moment in which its round becomes void."""
        super()._collect(deck, target)
        for spot in self.house.cards.spots(Place.HAND):
            self.house.cards.pick(deck, spot, target)

    def trouble(self) -> str:
        """What a person should see to; empty if nothing is wrong."""
        state = self.house.state
        for key in blocking(state):
            return state.warnings[key].text
        if state.table in (TableState.VOIDING, TableState.STUB_COUNT):
            return "a round is void" if state.table is TableState.VOIDING else "the stub is wrong"
        for name, device in state.devices.items():
            if device.state in (DeviceState.JAMMED, DeviceState.FAILED) or device.hindered:
                return f"the {name} needs a look"
        return ""

    def hands(self) -> bool:
        """What hands do without being told: take what lies at an exit."""
        return any(self._take(name) for name in list(self.house.wired))

    def bets(self) -> tuple[int, ...]:
        """Who has wagered this time."""
        seats = range(1, self.house.state.setup.seats + 1)
        return tuple(sorted(self._rng.sample(seats, self._rng.randint(1, len(seats)))))

    def one_thing(self) -> float:
        """Do the next thing; the answer is how long it is until the one after it, in seconds."""
        state, wrong = self.house.state, self.trouble()
        if wrong and not self.helps:
            self.doing = f"waits for a person: {wrong}"
            self.hands()
            return PACE_S
        self.doing = "plays"
        if state.table is TableState.CLOSED:
            self.tell(act.OpenTable)
        elif not self.chore() and state.table is TableState.BETTING and state.round is None:
            if not state.seats:
                self.tell(act.Wager, seats=self.bets())
                return BETTING_S
            self.tell(act.CloseBets)
        return PACE_S


class Follow:
    """Makes true what a person has told the table."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._house = robot.house

    def followed(self, action: Action) -> None:
        """The table has taken this: the hands do it."""
        robot, house, cards = self._robot, self._house, self._house.cards
        if isinstance(action, act.InsertDeck):
            if not any(card.deck == action.deck for card in cards.pile(Spot(Place.INFEED))):
                robot._collect(action.deck, robot._own(action.deck))
                house.wired["shuffler"].device.load(robot._own(action.deck), house.now)
        elif isinstance(action, act.LoadDeck):
            robot._collect(action.deck, robot._own(action.deck))
            if house.state.method is Method.AUTOMATED_SHOE:
                house.wired["shoe"].device.load(robot._own(action.deck), house.now)
            else:
                cards.move_all(robot._own(action.deck), SOURCE[house.state.method])
        elif isinstance(action, act.FreeJam):
            house.wired[action.device].device.mend(FaultName.JAM, house.now)
        elif isinstance(action, act.TryAgain):
            robot.put_in_again()
        elif isinstance(action, act.GatherCards):
            self._gather(action.deck, action.place)
        elif isinstance(action, act.CollectAll):
            for spot in cards.spots(Place.HAND):
                cards.move_all(spot, RACK)
        elif isinstance(action, act.CollectHand):
            cards.move_all(hand(action.target), RACK)
        elif isinstance(action, act.RemoveStub):
            for spot in [Spot(Place.SHOE)] if house.state.method is Method.AUTOMATED_SHOE else [robot._source()]:
                if cards.count(spot) and not house.state.devices["shoe"].doing:
                    cards.move_all(spot, RACK)
        elif isinstance(action, act.FinishDeal | act.DealCards) and house.state.round:
            for target in {stack.target for stack in house.state.round.plan}:
                wanted = house.state.decks[house.state.round.deck].cards.get(target, 0) - cards.count(hand(target))
                cards.move_top(max(0, min(wanted, cards.count(robot._source()))), robot._source(), hand(target))
        house.look()

    def _gather(self, deck: str, place: str) -> None:
        """Fetch the deck's cards; what is missing is on the floor, beside its spare cards, or was laid anywhere."""
        cards, own = self._house.cards, self._robot._own(deck)
        lost = place == ledger.MISSING
        anywhere = [Spot(Place.FLOOR), ON_THE_TABLE, RACK, *cards.spots(Place.HAND)]
        spots = anywhere if lost else self._robot._spots(place)
        if place == ledger.TAKEN:
            self._robot._put_back(deck)
        for spot in spots:
            for card in cards.pile(spot):
                if card.deck == deck and spot != own and not (lost and card.index >= DECK_SIZE):
                    cards.move_card(card, spot, own)


class Simulation:
    """What plays the hardware and the people of a daemon: for the screen's panel, and for the robot dealer."""

    def __init__(
        self,
        daemon: Any,
        sim: SimulatedTable,
        endpoints: dict[str, Endpoint],
        hands: Hands,
        *,
        playing: bool = True,
        seed: int = 0,
    ) -> None:
        table = Table(
            sim,
            tuple(endpoints),
            daemon.setup,
            lambda: daemon.state,
            daemon.take,
            hands.look,
            lambda: endpoints["shuffler"].driver.now(),
        )
        self.people = SignInPeople([Person(name, [role], hash_pin(pin)) for name, role, pin in PEOPLE])
        self.robot = Robot(table, seed)
        self.playing = playing
        self.speed = 1.0
        self._follow = Follow(self.robot)
        self._hands = hands
        self._sim = sim
        self._table = table

    async def run(self) -> None:
        """Play for ever."""
        from controller.daemon.daemon import TableStopped

        wait_s = PACE_S
        while True:
            await asyncio.sleep(wait_s / self.speed)
            wait_s = PACE_S
            try:
                if self.playing:
                    wait_s = self.robot.one_thing()
                else:
                    self.robot.doing = "pauses"
                    self.robot.hands()
            except (TableStopped, NoMoreDecks) as why:
                self.robot.doing = f"waits: {why}"

    def followed(self, action: Action) -> None:
        """A person has told the table something, and it took it."""
        self._follow.followed(action)

    def describe(self) -> dict[str, Any]:
        """How things stand, for the panel."""
        state = self._table.state
        used = {*state.decks, *state.retired}
        return {
            "robot": {
                "running": self.playing,
                "helps": self.robot.helps,
                "speed": self.speed,
                "doing": self.robot.doing,
            },
            "faults": [
                {
                    "name": str(fault),
                    "text": TEXTS[fault],
                    "devices": list(self._table.wired),
                    "lasts": fault not in OF_THE_MECHANICS,
                }
                for fault in FaultName
            ],
            "devices": {
                name: {
                    "plugged": played.device.plugged,
                    "power": played.device.firmware is not None,
                    "faults": [str(fault) for fault in played.device.faults],
                    "mode": played.device.mechanics.mode.name.lower(),
                    "door_open": played.device.mechanics.door_open,
                }
                for name, played in self._table.wired.items()
            },
            "people": [{"name": name, "role": str(role), "pin": pin} for name, role, pin in PEOPLE],
            "cupboard": [name for name in self._sim.decks if name not in used],
        }

    def carry_out(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the panel asks for; ValueError says what is wrong with it."""
        do = request.get("do")
        if do in ("pause", "resume"):
            self.playing = do == "resume"
        elif do == "help":
            self.robot.helps = bool(request.get("on", True))
        elif do == "speed":
            speed = request.get("speed")
            if not isinstance(speed, int | float) or isinstance(speed, bool) or not 0.1 <= speed <= 100:
                raise ValueError("speed: a number from 0.1 to 100 is wanted")
            self.speed = float(speed)
        else:
            try:
                self._hands.do(request)
            except ControlError as error:
                raise ValueError(str(error)) from None
        return self.describe()


TEXTS = {
    FaultName.JAM: "Cards get stuck with the next card that moves.",
    FaultName.STALL: "The mechanics stop in mid-cycle without a word.",
    FaultName.INCOMPLETE_CYCLE: "The next cycle ends early, with cards left inside.",
    FaultName.MISCOUNT: "The sensor counts one card wrong.",
    FaultName.MISSING_CARD: "A card falls to the floor.",
    FaultName.EXTRA_CARD: "A spare card gets in.",
    FaultName.DOUBLE_FEED: "Two cards move where one should.",
    FaultName.SHORT_FEED: "No card moves where one should.",
    FaultName.FACE_UP: "A card lies the wrong way.",
    FaultName.POWER_LOSS: "The power goes off; the device comes back without its memory.",
    FaultName.REBOOT: "The device is switched off and on.",
    FaultName.UNPLUG: "The cable is pulled.",
    FaultName.SILENCE: "The device hears, and says nothing.",
    FaultName.NOISE: "Bits are flipped on the wire.",
    FaultName.DEAD: "The device is dead for good.",
}
