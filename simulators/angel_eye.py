"""A simulated Angel Eye II-EX on a real port, and a dealer who draws from it, round after round."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from controller.games.standard_cards import KINDS
from simulators.devices.angel_eye import FAULTS, SimulatedAngelEye
from simulators.devices.cards import CardPlace, Cards, Spot, pack_of
from simulators.pipes.endpoints import Endpoint, PtyEndpoint, TcpEndpoint

DECKS = 8
CUT_CARD_BEFORE = 14
PACE_S = 0.8  # between two cards
BETWEEN_ROUNDS_S = 4.0
TABLE, SHOE, RACK = Spot(CardPlace.TABLE, 0), Spot(CardPlace.SHOE), Spot(CardPlace.RACK)
HAND = Spot(CardPlace.HAND, 1)


class Dealer:
    """Draws card after card, and does what follows from it: collects, cancels an error, prepares a new shoe."""

    def __init__(self, seed: int, *, lose: float = 0.0, corrupt: float = 0.0, fault_rate: float = 0.0) -> None:
        self.cards = Cards(["red"], pack=pack_of(dict.fromkeys(KINDS, DECKS)))
        self._rng = random.Random(f"{seed}/dealer")
        self._fault_rate = fault_rate
        self.shoe = SimulatedAngelEye(self.cards, SHOE, dict(enumerate(KINDS)), rng=random.Random(f"{seed}/wire"))
        self.shoe.lose, self.shoe.corrupt = lose, corrupt

    def next_thing(self, now: float) -> float:
        """Do the next thing; returns the seconds until the one after it."""
        shoe = self.shoe
        if shoe.error:
            shoe.cancel_error(now)
            return PACE_S
        if shoe.stands_by and (self.cards.count(HAND) or not self.cards.count(SHOE)):
            self.cards.move_all(HAND, RACK)
            if shoe.cut_card_out or not self.cards.count(SHOE):
                self._new_shoe()
            return BETWEEN_ROUNDS_S
        if self._rng.random() < self._fault_rate:
            shoe.inject(self._rng.choice(list(FAULTS)))
        shoe.draw(RACK if shoe.burning else HAND, now)
        return PACE_S

    def _new_shoe(self) -> None:
        for spot in (RACK, SHOE):
            self.cards.move_all(spot, TABLE)
        self.cards.reorder(TABLE, self._rng.sample(self.cards.pile(TABLE), self.cards.count(TABLE)))
        self.cards.move_all(TABLE, SHOE)
        self.shoe.new_shoe(CUT_CARD_BEFORE)


async def run(dealer: Dealer, endpoint: Endpoint, speed: float, stop: asyncio.Event) -> None:
    """Deal until `stop` is set."""
    await endpoint.start()
    try:
        print(endpoint.address, flush=True)
        while not stop.is_set():
            wait_s = dealer.next_thing(endpoint.driver.now())
            endpoint.poke()
            try:
                await asyncio.wait_for(stop.wait(), wait_s / speed)
            except TimeoutError:
                continue
    finally:
        await endpoint.close()


def endpoint_for(dealer: Dealer, link: Path | None, port: int, speed: float) -> Endpoint:
    """A TCP port, as of a device server, or a pty."""
    if link is None:
        return TcpEndpoint(dealer.shoe, port=port, speed=speed)
    return PtyEndpoint(dealer.shoe, link, speed=speed)
