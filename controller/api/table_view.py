"""The table as the screen and the CLI show it, as plain data made from the state. It never contains undealt cards."""

from __future__ import annotations

from typing import Any

from controller.api.game_view import asked_fields, game_view
from controller.core import ledger
from controller.core.flows import Flow
from controller.core.guide import device_step, next_step, warning_step
from controller.core.guide_gathering import UNCOUNTED
from controller.core.machines import DeckState, TableState
from controller.core.names import capital, command_name, out_name, place_name, state_name
from controller.core.rules.dealing import next_stack
from controller.core.rules.gathering import in_gathering_order, next_place
from controller.core.rules.guards import (
    NO_LIMIT_MS,
    SOURCE,
    age_ms,
    counts,
    in_service,
    left_ms,
    life_ms,
    rounds_uncounted,
)
from controller.core.state import Deck, Device, Round, State, Warned, due_deck
from controller.core.step import Step
from controller.core.warning_kinds import cleared_by, remedy


def table_view(state: State, now_ms: int) -> dict[str, Any]:
    """Everything that a screen shows, except the health of links and journal."""
    game = state.setup.game
    return {
        "seq": state.seq,
        "now_ms": now_ms,
        "table": str(state.table),
        "table_words": state_name(state.table),
        "why": state.why,
        "game": game.name,
        "method": str(state.method),
        "seats": state.setup.seats,
        "backs": list(state.setup.backs),
        "due": state.due,
        "due_deck": due_deck(state),
        "wagered": list(state.seats),
        "step": step(next_step(state, now_ms), state),
        "round": _round(state, state.round) if state.round else None,
        **game_view(state),
        "decks": [_deck(state, name, deck, now_ms) for name, deck in state.decks.items()],
        "devices": [_device(state, name, device) for name, device in state.devices.items()],
        "warnings": [_warning(state, key, warned) for key, warned in state.warnings.items()],
        "troubles": _troubles(state),
        "void_steps": _void_steps(state),
        "rounds": state.rounds,
        "rounds_uncounted": rounds_uncounted(state),
        "stub_count_rounds": None if counts(state) else game.stub_count_rounds or None,
        "access": {"locked": _locked(state, now_ms)},
    }


def stopped_view(why: str) -> dict[str, Any]:
    """The view of a table that has stopped."""
    step = {"text": "The table has stopped.", "why": why, "clause": [], "who": "technician", "allowed_actions": []}
    nothing: dict[str, Any] = {
        "devices": [],
        "decks": [],
        "warnings": [],
        "troubles": [],
        "round": None,
        "access": {"locked": []},
    }
    return {"seq": 0, "table": "stopped", "table_words": "stopped", "step": step, **nothing}


def step(found: Step, state: State) -> dict[str, Any]:
    """The next step as the API returns it."""
    return {
        "text": found.text,
        "why": found.why,
        "clause": list(found.clause),
        "who": str(found.by[0]) if found.by else "device",
        "do": [dict(offer) for offer in found.do],
        "asks": asked_fields(state, found.do),
        "allowed_actions": list(found.allowed_actions),
    }


def flow_view(found: Flow, state: State) -> dict[str, Any]:
    """A flow as the API returns it. The first task that is not done is the next one; `step` says how to do it."""
    return {
        "goal": str(found.goal),
        "about": found.about,
        "title": found.title,
        "done": found.step is None,
        "tasks": [{"text": task.text, "done": task.done} for task in found.tasks],
        "step": step(found.step, state) if found.step else None,
    }


def _round(state: State, round_: Round) -> dict[str, Any]:
    at_exit = {device.at_exit.target for device in state.devices.values() if device.at_exit}
    coming = next_stack(round_)
    cards = state.decks[round_.deck].cards if round_.deck in state.decks else {}
    stacks = []
    for number, stack in enumerate(round_.plan):
        if number < round_.dealt:
            how = "dealt" if cards.get(stack.target) else "collected"
        elif stack is coming and round_.held and stack.held:
            how = "held"
        elif stack is coming:
            how = "at_exit" if stack.target in at_exit else "due"
        else:
            how = "waiting"
        stacks.append({"target": stack.target, "cards": stack.cards, "face_up": stack.face_up is True, "state": how})
    return {
        "number": round_.number,
        "deck": round_.deck,
        "method": str(round_.method),
        "seats": list(round_.seats),
        "dealt": round_.dealt,
        "stacks": stacks,
        "void": round_.void,
        "void_reason": round_.void_reason,
        "void_clause": list(round_.void_clause),
        "wagers_open": round_.wagers_open,
        "stub_out": round_.stub_out,
        "stub_counted": round_.stub_counted,
        "face_up": round_.face_up,
        "acted": round_.acted,
        "collected": [stack["target"] for stack in stacks if stack["state"] == "collected"],
    }


def _deck(state: State, name: str, deck: Deck, now_ms: int) -> dict[str, Any]:
    age, life = age_ms(deck, now_ms), life_ms(state)
    return {
        "name": name,
        "back": deck.back,
        "state": str(deck.state),
        "state_words": state_name(deck.state),
        "cards": {place: number for place, number in deck.cards.items() if number},
        "total": sum(deck.cards.values()),
        "missing": deck.cards.get(ledger.MISSING, 0),
        "counted": deck.counted,
        "age_ms": age,
        "life_ms": life if life < NO_LIMIT_MS else None,
        "left_ms": None if age is None or life >= NO_LIMIT_MS else left_ms(state, age),
        "change_due": deck.change_due,
        "due": name == due_deck(state),
    }


def _device(state: State, name: str, device: Device) -> dict[str, Any]:
    doing = device.doing
    return {
        "name": name,
        "state": str(device.state),
        "state_words": state_name(device.state),
        "online": device.online,
        "doing": command_name(doing.name) if doing else None,
        "doing_until_ms": doing.until_ms if doing else None,
        "hindered": device.hindered or device.refused,
        "out_how": device.out_how,
        "out_words": out_name(device.out_how),
        "locked": device.locked,
        "cards": sum(deck.cards.get(place, 0) for deck in state.decks.values() for place in ledger.IN_DEVICE[name]),
        "at_exit": device.at_exit.target if device.at_exit else None,
    }


def _warning(state: State, key: str, warned: Warned) -> dict[str, Any]:
    """A warning. If its device is out of service it is set aside: it remains, but blocks only that device."""
    aside = bool(warned.device) and not in_service(state, warned.device)
    leaves = warned.deck and _leaves(state, warned.deck)
    text = f"A floorperson takes deck {warned.deck} off the table" if leaves else remedy(key)
    steps = [{"text": text, "done": warned.gone}]
    if aside:
        out = out_name(state.devices[warned.device].out_how)
        steps = [
            {"text": f"The {warned.device} is out of service: {out}", "done": True},
            {"text": f"Once it is repaired, put the {warned.device} back in service", "done": False},
        ]
    return {
        "key": key,
        "text": warned.text,
        "clause": list(warned.clause),
        "needs": warned.needs,
        "device": warned.device,
        "deck": warned.deck,
        "gone": warned.gone,
        "aside": aside,
        "since_ms": warned.since_ms,
        "do": [] if aside else _ways_out(warning_step(state, [key])),
        "steps": [
            *steps,
            {"text": capital(f"{cleared_by(warned.needs)} clears the warning"), "done": False},
        ],
    }


def _leaves(state: State, name: str) -> bool:
    """Whether a deck with a warning has left or must leave, with no card to be found first."""
    deck = state.decks.get(name)
    return deck is None or (deck.state is DeckState.LOCKED_OUT and not deck.cards.get(ledger.MISSING))


def _troubles(state: State) -> list[dict[str, Any]]:
    """Devices that cannot be used now, without a warning: not connected yet, offline for a moment, or refusing."""
    if state.table is TableState.CLOSED:
        return []
    found = []
    for name, device in state.devices.items():
        alarmed = any(warned.device == name and not warned.gone for warned in state.warnings.values())
        asked = None if alarmed else device_step(state, {name: device})
        if asked:
            found.append({"device": name, "text": asked.why, "remedy": asked.text, "do": _ways_out(asked)})
    return found


def _ways_out(found: Step | None) -> list[dict[str, Any]]:
    """The actions of a step that a warning or a device asks for."""
    return [dict(offer) for offer in found.do] if found else []


def _void_steps(state: State) -> list[dict[str, Any]] | None:
    round_ = state.round
    if round_ is None or not round_.void:
        return None
    steps = [{"text": "Return all wagers", "done": not round_.wagers_open}]
    deck = state.decks[round_.deck]
    if round_.keeps:
        together = set(deck.cards) <= {ledger.RACK, SOURCE[round_.method]}
        return [*steps, {"text": "Put the cards of the void round into the rack", "done": together}]
    visited = in_gathering_order({*round_.void_places, *deck.cards})
    for group in dict.fromkeys(ledger.DEVICE_OF.get(place, place) for place in visited):
        places = ledger.IN_DEVICE.get(group, (group,))
        steps.append({"text": _gathering(group, round_.deck), "done": not any(deck.cards.get(one) for one in places)})
    steps.append({"text": f"All cards of deck {round_.deck} are together", "done": not next_place(state, round_.deck)})
    locked_out = deck.state is DeckState.LOCKED_OUT
    last = f"A floorperson takes deck {round_.deck} off the table" if locked_out else f"Reshuffle deck {round_.deck}"
    return [*steps, {"text": last, "done": False}]


def _gathering(place: str, deck: str) -> str:
    """What to do at a place of a void round. It does not say how many cards to expect there: people count them."""
    if place in UNCOUNTED:
        return f"Put the cards {UNCOUNTED[place]} on the pile"
    if place == ledger.MISSING:
        return f"Account for the missing or surplus cards of deck {deck}"
    return (
        f"Take the cards out of the {place}" if place in ledger.IN_DEVICE else f"Gather the cards: {place_name(place)}"
    )


def _locked(state: State, now_ms: int) -> list[dict[str, Any]]:
    """Who is locked out, where, and until when."""
    return [
        {"name": name or "a stranger", "via": via, "until_ms": wrong.until_ms}
        for name, places in state.wrong_pins.items()
        for via, wrong in places.items()
        if wrong.until_ms > now_ms
    ]
