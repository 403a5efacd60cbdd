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
from controller.core.guide_gathering import gather_step, open_first, refusal_text, removal_step
from controller.core.machines import IN_A_ROUND, DeckState, DeviceState, TableState
from controller.core.names import doing_name, place_name, plural, sentence
from controller.core.rules.correcting import correctable
from controller.core.rules.dealing import must_leave, next_stack, stub_may_leave, stub_place, waits_for_players
from controller.core.rules.gathering import GATHERED_STATES, emptied_by_device
from controller.core.rules.guards import (
    blocking,
    cannot_start,
    decks_wanted,
    in_service,
    inside,
    no_way_to_deal,
    nothing_left,
    over_age,
    self_reshuffling,
    stub_count_due,
    usable,
    wrong_number_of_decks,
)
from controller.core.rules.opening import elsewhere, packed_counts
from controller.core.rules.play import hand_to_enter
from controller.core.rules.reconstructing import why_none_is_due
from controller.core.rules.script import (
    asked_stacks,
    hand_with_wrong_bets,
    options_of,
    record_of,
    reshuffle_due,
    turn_of,
)
from controller.core.rules.shuffling import waits_for_shuffler
from controller.core.state import Device, Round, State, due_deck
from controller.core.step import ACTIONS, ByHand, Offer, Step
from controller.core.warning_kinds import OR_OUT_OF_SERVICE, before_out_of_service, warning_name
from controller.games import described
from controller.games.description import StepType
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import ClearJam, SelfTest

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
_CLOCKWISE = tuple(f"Cards are dealt clockwise, starting at the {at}'s left." for at in ("dealer", "button"))
_BURN = "It is the first round of this shoe."
_LOOSE = (DeckState.RACKED, DeckState.STACKED, DeckState.MIXED, DeckState.CUT, DeckState.DELIVERED)

_PROMPTS: dict[StepType, tuple[str, str]] = {  # of a game that has none of its own
    StepType.ACT: ("Ask each player to decide.", "Report it when all have acted."),
    StepType.REVEAL: ("Show the dealer's cards.", "All players have acted."),
    StepType.SETTLE: ("Settle the bets and collect the hands from your right to your left.", ""),
}


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
    if state.round.keeps:
        why = "" if state.round.last else "The next round is dealt from the same deck."
        shoe = state.devices.get("shoe")
        if shoe and shoe.at_exit:
            return Step("Take the cards from the shoe.", why, by_hand=ByHand.TAKE, device="shoe")
        return Step("Put the cards of the void round into the rack.", why, do=({"action": "collect_all"},))
    return gather_step(state, state.round.deck)


def _gather(state: State) -> Step | None:
    if state.table in IN_A_ROUND:
        return None  # the other deck never interrupts a round
    for name, deck in state.decks.items():
        if deck.state in GATHERED_STATES:
            return gather_step(state, name)
    return None


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
            first, opened = open_first(state, warned.device)
            return Step(
                f"{first}Free the jam in the {warned.device} and report it.",
                refusal_text(state, warned.device) or sentence(warned.text),
                clause,
                (*opened, {"action": "free_jam", "device": warned.device}),
            )
        if device and device.told:
            text = f"Is the {warned.device} empty? Then a technician or a floorperson accepts it again."
            why = f"The journal is missing events from this device: {warned.text}."
            return Step(text, why, clause, ({"action": "accept_device", "device": warned.device},))
        if device:
            text, opened, move = before_out_of_service(key), (), ByHand.CHECK
            if device.online and key == f"{warned.device}.door":
                # The device does not report a door that was closed while it was off.
                first, opened = open_first(state, warned.device)
                text = f"{first}Close the {warned.device}; if it is closed, open it and close it again"
                move = ByHand.CLOSE
            elif device.state is DeviceState.FAILED:
                text = before_out_of_service(f"{warned.device}.fail")
                if not inside(state, warned.device) and not device.hindered:
                    text, opened = f"{text}, or test it", ({"action": "test_device", "device": warned.device},)
            return Step(
                f"{text}{OR_OUT_OF_SERVICE}.",
                f"{sentence(warned.text)} {refusal_text(state, warned.device)}".strip(),
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
    return Step(f"Check the {device} and try again.", refusal_text(state, device), rules, (again,))


def _decks(state: State, now_ms: int) -> Step | None:
    for name in state.decks:
        refusal = over_age(state, name, now_ms)
        if refusal:
            old: Offer = {"action": "unload_deck" if elsewhere(state.decks[name]) else "remove_deck", "deck": name}
            return _because(f"Take deck {name} out and remove it.", refusal, old)
    if len(state.decks) < decks_wanted(state):
        wanted = next(back for back in state.setup.backs if all(deck.back != back for deck in state.decks.values()))
        why = f"The table plays with {'one deck' if decks_wanted(state) == 1 else 'two decks'}."
        text, packed = f"Bring a new {wanted} deck.", state.setup.game.packed
        if packed > 1:
            text, why = f"Bring {packed} new {wanted} decks.", "They are played as one deck."
        return Step(text, why, (Rule.INSPECT_DECK,), ({"action": "receive_deck", "back": wanted},))
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
        counts = packed_counts(state.setup.game) if found is DeckState.RECEIVED else ()
        if counts:
            opened["counts"] = counts
        if found is DeckState.RECEIVED and deck.prepared:
            accepted: Offer = {"action": "accept_deck", "deck": name}
            why = f"It was inspected and shuffled beforehand: {deck.came_from}."
            text = f"A floorperson accepts deck {name}, or the dealer inspects it."
            return Step(text, why, (Rule.PREPARED_DECK,), (accepted, opened))
        each = f" It is {len(counts)} decks; each is counted and has {counts[0]} cards." if counts else ""
        why = f"Every deck goes through the opening procedure.{each}"
        return Step(text.format(name), why, (clause,), (opened,))
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
        behind = options_of(state).get("cut_card", 0) if state.setup.game.keeps_dealing else 0
        if behind:
            why = f"Then the cut card goes before the last {behind} cards."
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
    wrong = hand_with_wrong_bets(state)
    if wrong:
        hand, refused = wrong
        correct: Offer = {"action": "record_bet", "seat": ledger.seat_number(hand)}
        return Step(f"Correct the bets of {place_name(hand)}.", sentence(refused.reason), refused.rules, (correct,))
    last = state.decks[due_deck(state)].rounds_left == 1  # its cut card has come out
    why = "It is the last round of this shoe." if last else "The deck is loaded."
    text, why = described(state.setup.game).ask_for_bets, f"{why} Mark the seats that have wagered."
    return Step(text, why, (Rule.DEALING, Rule.BETS_CLOSED), ({"action": "close_bets"},))


def _dealing(state: State, now_ms: int) -> Step | None:
    round_ = _round(state)
    stack, clockwise = next_stack(round_), _CLOCKWISE[state.setup.game.has_button]
    if round_.unseen:
        return _enter(next(iter(round_.unseen)), "It is face up.")
    if stack is None:
        return None
    if round_.method is not Method.AUTOMATED_SHOE and stack.face_up:
        card: Offer = {"action": "deal_cards", "target": stack.target, "cards": (left := stack.cards - round_.in_hand)}
        what, them = ("a card", "it") if left == 1 else (plural(left, "card"), "them")
        text = f"Deal {what} to {place_name(stack.target)}, face up, and enter {them}."
        why, rule = _due(state, round_, Rule.DEALING)
        return Step(text, why, (rule,), (card,))
    if round_.method is not Method.AUTOMATED_SHOE:
        deal: tuple[Offer, ...] = ({"action": "deal_cards", "target": stack.target}, {"action": "finish_deal"})
        text, why, left = f"Deal to {place_name(stack.target)}.", clockwise, stack.cards - round_.in_hand
        if stack.target == ledger.BURNT:
            text, why = f"Burn {plural(left, 'card')}.", _BURN
        if state.table is TableState.ACTING and round_.decisions:
            text, why = f"Deal {plural(left, 'card')} to {place_name(stack.target)}.", ""
        return Step(text, why, (Rule.DEALING,), deal)
    shoe = state.devices["shoe"]
    what, doing = ("card", "dealing") if stack.cards == 1 else ("stack", "forming")
    if shoe.at_exit:
        how, why, rule = "face down", _BURN if stack.target == ledger.BURNT else clockwise, Rule.DEAL_STACKS
        if stack.face_up:
            how, (why, rule) = "face up", _due(state, round_, rule)
        why = "" if state.table is TableState.ACTING and round_.decisions else why
        if round_.to_rack:
            how, why, rule = "the face-up card to the rack", "A face-up card is not used in its round.", Rule.FACE_UP
        text = f"Take the {what} to {place_name(stack.target)}, {how}."
        return Step(text, why, (rule,), by_hand=ByHand.TAKE, device="shoe")
    if shoe.hindered:
        return _try_again(state, "shoe", Rule.DEALING)
    return Step("Wait for the shoe.", f"It is {doing} the {what} for {place_name(stack.target)}.")


def _enter(target: str, why: str) -> Step:
    entered: Offer = {"action": "enter_cards", "target": target}
    return Step(f"Enter the cards of {place_name(target)}.", why, (Rule.DEALING,), (entered,))


def _due(state: State, round_: Round, planned_by: Rule) -> tuple[str, Rule]:
    """Why the next card is due, and by which rule: the rules of the game called for it, or it is this hand's turn."""
    game = described(state.setup.game)
    dealt = sum(stack.target != ledger.BURNT for stack in round_.plan[: round_.dealt])
    if game.due_card is None or dealt < len(state.setup.game.programme[round_.method]):
        return "The hands get their cards in turn." if game.due_card else _CLOCKWISE[game.game.has_button], planned_by
    return sentence(game.due_card(record_of(state, round_)).why), Rule.FURTHER_CARDS


def _stub(state: State) -> Step | None:
    round_ = _round(state)
    if stub_may_leave(state, round_):
        why = "It was the last round of this shoe." if state.setup.game.keeps_dealing else "All hands have their cards."
        by_shoe = stub_place(state, round_) if round_.method is Method.AUTOMATED_SHOE else ""
        if emptied_by_device(state, by_shoe):
            if not state.devices["shoe"].at_exit:
                return Step("Wait for the shoe.", "It is bringing out the stub.", (Rule.STUB_LEAVES,))
            return Step("Take the stub from the shoe.", why, (Rule.STUB_LEAVES,), by_hand=ByHand.TAKE, device="shoe")
        first, opened = open_first(state, "shoe" if by_shoe == ledger.SHOE else "")
        return Step(f"{first}Take the stub out.", why, (Rule.STUB_LEAVES,), (*opened, {"action": "remove_stub"}))
    if round_.stub_out and stub_count_due(state):
        text, why = "Count the stub face down and enter the number.", "Its count is due."
        if nothing_left(state, round_):
            text, why = "Check that no card is left, and enter the number.", "The hands have all cards of the deck."
        return Step(text, why, (Rule.STUB_COUNT_DUE,), ({"action": "count_stub"},))
    return None


def _acting(state: State, now_ms: int) -> Step | None:
    round_ = _round(state)
    if round_.stock_outside:
        return Step("Put the new stock into the shoe.", "It was shuffled and cut.", (Rule.RESHUFFLE_STOCK,))
    if round_.unseen or (next_stack(round_) and not waits_for_players(round_)):
        return _dealing(state, now_ms)
    game = described(state.setup.game)
    turn = turn_of(state, round_) if game.must_decide or state.bets else None
    anybody: list[Offer] = [{"action": "decide_hand", "choice": one} for one in turn.anybody] if turn else []
    if reshuffle_due(state):
        text = "Put stock and discards together, count and shuffle them, and let another player cut."
        return Step(text, "Too few cards are left.", (Rule.RESHUFFLE_STOCK,), ({"action": "reshuffle_stock"}, *anybody))
    if turn is not None:
        choices: list[Offer] = [{"action": "decide_hand", "target": turn.hand, "choice": one} for one in turn.choices]
        return Step(turn.text, turn.why, (Rule.DECISIONS,), (*choices, *anybody))
    asked = asked_stacks(state, round_) if game.must_decide else []
    if asked:
        return _enter(asked[0].target, "The shoe has been asked which they are, and has not answered.")
    text, why = game.prompts.get(StepType.ACT, _PROMPTS[StepType.ACT])
    if round_.decisions and turn_of(state, round_) is None:
        text, why = "Report that all players have acted.", "Every decision has been entered."
    return _stub(state) or Step(text, why, (Rule.REVEAL_DEALER,), ({"action": "players_acted"},))


def _revealing(state: State, now_ms: int) -> Step | None:
    if next_stack(_round(state)):
        return _dealing(state, now_ms)
    if out := must_leave(state, _round(state)):
        collected: Offer = {"action": "collect_hand", "target": out}
        text, why = f"Put the hand of {place_name(out)} into the rack.", "It was forfeited, and no wager needs it."
        return _stub(state) or Step(text, why, (Rule.HANDS_OUT,), (collected,))
    text, why = described(state.setup.game).prompts.get(StepType.REVEAL, _PROMPTS[StepType.REVEAL])
    return _stub(state) or Step(text, why, (Rule.REVEAL_DEALER,), ({"action": "reveal_dealer"},))


def _clearing(state: State, now_ms: int) -> Step | None:
    game, round_ = described(state.setup.game), _round(state)
    if wanted := hand_to_enter(state, round_):
        return _enter(wanted, "The result follows from the cards.")
    text, why = game.prompts.get(StepType.SETTLE, _PROMPTS[StepType.SETTLE])
    why = " ".join(filter(None, (sentence(round_.result) or why, why_none_is_due(state))))
    return _stub(state) or Step(text, why, (Rule.COLLECT_HANDS,), ({"action": "collect_all"},))


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
