"""What a scenario expects: events that must be seen, their order, and the state of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controller.core.events.event import Entry
from controller.core.machines import TableState
from simulators.devices.cards import CardPlace, Spot
from simulators.table.hands import SOURCE
from simulators.table.scenario_format import RETIRED, ExpectedEvent, ExpectedState, OrderedEvent, Scenario
from simulators.table.scenario_house import ScenarioHouse

# Places of the ledger and where their cards are. During a shuffle they pass through all places of the shuffler.
_TOGETHER: dict[str, tuple[tuple[str, ...], tuple[CardPlace, ...], tuple[Spot, ...]]] = {
    "shuffler": (("infeed", "shelves", "output"), (CardPlace.INFEED, CardPlace.SHELVES, CardPlace.OUTPUT), ()),
    "shoe": (("shoe", "held"), (CardPlace.SHOE, CardPlace.HELD), ()),
    "manual shoe or hand": (("manual_shoe", "hand"), (), tuple(SOURCE.values())),
    "rack": (("rack",), (CardPlace.RACK,), ()),
}


def problems_at_the_end(scenario: Scenario, house: ScenarioHouse) -> list[str]:
    """Everything that is not as the scenario expects."""
    unseen = [problem for expected in scenario.see for problem in _unseen(expected, house.events)]
    when = " once a command was sent" if house.death and house.death.moment == "sent" else ""
    alive = [f"the host should have died with {house.death.kind}{when}, and did not"] if house.death else []
    state = [f"at the end {problem}" for problem in wrong_state(scenario.end, house)]
    return [*unseen, *_out_of_order(scenario.order, house.events), *alive, *state, *_untrue(house)]


# --- events ---------------------------------------------------------------------------------------------------------


def _is(event: Entry, expected: ExpectedEvent | OrderedEvent) -> bool:
    return (
        event.kind == expected.event
        and (not expected.clause or expected.clause in event.clause)
        and all(_matches(value, getattr(event.event, name)) for name, value in expected.data.items())
    )


def _matches(wanted: Any, found: Any) -> bool:
    """Lists match entry by entry; of a group, the given fields must match."""
    if isinstance(wanted, dict):
        fields = found if isinstance(found, dict) else {name: getattr(found, name, None) for name in wanted}
        return all(_matches(value, fields.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list):
        same = isinstance(found, list | tuple) and len(found) == len(wanted)
        return same and all(_matches(*pair) for pair in zip(wanted, found, strict=True))
    return bool(wanted == found)


def _unseen(expected: ExpectedEvent, events: list[Entry]) -> Iterator[str]:
    first, last = 0, len(events)
    for kind, where in ((expected.after, "after"), (expected.before, "before")):
        if kind:
            at = next((number for number, event in enumerate(events) if event.kind == kind), None)
            if at is None:
                yield f"{expected.event} should be seen {where} {kind}, which was not seen"
                return
            first, last = (at + 1, last) if where == "after" else (first, at)
    found = sum(_is(event, expected) for event in events[first:last])
    if (expected.times is None and not found) or (expected.times is not None and found != expected.times):
        number = "at least once" if expected.times is None else _times(expected.times)
        by = f" by {expected.clause}" if expected.clause else ""
        after = f" after {expected.after}" if expected.after else ""
        before = f" before {expected.before}" if expected.before else ""
        yield f"{expected.event}{by} should be seen {number}{after}{before}, and was seen {_times(found)}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _out_of_order(order: list[OrderedEvent], events: list[Entry]) -> list[str]:
    """Each entry must match an event after the one that the entry before it matched."""
    rest = iter(events)
    for number, expected in enumerate(order, 1):
        if not any(_is(event, expected) for event in rest):
            after = f" after {order[number - 2].event}" if number > 1 else ""
            return [f"order {number}: {expected.event} should be seen{after}, and was not"]
    return []


# --- states ---------------------------------------------------------------------------------------------------------


def wrong_state(expected: ExpectedState, house: ScenarioHouse) -> list[str]:
    """What is not as expected, each as `the table should be betting, and is dealing`."""
    state, problems = house.state, []
    if expected.table and state.table != expected.table:
        problems.append(f"the table should be {expected.table}, and is {state.table}")
    if expected.warnings is not None and set(expected.warnings) != set(state.warnings):
        standing = ", ".join(state.warnings) or "none"
        problems.append(f"the warnings should be {', '.join(expected.warnings) or 'none'}, and are {standing}")
    for name, wanted in expected.decks.items():
        deck = state.decks.get(name)
        found = str(deck.state) if deck else RETIRED if name in state.retired else "not at the table"
        if found != wanted:
            problems.append(f"deck {name} should be {wanted}, and is {found}")
    for name, cards in expected.ledger.items():
        believed = state.decks[name].cards if name in state.decks else {}
        if believed != cards:
            problems.append(f"the ledger of deck {name} should be {_listed(cards)}, and is {_listed(believed)}")
    for name, wanted in expected.devices.items():
        device = state.devices.get(name)
        is_ = str(device.state) if device else "not set up"
        if is_ != wanted:
            problems.append(f"the {name} should be {wanted}, and is {is_}")
    if expected.headline not in house.headline():
        problems.append(f"the headline should contain {expected.headline!r}, and is {house.headline()!r}")
    if expected.why not in house.guide().why:
        problems.append(f"the reason should contain {expected.why!r}, and is {house.guide().why!r}")
    return problems


def _listed(cards: dict[str, int]) -> str:
    return ", ".join(f"{place} {number}" for place, number in cards.items()) or "empty"


def _untrue(house: ScenarioHouse) -> list[str]:
    """Between rounds, the ledger of each deck must match the physical cards."""
    if house.state.table is not TableState.BETTING:
        return []
    problems = []
    for name, deck in house.state.decks.items():
        for what, (places, piles, spots) in _TOGETHER.items():
            together = [*spots, *(spot for place in piles for spot in house.cards.spots(place))]
            true = sum(card.deck == name for spot in together for card in house.cards.pile(spot))
            believed = sum(deck.cards.get(place, 0) for place in places)
            if true != believed:
                problems.append(f"{true} cards of deck {name} are in the {what}, and the table believes {believed}")
    return problems
