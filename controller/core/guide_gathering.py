"""The steps of the guide in which the cards of a deck are brought together, and in which a deck leaves the table."""

# mypyc
from __future__ import annotations

from controller.core import ledger
from controller.core.actions import Role
from controller.core.machines import DeckState, DeviceState
from controller.core.names import cards, place_name
from controller.core.rules.gathering import emptied_by_device, loose_places, next_place
from controller.core.state import State
from controller.core.step import ByHand, Offer, Step
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Eject

# Which cards are at a place where they have not been counted.
UNCOUNTED = {ledger.TAKEN: "last taken from the shoe", ledger.FREED: "taken out of the jam"}


def gather_step(state: State, name: str) -> Step:
    """The next step for a deck whose cards are being brought together."""
    place, deck = next_place(state, name), state.decks[name]
    why = f"All cards of deck {name} must be gathered"
    why += "." if deck.state is DeckState.LOCKED_OUT else " and reshuffled."
    device = ledger.DEVICE_OF.get(place, "")
    gathered: Offer = {"action": "gather_cards", "deck": name, "place": place}
    if not place:
        warned = state.warnings.get(f"{name}.count")
        rules = tuple(warned.clause) if warned else (Rule.WRONG_COUNT,)
        return removal_step(name, f"Deck {name} is locked out.", rules)
    if place == ledger.MISSING:
        if looking := _looking(state, name):
            return looking
        number = deck.cards[place]
        text = f"Deck {name} has {cards(-number)} too many: count it again, or have a floorperson declare it."
        if number > 0:
            them = "it" if number == 1 else "them"
            text = f"Find {cards(number)} of deck {name}, or have a floorperson declare {them} missing."
        ready = [each for each in state.devices if _ready(state, each)]
        look: list[Offer] = [{"action": "empty_device", "device": each} for each in ready]
        declared: Offer = {"action": "declare_missing", "deck": name}
        recount: Offer = {"action": "gather_all", "deck": name}
        offers = (gathered, *look, declared) if number > 0 else (declared, recount)
        return Step(text, why, (Rule.WRONG_COUNT,), offers, role=Role.FLOOR)
    loose = loose_places(state, name)
    several = len(loose) > 1
    at_once: tuple[Offer, ...] = ({"action": "gather_all", "deck": name},) if several else ()
    if place in UNCOUNTED:
        text = f"Put the cards {UNCOUNTED[place]} on the pile and count them."
        return Step(text, "They have not been counted.", do=(*at_once, gathered))
    if emptied_by_device(state, place):
        if not state.devices[device].at_exit:
            return Step(f"The {device} is bringing out its cards.", why)
        # There is no button for an empty exit: people would press it after taking the cards.
        exit_ = ledger.IN_DEVICE[device][-1]
        text = f"Take the cards from the {device}. If the exit is empty, record 0 cards at the {exit_}."
        empty: Offer = {"action": "gather_cards", "deck": name, "place": exit_, "cards": 0}
        return Step(text, why, by_hand=ByHand.TAKE, device=device, if_empty=empty)
    first, opened = open_first(state, device)
    if device and state.devices[device].state is DeviceState.JAMMED:
        text = f"{first}Free the jam in the {device}, or take all cards out by hand and count them."
        freed: Offer = {"action": "free_jam", "device": device}
        return Step(text, refusal_text(state, device) or why, do=(*opened, freed, gathered))
    if device and state.devices[device].hindered and state.devices[device].online:
        text = f"Check the {device} and try again, or take all cards out by hand and count them."
        again: Offer = {"action": "try_again", "device": device}
        return Step(text, refusal_text(state, device), do=(again, *opened, gathered))
    source = f"the {device}" if device else place_name(place)
    text = f"{first}Gather the cards from {source} and count them."
    if several:
        held = [ledger.DEVICE_OF[each] for each in loose if each in ledger.DEVICE_OF]
        first, opened = open_first(state, held[0] if held else "")
        text = f"{first}Put all cards of deck {name} in one pile and count it, or begin with {source}."
    return Step(text, why, do=(*opened, *at_once, gathered))


def removal_step(name: str, why: str, rules: tuple[str, ...]) -> Step:
    """The step in which a deck leaves the table."""
    leaves: Offer = {"action": "remove_deck", "deck": name}
    return Step(f"A floorperson takes deck {name} off the table.", why, rules, (leaves,))


def _looking(state: State, deck: str) -> Step | None:
    """The step while a device is being emptied to find the missing cards of a deck."""
    for name, device in state.devices.items():
        given = device.at_exit or device.doing
        if given and isinstance(given.command, Eject) and given.deck == deck:
            why = f"Cards of deck {deck} are missing."
            if device.at_exit:
                return Step(f"Take the cards from the {name}.", why, by_hand=ByHand.TAKE, device=name)
            return Step(f"The {name} is bringing out its cards.", why)
    return None


def _ready(state: State, device: str) -> bool:
    """Whether a device can bring out its cards."""
    found = state.devices[device]
    return found.state is DeviceState.READY and found.online and not found.hindered and found.at_exit is None


def open_first(state: State, device: str) -> tuple[str, tuple[Offer, ...]]:
    """What to do before reaching into a locked device, as text and as an action. One that is off opens with a key."""
    if not device or not state.devices[device].locked or not state.devices[device].online:
        return "", ()
    return f"The {device} is locked: report that you are opening it. ", ({"action": "open_device", "device": device},)


def refusal_text(state: State, device: str) -> str:
    """Why a device refused its last command, as text; empty if it did not."""
    hindered = state.devices[device].hindered
    return f"The {device} refused: {hindered}." if hindered else ""
