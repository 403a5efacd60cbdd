"""The steps of scenarios: what people, hands, faults, time and the host do. Each returns what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller.core import ledger
from controller.core.events.table import refusals
from simulators.devices.cards import CardPlace, Spot
from simulators.table.people import People
from simulators.table.scenario_checks import wrong_state
from simulators.table.scenario_file import action_of
from simulators.table.scenario_format import MACHINE, DeviceTraits, ScenarioStep
from simulators.table.scenario_house import SWAP_S, ScenarioHouse


def carry_out(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    """Carry out one step; returns what went wrong, if anything did."""
    return _STEPS[step.verb](house, people, step)


def _seen(house: ScenarioHouse, start: int, kind: str) -> bool:
    """Whether an event of this kind came after this many events."""
    return any(event.kind == kind for event in house.events[start:])


def _routine(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    start = len(house.events)
    people.enough = (lambda: _seen(house, start, step.to)) if step.to else None
    if step.routine == "open":
        done = people.open()
    elif step.routine == "round":
        done = all(people.play(step.seats or (1, 3, 6)) for _ in range(step.times))
    else:
        done = people.work(limit_s=step.within_s)
    people.enough = None
    if step.to and not _seen(house, start, step.to):
        return f"no {step.to} was seen in `{step.routine}`"
    if step.stuck:
        return "" if not done else f"people finished `{step.routine}`, and should have been stuck"
    return "" if done else f"people could not finish `{step.routine}`"


def _do(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    people.pause()
    action = action_of(step, house.setup)
    made = house.report(action)  # type: ignore[arg-type]
    house.look()
    refused = refusals(made)
    if step.moves and not refused:
        people.hands.carry_out(action)
    if step.refused and not refused:
        return f"{step.do} was accepted, and should have been refused"
    if refused and not step.refused:
        return f"{step.do} was refused: {refused[0].data['reason']}"
    if refused and step.refused not in (refused[0].clause or (MACHINE,)):
        by = ", ".join(refused[0].clause) or f"the {MACHINE} alone"
        return f"{step.do} was refused by {by}, and should have been by {step.refused}"
    return ""


# --- hands ----------------------------------------------------------------------------------------------------------


def _take(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    people.pause()
    spot = Spot(CardPlace.HAND, step.seat) if step.seat else Spot(CardPlace.RACK)
    taken = house.wired[step.take].device.take(spot, house.now)
    people.pause()
    return "" if taken else f"there were no cards at the exit of the {step.take}"


def _load(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    people.pause()
    source = people.hands.own(step.deck)
    there = house.cards.count(source)
    house.wired[step.load].device.load(source, house.now)
    people.pause()
    return "" if there else f"no cards of deck {step.deck} are on its pile"


def _move(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    people.pause()
    moved = _carry(people, step.move, step.to, step.cards, step.deck)
    people.pause()
    if step.cards is not None and moved != step.cards:
        return f"{moved} cards were moved from {step.move} to {step.to}, and should have been {step.cards}"
    return "" if moved else f"no such cards were at {step.move}"


def _swap(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    people.pause()
    out = _carry(people, step.swap, ledger.TABLE)
    people.pause()
    into = _carry(people, ledger.TABLE, step.swap, deck=step.deck)
    people.pause()
    if not out:
        return f"no cards were at {step.swap}"
    return "" if into else f"no cards of deck {step.deck} are on its pile"


def _arrange(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    """Put certain cards on top of those that are dealt from, so that they come out next."""
    spot = people.hands.dealt_from()
    names = house.setup.game.kinds
    there = house.cards.pile(spot)
    first = []
    for name in step.arrange or ():
        found = next((card for card in there if names[card.kind] == name and card not in first), None)
        if found is None:
            return f"there is no {name} left where cards are dealt from"
        first.append(found)
    house.cards.reorder(spot, [*first, *(card for card in there if card not in first)])
    return ""


def _hands(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    """Certain cards come to certain hands, whenever these are dealt to; their players decide with them as planned."""
    spot = people.hands.dealt_from()
    names = house.setup.game.kinds
    planned = {hand: [card for cards in plan.values() for card in cards] for hand, plan in (step.hands or {}).items()}
    left = [card for cards in planned.values() for card in cards]
    others, kept = [], []
    for card in house.cards.pile(spot):
        if names[card.kind] in left:
            left.remove(names[card.kind])
            kept.append(card)
        else:
            others.append(card)
    if left:
        return f"there is no {left[0]} left where cards are dealt from"
    house.cards.reorder(spot, [*others, *kept])
    people.plans, people.hands.planned = dict(step.hands or {}), planned
    house.before_deal = people.hands.bring_up
    return ""


def _carry(people: People, source: str, to: str, number: int | None = None, deck: str = "") -> int:
    """Move this many cards of a deck, or all, between two places; return how many were moved."""
    target = None if to == ledger.TABLE else people.hands.spots_at(to)[0]
    moved = 0
    for spot in people.hands.spots_at(source):
        moved += people.hands.carry(spot, target, None if number is None else number - moved, deck)
    return moved


def _door(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    people.pause()
    moved = house.wired[step.device].device.door(step.door == "open", house.now)
    people.pause()
    if moved is step.stuck:
        return f"the door of the {step.device} {'moved, and should have been' if moved else 'is'} locked"
    return ""


# --- devices --------------------------------------------------------------------------------------------------------


def _fault(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    assert step.fault
    device = house.wired[step.device].device
    device.inject(step.fault, house.now, after_cards=step.after_cards, for_s=step.for_s)
    house.look()
    return ""


def _mend(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    assert step.mend
    house.wired[step.device].device.mend(step.mend, house.now)
    house.look()
    return ""


def _replace(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    out_s = SWAP_S if step.for_s is None else step.for_s
    traits = DeviceTraits(step.has, step.lacks)
    house.replace(step.replace, traits, step.serial, out_s, other_journal=step.other_journal)
    return ""


# --- time and the host ----------------------------------------------------------------------------------------------


def _wait(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    house.run(lambda: False, step.wait_s or 0.0)
    return ""


def _until(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    start = len(house.events)
    seen = house.run(lambda: _seen(house, start, step.until), step.within_s)
    return "" if seen else f"no {step.until} within {step.within_s:g} s"


def _clock(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    house.wall_s += step.clock_s or 0.0
    return ""


def _host_dies(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    house.kill(step.for_s or 0.0, step.at, step.moment)
    return ""


def _check(house: ScenarioHouse, people: People, step: ScenarioStep) -> str:
    assert step.check
    return "; ".join(wrong_state(step.check, house))


_STEPS: Final[dict[str, Callable[[ScenarioHouse, People, ScenarioStep], str]]] = {
    "routine": _routine,
    "do": _do,
    "take": _take,
    "load": _load,
    "move": _move,
    "swap": _swap,
    "arrange": _arrange,
    "hands": _hands,
    "fault": _fault,
    "mend": _mend,
    "door": _door,
    "replace": _replace,
    "wait_s": _wait,
    "until": _until,
    "clock_s": _clock,
    "host_dies": _host_dies,
    "check": _check,
}
