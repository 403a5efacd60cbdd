"""A robot dealer at the table of a running daemon: it follows the guide in real time, one thing after another.

Where something is wrong it waits for a person, unless it is asked to help.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action
from controller.core.events.event import Entry
from controller.core.machines import DeviceState, TableState
from controller.core.rules.guards import blocking
from controller.core.rules.script import record_between
from controller.core.setup import Setup
from controller.core.state import State
from controller.core.step import ByHand, Offer
from controller.games import described
from firmware_bridge.wire.messages import Mode
from simulators.devices.cards import Cards
from simulators.devices.device import SimulatedDevice, SimulatedTable
from simulators.table.house import House
from simulators.table.people import People, taken

PACE_S = 0.8  # between two things that the robot does
DEAL_S = 0.35  # between two cards that are dealt one by one
BET_S = 0.3  # between two bets that are recorded
BETTING_S = 2.0  # for the players to make their bets
AMOUNTS = (5, 10, 20, 25, 50, 100)  # of their bets


@dataclass
class WiredBox:
    """A simulated device, in the place where people look for it."""

    device: SimulatedDevice


class RunningTable:
    """A running table as the robot sees it: its state, how to report to it, and where the cards are."""

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
        super().__init__(cast(House, table))  # all that people need from a house
        self.helps = False
        self.doing = "waits"
        self._rng = random.Random(f"{seed}/robot")

    def pause(self) -> None:
        """Real time passes between two things, not here."""

    def fields(self, name: str, offer: Offer) -> dict[str, Any] | None:
        """The daemon sets its table up from its configuration."""
        return None if name == "configure" else super().fields(name, offer)

    def trouble(self) -> str:
        """What needs a person's attention; empty if nothing is wrong."""
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
        if step.by_hand is not ByHand.TAKE or self.house.wired[step.device].device.mechanics.mode is Mode.WORKING:
            return False
        return self.hands.take(step.device)

    def bets(self) -> tuple[int, ...]:
        """Who has wagered this time."""
        state = self.house.state
        seats = range(1, state.setup.seats + 1)
        return tuple(sorted(self._rng.sample(seats, self._rng.randint(state.setup.game.fewest_seats, len(seats)))))

    def bet(self) -> bool:
        """Record the bet of one seat that has none, if the game cannot be settled without; False if all have one."""
        state = self.house.state
        game = described(state.setup.game)
        for seat in state.seats if game.must_settle else []:
            if ledger.seat(seat) in state.bets:
                continue
            if game.needed_bets:
                found = game.needed_bets(record_between(state), ledger.seat(seat))
            else:
                possible = [bet for bet in game.bets if bet not in game.session_bets]
                found = {self._rng.choice(possible): self._rng.choice(AMOUNTS)} if possible else {}
            made = [self.perform(act.RecordBet, seat=seat, bet=bet, amount=amount) for bet, amount in found.items()]
            if any(map(taken, made)):
                return True
        return False

    def no_more_bets(self) -> None:
        """Close the bets; if these seats cannot play, others do."""
        if not self.close_bets():
            self.perform(act.Wager, seats=self.bets())

    def one_thing(self) -> float:
        """Do the next thing; returns the seconds until the one after it."""
        state, wrong = self.house.state, self.trouble()
        if wrong and not self.helps:
            self.doing = f"waits for a person: {wrong}"
            self.take()
            return PACE_S
        self.doing = "plays"
        step = self.step()
        if not self.chore() and state.table is TableState.BETTING and state.round is None:
            if not state.seats:
                self.perform(act.Wager, seats=self.bets())
                return PACE_S if described(state.setup.game).must_settle else BETTING_S
            if self.bet():
                return BET_S
            self.no_more_bets()
        one_by_one = state.round is not None and all(stack.cards == 1 for stack in state.round.plan)
        dealt = step.by_hand is ByHand.TAKE or any(offer["action"] == "deal_cards" for offer in step.do)
        return DEAL_S if one_by_one and dealt else PACE_S
