"""Mishaps in which decks or devices are exchanged, devices count in the wrong way, or people change their minds.

Each function brings about one mishap now; False if it cannot happen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.setup import missing_capabilities
from controller.games.game import Method
from firmware_bridge.wire.messages import Capability, Fault, FaultCode, Mode, Place, PowerCause
from simulators.campaign.luck import Mishap
from simulators.campaign.unlucky_house import WatchedFirmware
from simulators.devices.cards import Cards
from simulators.devices.device import SimulatedDevice
from simulators.devices.faults import FaultName
from simulators.table.hands import INFEED, SHOE, SOURCE
from simulators.table.people import WHO

if TYPE_CHECKING:
    from simulators.campaign.clumsy_people import ClumsyPeople

DEALER: Final[dict[str, Any]] = {"who": WHO[Role.DEALER], "role": Role.DEALER}
FLOORPERSON: Final[dict[str, Any]] = {"who": WHO[Role.FLOOR], "role": Role.FLOOR}
ELSEWHERE: Final = 10**9  # the last command of a device that was used with another journal
_BETWEEN_ROUNDS: Final = (TableState.WAITING, TableState.BETTING)
_LET_GO_S: Final = 0.9  # how long a dealer needs to see that the wrong deck is in the shuffler


# --- decks ----------------------------------------------------------------------------------------------------------


def deck_swapped(people: ClumsyPeople, mishap: Mishap) -> bool:
    """Somebody takes the deck out of the shoe. It comes back in another order, or another deck does, or none."""
    house, rng = people.unlucky, random.Random(mishap.salt)
    wired = house.wired.get("shoe")
    if wired is None or house.stranger("shoe") or house.state.method is not Method.AUTOMATED_SHOE:
        return False
    box, pile = wired.device, house.cards.pile(SHOE)
    decks = {card.deck for card in pile if not house.cards.is_spare(card)}
    firmware = box.firmware
    if len(decks) != 1 or box.mechanics.mode is not Mode.READY or box.mechanics.locked:
        return False
    if not isinstance(firmware, WatchedFirmware):  # it is off
        return False
    (deck,) = decks
    own = people.hands.own(deck)
    box.take_out(Place.SHOE, own, house.now)
    how = rng.choice(("mixed", "another", "none"))
    new = [name for name in house.decks if name not in house.state.decks and name not in house.state.retired]
    if how == "another" and new and len(pile) == house.setup.game.deck_size:
        box.load(people.hands.own(new[-1]), house.now)
    elif how != "none":
        kept = [card for card in house.cards.pile(own) if card not in pile]
        rng.shuffle(pile)
        house.cards.reorder(own, [*pile, *kept])
        for card in pile:
            house.cards.move_card(card, own, SHOE)
        box.sense(SHOE, house.now)
    people.witness.disturbed(deck, "shoe", firmware.boot, firmware.last_event)
    house.look()
    return True


def _touch(box: SimulatedDevice, now: float) -> None:
    """Reach into the device; what its sensors see is reported at once."""
    box.stirred = True
    if box.firmware:
        box.firmware.now = now


def deck_from_hand(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The dealer puts the deck that is to be dealt into the shuffler, notices a moment later, and takes it back."""
    house = people.unlucky
    source, wired = SOURCE.get(house.state.method), house.wired.get("shuffler")
    if source is None or wired is None or house.state.table not in _BETWEEN_ROUNDS or house.cards.count(INFEED):
        return False
    box = wired.device
    if not house.cards.count(source) or not box.firmware or box.mechanics.mode is not Mode.READY:
        return False
    (deck, *others) = people.hands.decks_at(source)
    if others or deck not in house.state.decks or house.state.decks[deck].state is not DeckState.LOADED:
        return False
    box.load(source, house.now)

    def back() -> None:
        for spot in (INFEED, people.hands.own(deck)):
            people.hands.carry(spot, source, deck=deck)

    house.later(_LET_GO_S, back)
    people.occupied_until = house.now + _LET_GO_S  # nobody closes the bets with the deck in the wrong place
    house.look()
    return True


def recut(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A floorperson wants another cut; then the shoe restarts, is opened or jams, or a card is lost."""
    house, rng = people.unlucky, random.Random(mishap.salt)
    decks = house.state.decks
    cut = [name for name in decks if decks[name].by_hand and decks[name].state in (DeckState.CUT, DeckState.LOADED)]
    if not cut or not people.pressed(act.RequireRecut(deck=cut[0], **FLOORPERSON)):
        return False
    wired = house.wired.get("shoe")
    what = rng.choice((FaultName.REBOOT, FaultName.JAM, FaultName.MISSING_CARD, FaultName.POWER_LOSS))
    if wired is not None:
        wired.device.inject(what, house.now, for_s=mishap.for_s)
        house.look()
    return True


# --- devices --------------------------------------------------------------------------------------------------------


def other_device(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A device that was used with another journal replaces this one for a while."""
    return _exchange(people, mishap, frozenset(), ELSEWHERE)


def lesser_device(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A device that lacks a capability this table needs replaces this one for a while."""
    every = frozenset((Capability.COUNTS, Capability.HOLDS_STACK, Capability.FEEDS_SHOE, Capability.RECOGNISES))
    return _exchange(people, mishap, every, 0)


def _exchange(people: ClumsyPeople, mishap: Mishap, without: frozenset[Capability], last_command: int) -> bool:
    house, name = people.unlucky, mishap.device
    wired = house.wired.get(name)
    if wired is None or wired.device.firmware is None or house.stranger(name):
        return False
    box = wired.device
    able = box.mechanics.capabilities - without
    if box.mechanics.can(Capability.KEEPS_MEMORY):
        return False
    if without and not missing_capabilities(house.setup, name, sorted(able)):
        return False
    rng = random.Random(mishap.salt)
    mechanics = type(box.mechanics)(Cards(("elsewhere",), pack=house.cards.pack), able, rng)
    plate = replace(box.plate, serial="XX-9999", capabilities=able)
    box.mechanics.power_lost()  # the device that was there, with its cards in it
    stranger = house.build(plate, mechanics, rng.randrange(1, 2**32), house.now)
    stranger.used_elsewhere(last_command)
    box.firmware = house.strangers[name] = stranger
    house.exchanged_at[name] = house.now
    _touch(box, house.now)
    stranger.start(PowerCause.POWER, memory_kept=False, now=house.now)
    house.later(20.0 + 5 * mishap.for_s, lambda: house.put_back(name))
    house.look()
    return True


def fails_with_memory(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A part fails in a device that keeps its memory without power."""
    house = people.unlucky
    wired = house.wired.get(mishap.device)
    if wired is None or house.stranger(mishap.device):
        return False
    box = wired.device
    if not box.firmware or box.mechanics.mode is not Mode.READY:
        return False
    box.mechanics.capabilities |= {Capability.KEEPS_MEMORY}
    box.mechanics.mode = Mode.FAILED
    _touch(box, house.now)
    box.mechanics.report(Fault, code=FaultCode.SENSOR, text="card sensor failed")
    house.look()
    return True


def shoe_covered(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A floorperson covers a shoe that works, and the table deals without it for some rounds."""
    house = people.unlucky
    if "shoe" not in house.wired or house.state.table not in _BETWEEN_ROUNDS:
        return False
    if not people.pressed(act.TakeOutOfService(device="shoe", how="covered", **FLOORPERSON)):
        return False
    people.covered_until = house.now + 120.0 + 10 * mishap.for_s
    return True


# --- counts ---------------------------------------------------------------------------------------------------------


def false_count(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The next count of the shuffler is reported in a way that proves nothing; `WatchedFirmware` does it."""
    house = people.unlucky
    kind = house.setup.shuffler
    if kind is None or not kind.counts or (mishap.kind == "kinds_missing" and not kind.recognises):
        return False
    house.false_count = mishap
    return True


def counts_unasked(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A shuffler counts although the set-up says that it does not, and a card is lost in its next shuffle."""
    house = people.unlucky
    kind = house.setup.shuffler
    if kind is None or kind.counts:
        return False
    mechanics = house.wired["shuffler"].device.mechanics
    mechanics.arm(FaultName.MISSING_CARD, mishap.salt % 40)
    if mishap.salt % 2:
        mechanics.capabilities |= {Capability.COUNTS}
    else:
        house.false_count = mishap
    return True


# --- the computer ---------------------------------------------------------------------------------------------------


def clock_corrected(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The wall clock runs ahead; the computer is off for a time, and then its clock is right again."""
    house, rng = people.unlucky, random.Random(mishap.salt)
    off_s = rng.choice((600.0, 2400.0, 9000.0))
    if house.dark:
        return False

    def ahead() -> None:
        house.set_wall_clock(rng.choice((300.0, 1800.0, 7200.0)))

    def off() -> None:
        if not house.dark:
            people.away(off_s)
            house.reboot(off_s)

    house.later(5.0, ahead)
    house.later(30.0 + mishap.for_s, off)
    return True


# --- players --------------------------------------------------------------------------------------------------------


def idled(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The players have wagered, take their wagers and leave; those who come next have not wagered."""
    house = people.unlucky
    if house.state.table is not TableState.BETTING or house.state.round:
        return False
    if not people.pressed(act.Wager(seats=(1, 2), **DEALER)) or not people.pressed(act.IdleTable(**DEALER)):
        return False
    people.hasty_bets = True
    return True


TAMPERING: Final[dict[str, Callable[[ClumsyPeople, Mishap], bool]]] = {
    "deck_swapped": deck_swapped,
    "deck_from_hand": deck_from_hand,
    "recut": recut,
    "other_device": other_device,
    "lesser_device": lesser_device,
    "fails_with_memory": fails_with_memory,
    "shoe_covered": shoe_covered,
    "counts_disagree": false_count,
    "counted_at_infeed": false_count,
    "kinds_missing": false_count,
    "counts_unasked": counts_unasked,
    "clock_corrected": clock_corrected,
    "idled": idled,
}
