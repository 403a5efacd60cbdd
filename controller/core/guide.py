"""What the dealer is told now: the next step, why, and what else is possible. It only looks at the state."""

from __future__ import annotations

import msgspec

from controller.core import ledger
from controller.core.actions import Action, AnyAction, OnDeck, OnDevice
from controller.core.dealing import next_stack, stub_may_leave, waits_for_players
from controller.core.decision import Refusal, why_not
from controller.core.game import Method
from controller.core.gathering import GATHERED_STATES, emptied_by_device, next_place
from controller.core.guards import (
    blocking,
    cannot_start,
    counts,
    decks_wanted,
    in_service,
    over_age,
    self_reshuffling,
    stub_count_due,
    wrong_number_of_decks,
)
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.state import Round, State, due_deck


class Step(msgspec.Struct, frozen=True):
    """What is to be done now."""

    text: str
    why: str = ""
    clause: tuple[str, ...] = ()
    allowed_actions: tuple[str, ...] = ()


_ACTIONS: tuple[type[Action], ...] = AnyAction.__args__

_OPENING: dict[DeckState, tuple[str, str]] = {
    DeckState.RECEIVED: ("The dealer inspects deck {}.", "4.A"),
    DeckState.INSPECTED: ("A floorperson verifies deck {}.", "4.A"),
    DeckState.VERIFIED: ("Spread deck {} face up for the first player.", "4.B"),
    DeckState.SPREAD: ("Turn deck {} face down and wash it.", "4.C"),
    DeckState.WASHED: ("Stack deck {}.", "4.C"),
}


def allowed_actions(state: State) -> tuple[str, ...]:
    """The actions that the machines allow now, whatever their guards may say."""
    return tuple(str(kind.__struct_config__.tag) for kind in _ACTIONS if _possible(state, kind))


def _possible(state: State, kind: type[Action]) -> bool:
    decks = list(state.decks) if issubclass(kind, OnDeck) and kind.kind != "deck.received" else [""]
    devices = list(state.devices) if issubclass(kind, OnDevice) else [""]
    return any(why_not(state, kind.kind, deck, device) is None for deck in decks for device in devices)


def next_step(state: State, now_ms: int) -> Step:
    """The one thing that the table waits for."""
    step = (
        _void(state)
        or _gather(state)
        or _warning(state)
        or _ordinary(state, now_ms)
        or Step("Wait.", "The devices are at work.")
    )
    return msgspec.structs.replace(step, allowed_actions=allowed_actions(state))


# --- when something is wrong ----------------------------------------------------------------------------------------


def _void(state: State) -> Step | None:
    if state.table is not TableState.VOIDING or state.round is None:
        return None
    if state.round.wagers_open:
        return Step("Return all wagers.", f"Round {state.round.number} is void.", ("13.G",))
    return _gather_one(state, state.round.deck)


def _gather(state: State) -> Step | None:
    if state.table in (TableState.DEALING, TableState.ACTING, TableState.REVEALING, TableState.CLEARING):
        return None  # a round is never held up by the other deck
    for name, deck in state.decks.items():
        if deck.state in GATHERED_STATES:
            return _gather_one(state, name)
    return None


def _gather_one(state: State, name: str) -> Step:
    place, deck = next_place(state, name), state.decks[name]
    why = f"All cards of deck {name} come together" + (
        "." if deck.state is DeckState.LOCKED_OUT else " and are reshuffled."
    )
    device = ledger.DEVICE_OF.get(place, "")
    if not place:
        return Step(f"A floorperson takes deck {name} off the table.", f"Deck {name} is locked out.", ("5.D",))
    if place == ledger.MISSING:
        number = deck.cards[place]
        text = (
            f"{number} cards of deck {name} are missing: find them" if number > 0 else f"Deck {name} has too many cards"
        )
        return Step(f"{text}, or a floorperson declares it.", why, ("5.D",))
    if emptied_by_device(state, place):
        at_exit = state.devices[device].at_exit
        return Step(f"Take the cards from the {device}." if at_exit else f"The {device} brings its cards out.", why)
    first = _open_first(state, device)
    if device and state.devices[device].state is DeviceState.JAMMED:
        return Step(f"{first}Free the jam in the {device}, or take all cards out by hand and count them.", why)
    return Step(f"{first}Gather the cards at {device or place}, and count them.", why)


def _open_first(state: State, device: str) -> str:
    """What comes before a hand can reach into a device."""
    return f"The {device} is locked: say that you open it. " if device and state.devices[device].locked else ""


def _warning(state: State) -> Step | None:
    if state.table not in (TableState.SUSPENDED, TableState.WAITING, TableState.OPENING):
        return None
    for key in blocking(state):
        warned = state.warnings[key]
        clause = tuple(warned.clause)
        if warned.gone:
            return Step(f"Clear the warning {key}.", f"It was: {warned.text}. A {warned.needs} clears it.", clause)
        device = state.devices.get(warned.device)
        if device and device.state is DeviceState.JAMMED:
            first = _open_first(state, warned.device)
            return Step(f"{first}Free the jam in the {warned.device} and say so.", warned.text, clause)
        if device:
            text = f"See to the {warned.device}, or a floorperson takes it out of service."
            return Step(text, warned.text, (*clause, "13.H"))
        return Step("See to the warning.", warned.text, clause)
    return None


def _ordinary(state: State, now_ms: int) -> Step | None:
    step = _BY_STATE.get(state.table)
    return step(state, now_ms) if step else None


# --- the ordinary course --------------------------------------------------------------------------------------------


def _closed(state: State, now_ms: int) -> Step | None:
    return Step("Open the table." if state.configured else "Set the table up.")


def _waiting(state: State, now_ms: int) -> Step | None:
    refusal = wrong_number_of_decks(state)
    if refusal:
        return _because("A floorperson takes one of the decks off the table.", refusal)
    for name, device in state.devices.items():
        if device.state in (DeviceState.UNKNOWN, DeviceState.LOST):
            return Step(f"Connect the {name} and switch it on.", f"The {name} does not answer.")
        if device.hindered:
            return Step(f"See to the {name}, and try again.", f"The {name} refused: {device.hindered}.")
    for name in state.decks:
        refusal = over_age(state, name, now_ms)
        if refusal:
            return _because(f"Take deck {name} out and remove it.", refusal)
    if len(state.decks) < decks_wanted(state):
        backs = {deck.back for deck in state.decks.values()}
        wanted = next(back for back in state.setup.backs if back not in backs)
        return Step(f"Bring a new {wanted} deck.", "A deck is missing.", ("4.A",))
    first = due_deck(state)
    for name in sorted(state.decks, key=lambda name: name != first):
        step = _deck(state, name)
        if step:
            return step
    return None


def _deck(state: State, name: str) -> Step | None:
    found = state.decks[name].state
    if found in _OPENING:
        text, clause = _OPENING[found]
        return Step(text.format(name), "A deck is opened step by step.", (clause,))
    shuffler = in_service(state, "shuffler")
    if found in (DeckState.STACKED, DeckState.RACKED) or (found is DeckState.MIXED and counts(state)):
        text = f"Put deck {name} into the shuffler." if shuffler else f"Shuffle deck {name} by hand."
        return Step(text, "It is shuffled before it is played.", ("5.A",))
    if found is DeckState.MIXED and not self_reshuffling(state):
        return Step(f"Cut deck {name}.", "The cover card goes in at least ten cards from the top.", ("5.F",))
    if found in (DeckState.CUT, DeckState.DELIVERED, DeckState.MIXED):
        where = "Take deck {} into the hand." if state.method is Method.HAND else "Put deck {} into the shoe."
        return Step(where.format(name), "It is its turn.", ("10.A",))
    if found is DeckState.SHUFFLED:
        exit_ = state.devices["shuffler"].at_exit
        return Step(f"Take deck {name} from the shuffler.", "It is shuffled.") if exit_ else None
    return None


def _betting(state: State, now_ms: int) -> Step | None:
    refusal = cannot_start(state, now_ms)
    if refusal:
        return _because("No round can start with this deck: take it out.", refusal)
    return Step("Take the bets, then say: no more bets.", "The deck is loaded.", ("10",))


def _dealing(state: State, now_ms: int) -> Step | None:
    round_ = _round(state)
    stack = next_stack(round_)
    if stack is None:
        return None
    if round_.method is not Method.AUTOMATED_SHOE:
        return Step(
            f"Deal to {stack.target}.",
            "From the dealer's left, clockwise.",
            ("8" if state.method is Method.MANUAL_SHOE else "9",),
        )
    shoe = state.devices["shoe"]
    if shoe.at_exit:
        what = "one face up goes to the rack" if round_.to_rack else "face down"
        return Step(f"Take the stack to {stack.target}, {what}.", "From the dealer's left, clockwise.", ("10.B(1)(2)",))
    if shoe.hindered:
        return Step("See to the shoe, and try again.", f"The shoe refused: {shoe.hindered}.", ("10",))
    return Step("Wait for the shoe.", f"It forms the stack for {stack.target}.")


def _stub(state: State) -> Step | None:
    round_ = _round(state)
    if stub_may_leave(state, round_):
        if round_.method is Method.AUTOMATED_SHOE and emptied_by_device(state, ledger.SHOE):
            return Step("Take the stub from the shoe.", "All hands have their cards.", ("10.B(5)",))
        first = _open_first(state, "shoe") if round_.method is Method.AUTOMATED_SHOE else ""
        return Step(f"{first}Take the stub out.", "All hands have their cards.", ("10.B(5)",))
    if round_.stub_out and stub_count_due(state):
        return Step("Count the stub face down, and say how many.", "Its count is due.", ("8.E", "9.D", "10.C"))
    return None


def _acting(state: State, now_ms: int) -> Step | None:
    if next_stack(_round(state)) and not waits_for_players(_round(state)):
        return _dealing(state, now_ms)
    return _stub(state) or Step("Ask each player to play or fold.", "Then say that all have acted.", ("11.D(2)",))


def _revealing(state: State, now_ms: int) -> Step | None:
    if next_stack(_round(state)):
        return _dealing(state, now_ms)
    return _stub(state) or Step("Show the dealer's cards.", "All players have acted.", ("11.D(2)",))


def _clearing(state: State, now_ms: int) -> Step | None:
    return _stub(state) or Step("Settle, and collect the hands from your right to your left.", "", ("11.E",))


def _misdeal(state: State, now_ms: int) -> Step | None:
    return Step("Were the cards misdealt? Answer yes or no.", "The stub does not fit.", ("8.G", "9.F", "10.E"))


def _idle(state: State, now_ms: int) -> Step | None:
    for name, deck in state.decks.items():
        if not self_reshuffling(state) and deck.state in (DeckState.RACKED, DeckState.STACKED, DeckState.MIXED,
                                                          DeckState.CUT, DeckState.DELIVERED):  # fmt: skip
            return Step(f"Spread deck {name} face down.", "Nobody plays.", ("5.H",))
    return Step("Wait for a player.", "Nobody plays.", ("5.H",))


def _round(state: State) -> Round:
    assert state.round is not None
    return state.round


def _because(text: str, refusal: Refusal) -> Step:
    return Step(text, refusal.reason, refusal.clause)


_BY_STATE = {
    TableState.CLOSED: _closed,
    TableState.OPENING: _waiting,
    TableState.WAITING: _waiting,
    TableState.SUSPENDED: _waiting,
    TableState.BETTING: _betting,
    TableState.DEALING: _dealing,
    TableState.ACTING: _acting,
    TableState.REVEALING: _revealing,
    TableState.CLEARING: _clearing,
    TableState.STUB_COUNT: _misdeal,
    TableState.IDLE: _idle,
}
