"""The story of a violation: what went wrong, what was decided just before, and where each card was."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from controller.core.events.event import Entry
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import ON_THE_TABLE
from simulators.table.hands import DEALERS_SEAT, SOURCE

if TYPE_CHECKING:
    from simulators.campaign.unlucky_house import UnluckyHouse

LAST_EVENTS: Final = 30
LAST_NOTES: Final = 12
_NOTHING_SHOWN: Final = frozenset({"command.answered", "table.configured", "snapshot.taken"})
_NAMED: Final = {
    **{
        Spot(place): f"the {place.name.lower()}"
        for place in CardPlace
        if place not in (CardPlace.TABLE, CardPlace.HAND)
    },
    **{spot: f"the {str(method).replace('_', ' ')}" for method, spot in SOURCE.items()},
    Spot(CardPlace.EXIT, 0): "the exit of the shoe",
    Spot(CardPlace.EXIT, 1): "the exit of the shuffler",
    Spot(CardPlace.HAND, DEALERS_SEAT): "the dealer's hand",
    ON_THE_TABLE: "what came out of a jam",
}


def story(house: UnluckyHouse) -> list[str]:
    """The mishaps and the last events in order, then the cards of each deck, then the guide."""
    return [*_timeline(house), *_cards(house), *_devices(house), f"The guide: {_guide(house)}"]


def _timeline(house: UnluckyHouse) -> list[str]:
    """The notes of the house among the last events. Notes that are older come first."""
    events = [entry for entry in house.events[-2 * LAST_EVENTS :] if entry.kind not in _NOTHING_SHOWN][-LAST_EVENTS:]
    lines = [(entry.seq, 0, _line(entry)) for entry in events]
    notes = house.notes[-LAST_NOTES:]
    lines += [(seq, 1, f"{at:9.1f} s  ! {text}") for at, seq, text in notes]
    return [text for _, _, text in sorted(lines, key=lambda line: line[:2])]


def _line(entry: Entry) -> str:
    clauses = f" ({', '.join(entry.clause)})" if entry.clause else ""
    return f"{entry.event.at_ms / 1000:9.1f} s  {entry.seq} {entry.kind}{clauses}: {entry.event.sentence()}"


def _cards(house: UnluckyHouse) -> list[str]:
    """For each deck at the table, and each that has left its pile: the ledger, and the physical cards."""
    seen: dict[str, Counter[str]] = {}
    for place in CardPlace:
        for spot in house.cards.spots(place):
            for card in house.cards.pile(spot):
                spare = ", a spare" * house.cards.is_spare(card)
                seen.setdefault(card.deck, Counter())[f"{_place(spot, house.decks)}{spare}"] += 1
    lines = []
    for name in house.decks:
        at = seen.get(name, Counter())
        deck = house.state.decks.get(name)
        if deck is None and set(at) <= {_pile(name), "the floor, a spare"}:
            continue
        believed = f"{deck.state}, believed {_counts(deck.cards)}" if deck else "not at the table"
        lines.append(f"Deck {name}: {believed}; there are {_counts(at)}")
    return lines


def _pile(deck: str) -> str:
    return f"the pile of {deck}"


def _place(spot: Spot, decks: tuple[str, ...]) -> str:
    """The name of a spot."""
    if spot in _NAMED:
        return _NAMED[spot]
    if spot.place is CardPlace.TABLE:
        return _pile(decks[spot.number])
    if spot.place is CardPlace.HAND:
        return f"seat {spot.number}"
    return f"{spot.place.name.lower()} {spot.number}"


def _counts(places: dict[str, int] | Counter[str]) -> str:
    return ", ".join(f"{number} at {place}" for place, number in sorted(places.items())) or "none"


def _devices(house: UnluckyHouse) -> list[str]:
    lines = []
    for name, wired in house.wired.items():
        faults = ", ".join(str(fault) for fault in wired.device.faults)
        believed = house.state.devices[name].state if name in house.state.devices else "not set up"
        mode = wired.device.mechanics.mode.name.lower()
        lines.append(f"The {name}: believed {believed}; it is {mode}, {faults or 'no fault'}")
    return lines


def _guide(house: UnluckyHouse) -> str:
    step = house.live.table.next_step(house.now)
    return f"{step.text} {step.why}".strip()
