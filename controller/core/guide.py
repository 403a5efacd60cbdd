"""The guide: works out the next step at the table, from the state alone. What to do, why, by whom, with which actions.

The screen and the CLI show the step. The simulated people follow it, which proves that it leads back to play from any
state.
"""

# mypyc
from __future__ import annotations

import msgspec

from controller.core import ledger
from controller.core.actions import Action, OnDeck, OnDevice, ReceiveDeck, Role
from controller.core.decision import Refusal, cite, why_not
from controller.core.machines import IN_A_ROUND, DeckState, DeviceState, TableState
from controller.core.names import cards, doing_name, place_name, sentence
from controller.core.rules.correcting import correctable
from controller.core.rules.dealing import next_stack, stub_may_leave, stub_place, waits_for_players
from controller.core.rules.gathering import GATHERED_STATES, emptied_by_device, loose_places, next_place
from controller.core.rules.guards import (
    blocking,
    cannot_start,
    decks_wanted,
    in_service,
    inside,
    no_way_to_deal,
    over_age,
    self_reshuffling,
    stub_count_due,
    usable,
    wrong_number_of_decks,
)
from controller.core.rules.opening import elsewhere
from controller.core.rules.shuffling import waits_for_shuffler
from controller.core.state import Device, Round, State, due_deck
from controller.core.step import ACTIONS, ByHand, Offer, Step
from controller.core.warning_kinds import OR_OUT_OF_SERVICE, before_out_of_service, warning_name
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import ClearJam, Eject, SelfTest

_OPENING: dict[DeckState, tuple[str, str, str]] = {
    DeckState.RECEIVED: ("The dealer inspects deck {}.", Rule.INSPECT_DECK, "inspect_deck"),
    DeckState.INSPECTED: ("A floorperson verifies deck {}.", Rule.INSPECT_DECK, "verify_deck"),
    DeckState.VERIFIED: ("Spread deck {} face up for the first player.", Rule.SPREAD_DECK, "spread_deck"),
    DeckState.SPREAD: ("Turn deck {} face down and wash it.", Rule.WASH_DECK, "wash_deck"),
    DeckState.WASHED: ("Stack deck {}.", Rule.WASH_DECK, "stack_deck"),
}
_LOAD = {
    Method.AUTOMATED_SHOE: "Put deck {} into the shoe.",
    Method.MANUAL_SHOE: "Put deck {} into the manual shoe.",
    Method.HAND: "Take deck {} into your hand.",
}
# Which cards are at a place where they have not been counted.
UNCOUNTED = {ledger.TAKEN: "last taken from the shoe", ledger.FREED: "taken out of the jam"}
_CLOCKWISE = "Cards are dealt clockwise, starting at the dealer's left."
_LOOSE = (DeckState.RACKED, DeckState.STACKED, DeckState.MIXED, DeckState.CUT, DeckState.DELIVERED)


def allowed_actions(state: State) -> tuple[str, ...]:
    """The actions that the state machines allow now; the rules may still refuse them."""
    return tuple(name for name, kind in ACTIONS.items() if _possible(state, kind))


def _possible(state: State, kind: type[Action]) -> bool:
    decks = list(state.decks) if issubclass(kind, OnDeck) and not issubclass(kind, ReceiveDeck) else [""]
    devices = list(state.devices) if issubclass(kind, OnDevice) else [""]
    return any(why_not(state, kind.leads_to, deck, device) is None for deck in decks for device in devices)


def next_step(state: State, now_ms: int) -> Step:
    """The next step, with its clauses and all actions that are allowed now."""
    step = current_step(state, now_ms)
    return msgspec.structs.replace(step, clause=cite(state, step.clause), allowed_actions=allowed_actions(state))


def current_step(state: State, now_ms: int) -> Step:
    """The headline: what comes first of everything that is to be done."""
    step = (
        _void(state)
        or _gather(state)
        or _warning(state)
        or _normal(state, now_ms)
        or Step("Wait.", "The devices are working.")
    )
    return with_correction(state, _offline(state, step))


def with_correction(state: State, step: Step) -> Step:
    """A step that also offers to correct the last count, where that is possible."""
    if not step.do or correctable(state) is None:
        return step
    correction: Offer = {"action": "correct_count"}
    return msgspec.structs.replace(step, do=(*step.do, correction))


# --- when something is wrong ----------------------------------------------------------------------------------------


def _void(state: State) -> Step | None:
    if state.table is not TableState.VOIDING or state.round is None:
        return None
    if state.round.wagers_open:
        void = f"Round {state.round.number} is void: {state.round.void_reason}."
        return Step("Return all wagers.", void, tuple(state.round.void_clause), ({"action": "return_wagers"},))
    return gather_step(state, state.round.deck)


def _gather(state: State) -> Step | None:
    if state.table in IN_A_ROUND:
        return None  # the other deck never interrupts a round
    for name, deck in state.decks.items():
        if deck.state in GATHERED_STATES:
            return gather_step(state, name)
    return None


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
    first, opened = _open_first(state, device)
    if device and state.devices[device].state is DeviceState.JAMMED:
        text = f"{first}Free the jam in the {device}, or take all cards out by hand and count them."
        freed: Offer = {"action": "free_jam", "device": device}
        return Step(text, _refused(state, device) or why, do=(*opened, freed, gathered))
    if device and state.devices[device].hindered and state.devices[device].online:
        text = f"Check the {device} and try again, or take all cards out by hand and count them."
        again: Offer = {"action": "try_again", "device": device}
        return Step(text, _refused(state, device), do=(again, *opened, gathered))
    source = f"the {device}" if device else place_name(place)
    text = f"{first}Gather the cards from {source} and count them."
    if several:
        held = [ledger.DEVICE_OF[each] for each in loose if each in ledger.DEVICE_OF]
        first, opened = _open_first(state, held[0] if held else "")
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


def _open_first(state: State, device: str) -> tuple[str, tuple[Offer, ...]]:
    """What to do before reaching into a locked device, as text and as an action. One that is off opens with a key."""
    if not device or not state.devices[device].locked or not state.devices[device].online:
        return "", ()
    return f"The {device} is locked: report that you are opening it. ", ({"action": "open_device", "device": device},)


def _refused(state: State, device: str) -> str:
    """Why a device refused its last command, as text; empty if it did not."""
    hindered = state.devices[device].hindered
    return f"The {device} refused: {hindered}." if hindered else ""


def _warning(state: State) -> Step | None:
    if state.table not in (TableState.SUSPENDED, TableState.WAITING, TableState.OPENING):
        return None
    return warning_step(state, blocking(state))


def warning_step(state: State, keys: list[str]) -> Step | None:
    """The step that the first of these warnings asks for."""
    for key in keys:
        warned = state.warnings[key]
        clause = tuple(warned.clause)
        if warned.gone:
            clears = "A floorperson clears" if warned.needs == "floor" else "Clear"
            text = f"{clears} the warning: {warning_name(key)}."
            cleared: Offer = {"action": "clear_warning", "warning": key}
            return Step(text, "Its cause is gone.", clause, (cleared,), role=Role(warned.needs))
        device = state.devices.get(warned.device)
        doing = device.doing if device and device.state is DeviceState.WORKING else None
        if doing and isinstance(doing.command, ClearJam | SelfTest):
            return Step(f"Wait for the {warned.device}.", f"It was asked to {doing_name(doing.name)}.", clause)
        if device and device.state is DeviceState.JAMMED:
            first, opened = _open_first(state, warned.device)
            freed: Offer = {"action": "free_jam", "device": warned.device}
            return Step(
                f"{first}Free the jam in the {warned.device} and report it.",
                _refused(state, warned.device) or sentence(warned.text),
                clause,
                (*opened, freed),
            )
        if device and device.told:
            text = f"Is the {warned.device} empty? Then a technician or a floorperson accepts it again."
            why = f"The journal is missing events from this device: {warned.text}."
            return Step(text, why, clause, ({"action": "accept_device", "device": warned.device},))
        if device:
            text, opened, move = before_out_of_service(key), (), ByHand.CHECK
            if device.online and key == f"{warned.device}.door":
                # The device does not report a door that was closed while it was off.
                first, opened = _open_first(state, warned.device)
                text = f"{first}Close the {warned.device}; if it is closed, open it and close it again"
                move = ByHand.CLOSE
            elif device.state is DeviceState.FAILED:
                text = before_out_of_service(f"{warned.device}.fail")
                if not inside(state, warned.device) and not device.hindered:
                    text, opened = f"{text}, or test it", ({"action": "test_device", "device": warned.device},)
            return Step(
                f"{text}{OR_OUT_OF_SERVICE}.",
                f"{sentence(warned.text)} {_refused(state, warned.device)}".strip(),
                (*clause, Rule.OUT_OF_SERVICE),
                (*opened, {"action": "take_out_of_service", "device": warned.device}),
                by_hand=move,
                device=warned.device,
                role=Role.FLOOR,
            )
        return Step("Resolve the cause of the warning.", sentence(warned.text), clause, role=Role.DEALER)
    return None


def _offline(state: State, step: Step) -> Step:
    """The step, with a device that has just gone offline: it has a grace period before there is a warning."""
    if state.table is not TableState.BETTING and state.table not in IN_A_ROUND:
        return step
    for name, device in state.devices.items():
        if device.state is not DeviceState.LOST or f"{name}.lost" in state.warnings:
            continue
        round_ = state.round
        if name == "shoe" and round_ and round_.method is Method.AUTOMATED_SHOE and next_stack(round_):
            text = "The shoe is offline: check its cable and power."
            why = f"If it is not back within {state.setup.limits.grace_ms // 1000} seconds, the round is void."
            return Step(text, why, (Rule.SHOE_STOPS,), by_hand=ByHand.CHECK, device=name)
        text, why = f"The {name} is offline. {step.text}", f"Check its cable and power. {step.why}"
        return msgspec.structs.replace(step, text=text, why=why)
    return step


def _normal(state: State, now_ms: int) -> Step | None:
    step = _BY_STATE.get(state.table)
    return step(state, now_ms) if step else None


# --- normal play ----------------------------------------------------------------------------------------------------


def _closed(state: State, now_ms: int) -> Step | None:
    text, action = ("Open the table.", "open_table") if state.configured else ("Set the table up.", "configure")
    return Step(text, do=({"action": action},))


def _waiting(state: State, now_ms: int) -> Step | None:
    refusal = wrong_number_of_decks(state)
    if refusal:
        ready = [name for name, deck in state.decks.items() if not elsewhere(deck)]
        if len(ready) == 1:
            return removal_step(ready[0], sentence(refusal.reason), refusal.rules)
        return _because("A floorperson takes one of the decks off the table.", refusal, {"action": "remove_deck"})
    refusal = no_way_to_deal(state)
    loaded = [name for name, deck in state.decks.items() if deck.state is DeckState.LOADED]
    if refusal and loaded:
        return _because(f"Take deck {loaded[0]} out.", refusal, {"action": "unload_deck", "deck": loaded[0]})
    if refusal:
        needed = "shuffler" if state.method is Method.HAND else "shoe"
        text = f"A floorperson changes the dealing method, or puts the {needed} back in service."
        returned: Offer = {"action": "put_in_service", "device": needed}
        return _because(text, refusal, {"action": "change_method"}, returned)
    return device_step(state, state.devices) or _decks(state, now_ms)


def device_step(state: State, devices: dict[str, Device]) -> Step | None:
    """The step that the first of these devices asks for because it cannot be used, although there is no warning."""
    for name, device in devices.items():
        if device.state in (DeviceState.UNKNOWN, DeviceState.LOST):
            text = f"Connect the {name} and switch it on{OR_OUT_OF_SERVICE}."
            leave: Offer = {"action": "take_out_of_service", "device": name}
            cannot = f"cannot be used here: {device.refused}" if device.refused else "does not answer"
            why = sentence(f"the {name} {cannot}")
            return Step(text, why, do=(leave,), by_hand=ByHand.CHECK, device=name, role=Role.DEALER)
        if device.hindered:
            return _try_again(state, name)
    return None


def _try_again(state: State, device: str, *rules: Rule) -> Step:
    again: Offer = {"action": "try_again", "device": device}
    return Step(f"Check the {device} and try again.", _refused(state, device), rules, (again,))


def _decks(state: State, now_ms: int) -> Step | None:
    for name in state.decks:
        refusal = over_age(state, name, now_ms)
        if refusal:
            old: Offer = {"action": "unload_deck" if elsewhere(state.decks[name]) else "remove_deck", "deck": name}
            return _because(f"Take deck {name} out and remove it.", refusal, old)
    if len(state.decks) < decks_wanted(state):
        wanted = next(back for back in state.setup.backs if all(deck.back != back for deck in state.decks.values()))
        brought: Offer = {"action": "receive_deck", "back": wanted}
        why = "The table plays with one deck." if decks_wanted(state) == 1 else "The table plays with two decks."
        return Step(f"Bring a new {wanted} deck.", why, (Rule.INSPECT_DECK,), (brought,))
    first = due_deck(state)
    for name in sorted(state.decks, key=lambda name: name != first):
        step = _deck(state, name)
        if step:
            return step
    return None


def _deck(state: State, name: str) -> Step | None:
    deck = state.decks[name]
    found = deck.state
    if found in _OPENING:
        text, clause, action = _OPENING[found]
        opened: Offer = {"action": action, "deck": name}
        if found is DeckState.RECEIVED and deck.prepared:
            accepted: Offer = {"action": "accept_deck", "deck": name}
            why = f"It was inspected and shuffled beforehand: {deck.came_from}."
            text = f"A floorperson accepts deck {name}, or the dealer inspects it."
            return Step(text, why, (Rule.PREPARED_DECK,), (accepted, opened))
        return Step(text.format(name), "Every deck goes through the opening procedure.", (clause,), (opened,))
    shuffler = in_service(state, "shuffler")
    if shuffler and inside(state, "shuffler") and waits_for_shuffler(state, name):
        return None  # one deck at a time
    if waits_for_shuffler(state, name):
        text = f"Put deck {name} into the shuffler." if shuffler else f"Shuffle deck {name} by hand."
        if shuffler and state.devices["shuffler"].sensed.get(ledger.INFEED):
            text = f"Report that deck {name} is in the shuffler, or take the cards out again."
        shuffled: Offer = {"action": "insert_deck" if shuffler else "shuffle_by_hand", "deck": name}
        return Step(text, "A deck is shuffled before it is played.", (Rule.SHUFFLE,), (shuffled,))
    if found is DeckState.MIXED and not self_reshuffling(state):
        why = f"The cover card goes in at least {state.setup.game.least_cut} cards from the top."
        return Step(f"Cut deck {name}.", why, (Rule.CUT_DEPTH,), ({"action": "cut_deck", "deck": name},))
    if found in (DeckState.CUT, DeckState.DELIVERED, DeckState.MIXED):
        if name != due_deck(state) or state.table is TableState.OPENING:  # the other deck is opened first
            return None
        why, offers = "It is this deck's turn.", [Offer(action="load_deck", deck=name)]
        usual = Method.AUTOMATED_SHOE
        if state.setup.method is usual and state.method is not usual and usable(state, "shoe"):
            why += " The shoe works again: a floorperson can change back to it."
            offers.append({"action": "change_method", "method": str(usual)})
        return Step(_LOAD[state.method].format(name), why, (Rule.LOAD_SHOE,), tuple(offers))
    if found is DeckState.SHUFFLED and state.devices["shuffler"].at_exit:
        text = f"Take deck {name} from the shuffler."
        return Step(text, "It is shuffled.", by_hand=ByHand.TAKE, device="shuffler")
    return None


def _betting(state: State, now_ms: int) -> Step | None:
    refusal = cannot_start(state, now_ms)
    if refusal:
        out: Offer = {"action": "unload_deck", "deck": due_deck(state)}
        return _because("No round can start with this deck: take it out.", refusal, out)
    return Step(
        "Take the bets, then announce: no more bets.",
        "The deck is loaded. Mark the seats that have wagered.",
        (Rule.DEALING,),
        ({"action": "close_bets"},),
    )


def _dealing(state: State, now_ms: int) -> Step | None:
    round_ = _round(state)
    stack = next_stack(round_)
    if stack is None:
        return None
    if round_.method is not Method.AUTOMATED_SHOE:
        deal: tuple[Offer, ...] = ({"action": "deal_cards", "target": stack.target}, {"action": "finish_deal"})
        return Step(f"Deal to {place_name(stack.target)}.", _CLOCKWISE, (Rule.DEALING,), deal)
    shoe = state.devices["shoe"]
    if shoe.at_exit:
        how, why, rule = "face down", _CLOCKWISE, Rule.DEAL_STACKS
        if round_.to_rack:
            how, why, rule = "the face-up card to the rack", "A face-up card is not used in its round.", Rule.FACE_UP
        text = f"Take the stack to {place_name(stack.target)}, {how}."
        return Step(text, why, (rule,), by_hand=ByHand.TAKE, device="shoe")
    if shoe.hindered:
        return _try_again(state, "shoe", Rule.DEALING)
    return Step("Wait for the shoe.", f"It is forming the stack for {place_name(stack.target)}.")


def _stub(state: State) -> Step | None:
    round_ = _round(state)
    if stub_may_leave(state, round_):
        by_shoe = stub_place(state, round_) if round_.method is Method.AUTOMATED_SHOE else ""
        if emptied_by_device(state, by_shoe):
            if not state.devices["shoe"].at_exit:
                return Step("Wait for the shoe.", "It is bringing out the stub.", (Rule.STUB_LEAVES,))
            text, why = "Take the stub from the shoe.", "All hands have their cards."
            return Step(text, why, (Rule.STUB_LEAVES,), by_hand=ByHand.TAKE, device="shoe")
        first, opened = _open_first(state, "shoe" if by_shoe == ledger.SHOE else "")
        taken: Offer = {"action": "remove_stub"}
        return Step(f"{first}Take the stub out.", "All hands have their cards.", (Rule.STUB_LEAVES,), (*opened, taken))
    if round_.stub_out and stub_count_due(state):
        text, counted = "Count the stub face down and enter the number.", Offer(action="count_stub")
        return Step(text, "Its count is due.", (Rule.STUB_COUNT_DUE,), (counted,))
    return None


def _acting(state: State, now_ms: int) -> Step | None:
    if next_stack(_round(state)) and not waits_for_players(_round(state)):
        return _dealing(state, now_ms)
    acted: Offer = {"action": "players_acted"}
    why = "Report it when all have acted."
    return _stub(state) or Step("Ask each player to play or fold.", why, (Rule.REVEAL_DEALER,), (acted,))


def _revealing(state: State, now_ms: int) -> Step | None:
    if next_stack(_round(state)):
        return _dealing(state, now_ms)
    shown: Offer = {"action": "reveal_dealer"}
    return _stub(state) or Step("Show the dealer's cards.", "All players have acted.", (Rule.REVEAL_DEALER,), (shown,))


def _clearing(state: State, now_ms: int) -> Step | None:
    text = "Settle the bets and collect the hands from your right to your left."
    return _stub(state) or Step(text, "", (Rule.COLLECT_HANDS,), ({"action": "collect_all"},))


def _misdeal(state: State, now_ms: int) -> Step | None:
    answers: tuple[Offer, ...] = tuple({"action": "answer_misdeal", "misdealt": yes} for yes in (True, False))
    return Step("Were the cards misdealt?", "The stub has the wrong number of cards.", (Rule.STUB_WRONG,), answers)


def _idle(state: State, now_ms: int) -> Step | None:
    for name, deck in state.decks.items():
        if not self_reshuffling(state) and deck.state in _LOOSE:
            spread: Offer = {"action": "spread_deck", "deck": name}
            return Step(f"Spread deck {name} face down.", "No player is at the table.", (Rule.IDLE_TABLE,), (spread,))
    return Step("Wait for a player.", "No player is at the table.", (Rule.IDLE_TABLE,), ({"action": "player_arrived"},))


def _round(state: State) -> Round:
    assert state.round is not None
    return state.round


def _because(text: str, refusal: Refusal, *offers: Offer) -> Step:
    return Step(text, sentence(refusal.reason), refusal.rules, offers)


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
