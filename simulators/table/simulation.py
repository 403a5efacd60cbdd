"""The hardware and the people of a simulated daemon, for the panel on its screen: the robot dealer, faults, hands.

What a person reports on the screen, the simulated hands carry out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import structlog

from controller.core.actions import Action, Role
from controller.daemon.people import PeopleFile as SignInPeople
from controller.daemon.people import Person, hash_pin
from simulators.control import ControlError, Hands
from simulators.devices.device import SimulatedTable
from simulators.devices.faults import FAULT_TEXTS, OF_THE_MECHANICS, FaultName
from simulators.pipes.endpoints import Endpoint
from simulators.table.people import NoMoreDecks
from simulators.table.robot import PACE_S, Robot, RunningTable

PEOPLE = (
    ("Dana", Role.DEALER, "2580"),
    ("Flo", Role.FLOOR, "147036"),
    ("Frank", Role.FLOOR, "369147"),
    ("Tess", Role.TECHNICIAN, "7913"),
)


class Simulation:
    """Simulates the hardware and the people of a daemon."""

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
            lambda action: daemon.take(msgspec.structs.replace(action, origin="robot")),
            hands.look,
            lambda: endpoints["shuffler"].driver.now(),
        )
        self.people = SignInPeople([Person(name, [role], hash_pin(pin)) for name, role, pin in PEOPLE])
        self.robot = Robot(table, seed)
        self.playing = playing
        self.stopped = ""  # why the robot stopped by itself: the defect that it met
        self.speed = 1.0
        self._hands = hands
        self._sim = sim
        self._table = table

    async def run(self) -> None:
        """Play forever."""
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
            except Exception as error:  # a defect, of the robot or of the table: people can still play
                if not self.stopped:
                    structlog.get_logger().exception("the robot stopped")
                self.stopped = f"{type(error).__name__}: {error}"
                self.playing = False

    def followed(self, action: Action) -> None:
        """Carry out what a person has reported on the screen."""
        self.robot.hands.carry_out(action)

    def describe(self) -> dict[str, Any]:
        """The state of the simulation, for the panel."""
        state = self._table.state
        used = {*state.decks, *state.retired}
        return {
            "robot": {
                "running": self.playing,
                "helps": self.robot.helps,
                "speed": self.speed,
                "doing": self.robot.doing,
                "stopped": self.stopped,
            },
            "faults": [
                {
                    "name": str(fault),
                    "text": FAULT_TEXTS[fault],
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
        """Carry out a request from the panel; raises ValueError if it is invalid."""
        do = request.get("do")
        if do in ("pause", "resume"):
            self.playing = do == "resume"
            self.stopped = ""
        elif do == "help":
            self.robot.helps = bool(request.get("on", True))
        elif do == "speed":
            speed = request.get("speed")
            if not isinstance(speed, int | float) or isinstance(speed, bool) or not 0.1 <= speed <= 100:
                raise ValueError("speed: expected a number from 0.1 to 100")
            self.speed = float(speed)
        else:
            try:
                self._hands.do(request)
            except ControlError as error:
                raise ValueError(str(error)) from None
        return self.describe()
