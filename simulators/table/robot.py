"""A robot dealer at the table of a real daemon, and the simulated cards behind what people do on its screen.

The robot follows the guide in real time: one thing, a pause, the next thing. Where something is wrong it waits for a
person, unless it is asked to help. What a person reports on the screen, the simulated hands carry out.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from controller.core import actions as act
from controller.core.actions import Action, Role
from controller.core.machines import DeviceState, TableState
from controller.core.rules.guards import blocking
from controller.core.setup import Setup
from controller.core.state import Event, State
from controller.core.step import ByHand
from controller.daemon.people import People as SignInPeople
from controller.daemon.people import Person, hash_pin
from simulators.control import ControlError, Hands
from simulators.devices.cards import Cards
from simulators.devices.device import SimulatedDevice, SimulatedTable
from simulators.devices.faults import OF_THE_MECHANICS, FaultName
from simulators.pipes.endpoints import Endpoint
from simulators.table.house import House
from simulators.table.people import NoMoreDecks, People

PACE_S = 0.8  # between two things that the robot does
BETTING_S = 3.0  # for the players to make their bets
PEOPLE = (
    ("Dana", Role.DEALER, "2580"),
    ("Flo", Role.FLOOR, "1470"),
    ("Frank", Role.FLOOR, "3690"),
    ("Tess", Role.TECHNICIAN, "7913"),
)


@dataclass
class WiredBox:
    """A simulated device, where people look for it."""

    device: SimulatedDevice


class RunningTable:
    """A running table as the robot sees it: its state, how to report to it, and the cards as they lie."""

    def __init__(
        self,
        sim: SimulatedTable,
        devices: tuple[str, ...],
        setup: Setup,
        state: Callable[[], State],
        report: Callable[[Action], list[Event]],
        look: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.sim = sim
        self.setup = setup
        self.decks = sim.decks
        self.wired = {name: WiredBox(getattr(sim, name)) for name in devices}
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

    def __init__(self, table: RunningTable, seed: int = 0) -> None:
        super().__init__(cast(House, table))  # all that people need of a house
        self.helps = False
        self.doing = "waits"
        self._rng = random.Random(f"{seed}/robot")

    def pause(self) -> None:
        """Real time passes between two things, not here."""

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

    def take(self) -> bool:
        """Take the cards from an exit if the guide says so: hands do that without being asked."""
        step = self.step()
        return step.by_hand is ByHand.TAKE and step.device in self.house.wired and self._take(step)

    def bets(self) -> tuple[int, ...]:
        """Who has wagered this time."""
        seats = range(1, self.house.state.setup.seats + 1)
        return tuple(sorted(self._rng.sample(seats, self._rng.randint(1, len(seats)))))

    def one_thing(self) -> float:
        """Do the next thing; the answer is how long it is until the one after it, in seconds."""
        state, wrong = self.house.state, self.trouble()
        if wrong and not self.helps:
            self.doing = f"waits for a person: {wrong}"
            self.take()
            return PACE_S
        self.doing = "plays"
        if not self.chore() and state.table is TableState.BETTING and state.round is None:
            if not state.seats:
                self.tell(act.Wager, seats=self.bets())
                return BETTING_S
            self.tell(act.CloseBets)
        return PACE_S


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
        table = RunningTable(
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
                    self.robot.take()
            except (TableStopped, NoMoreDecks) as why:
                self.robot.doing = f"waits: {why}"

    def followed(self, action: Action) -> None:
        """A person has told the table something, and it took it."""
        self.robot.hands.carry_out(action)

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
