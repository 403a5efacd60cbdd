"""Conditions for loading a deck and starting a round, each with the rule behind it. They only read the state."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.enforcement import enforces
from controller.core.machines import DeckState, DeviceState
from controller.core.refusal import Refusal
from controller.core.state import Deck, Round, State, deck_with_back, due_deck
from controller.games import rulebook_of
from controller.games.game import Method
from controller.games.rulebook import Rule

HOUR_MS: Final = 3_600_000
NO_LIMIT_H: Final = 1_000_000  # more than any deck is played
NO_LIMIT_MS: Final = NO_LIMIT_H * HOUR_MS

STOPS: Final = {"shuffler": Rule.SHUFFLER_STOPS, "shoe": Rule.SHOE_STOPS}  # the rule for a device that stops
SOURCE: Final = {  # where cards are dealt from
    Method.AUTOMATED_SHOE: ledger.SHOE,
    Method.MANUAL_SHOE: ledger.MANUAL_SHOE,
    Method.HAND: ledger.HAND,
}


# --- what is in service ---------------------------------------------------------------------------------------------


def in_service(state: State, device: str) -> bool:
    """Whether the table has this device and it was not taken out of service."""
    found = state.devices.get(device)
    return found is not None and found.state is not DeviceState.OUT_OF_SERVICE


def counts(state: State) -> bool:
    """Whether a counting shuffler is in service."""
    kind = state.setup.shuffler
    return kind is not None and kind.counts and in_service(state, "shuffler")


def self_reshuffling(state: State) -> bool:
    """Whether a self-reshuffling device is in service."""
    kind = state.setup.shuffler
    return kind is not None and kind.reshuffles and in_service(state, "shuffler")


def feeds(state: State) -> bool:
    """Whether the shuffler puts the deck straight into the shoe that is dealt from: the one it was set up with."""
    kind = state.setup.shuffler
    beside = state.method is state.setup.method
    return kind is not None and kind.feeds_shoe and beside and in_service(state, "shuffler")


def has_rule(state: State, rule: Rule) -> bool:
    """Whether the table's game has this rule."""
    return rule in rulebook_of(state.setup.game).rules


def decks_wanted(state: State) -> int:
    """How many decks the table plays with now."""
    two = in_service(state, "shuffler") or not has_rule(state, Rule.TWO_DECKS)
    return len(state.setup.backs) if two else 1


def inside(state: State, device: str) -> list[str]:
    """The decks that have cards in this device."""
    places = ledger.IN_DEVICE[device]
    return [name for name, deck in state.decks.items() if ledger.count(deck.cards, places)]


def blocking(state: State) -> list[str]:
    """The warnings that prevent a round: all except those of devices that are out of service."""
    if not state.warnings:
        return []
    return [key for key, warned in state.warnings.items() if not warned.device or in_service(state, warned.device)]


def warned(state: State, device: str) -> bool:
    """Whether there is a warning about this device."""
    return bool(state.warnings) and any(warning.device == device for warning in state.warnings.values())


def usable(state: State, device: str) -> bool:
    """Whether a device is ready for a cycle of play."""
    found = state.devices.get(device)
    return found is not None and found.state is DeviceState.READY and not found.hindered and not warned(state, device)


def moved_by(state: State, deck: str) -> str:
    """The device that is moving this deck, or has been commanded to; empty if there is none."""
    return next((name for name, device in state.devices.items() if device.doing and device.doing.deck == deck), "")


# --- time -----------------------------------------------------------------------------------------------------------


def life_ms(state: State) -> int:
    """How long a deck may be played with the current dealing method."""
    return state.setup.game.life_h.get(state.method, NO_LIMIT_H) * HOUR_MS


def age_ms(deck: Deck, now_ms: int) -> int | None:
    """How long ago a deck's first round began; None if it was not played yet."""
    return now_ms - deck.in_play_ms if deck.in_play_ms >= 0 else None


def left_ms(state: State, age: int) -> int:
    """How long a deck of this age may still be played."""
    return max(0, life_ms(state) - age)


@enforces(Rule.DECK_AGE)
def over_age(state: State, name: str, now_ms: int) -> Refusal | None:
    """Refuse a deck that has reached its age limit."""
    age = age_ms(state.decks[name], now_ms)
    if age is None or left_ms(state, age):
        return None
    hours = life_ms(state) // HOUR_MS
    return Refusal(
        f"deck {name} has been in play for {hours} hours", "a new deck has taken its place", (Rule.DECK_AGE,)
    )


# --- loading --------------------------------------------------------------------------------------------------------


@enforces(Rule.DECKS_ALTERNATE)
def not_due(state: State, name: str) -> Refusal | None:
    """Refuse a deck if it is the other one's turn."""
    if state.decks[name].back == state.due:
        return None
    return Refusal(
        f"it is the turn of the {state.due} deck", f"the {state.due} deck has been played", (Rule.DECKS_ALTERNATE,)
    )


@enforces(Rule.LOAD_SHOE)
def uncounted(state: State, deck: Deck, name: str) -> Refusal | None:
    """Refuse a deck with missing cards, or without a correct count where the shuffler counts."""
    if deck.cards.get(ledger.MISSING, 0):
        return Refusal(
            f"cards of deck {name} are not accounted for", "they have been found", (Rule.LOAD_SHOE, Rule.WRONG_COUNT)
        )
    if counts(state) and not deck.counted:
        return Refusal(
            f"deck {name} has not been counted by the shuffler",
            "the shuffler has counted it",
            (Rule.LOAD_SHOE, Rule.WRONG_COUNT),
        )
    return None


@enforces(Rule.CUT, Rule.CUT_DEPTH, Rule.SELF_RESHUFFLING_NO_CUT)
def uncut(state: State, deck: Deck, name: str) -> Refusal | None:
    """Refuse a deck that must be cut first."""
    if deck.state is not DeckState.MIXED or self_reshuffling(state):
        return None
    return Refusal(
        f"deck {name} was not shuffled by the shuffler and has not been cut",
        "it has been cut",
        (Rule.CUT, Rule.CUT_DEPTH),
    )


@enforces(Rule.SHOE_STOPS)
def not_accepted(state: State) -> Refusal | None:
    """Refuse a shoe whose last events are missing from the journal: it stays empty until it is accepted again."""
    shoe = state.devices.get("shoe")
    if state.method is not Method.AUTOMATED_SHOE or shoe is None or not shoe.told:
        return None
    return Refusal(
        "events of the shoe are missing from the journal",
        "the shoe is empty and has been accepted again",
        (Rule.SHOE_STOPS,),
    )


def cannot_load(state: State, name: str, now_ms: int) -> Refusal | None:
    """Why this deck cannot be loaded into the shoe, or taken into the hand, now; None if it can."""
    deck = state.decks[name]
    return (
        not_due(state, name)
        or over_age(state, name, now_ms)
        or uncounted(state, deck, name)
        or uncut(state, deck, name)
        or wrong_number_of_decks(state)
        or no_way_to_deal(state)
        or not_accepted(state)
    )


# --- starting a round -----------------------------------------------------------------------------------------------


@enforces(Rule.TWO_DECKS)
def wrong_number_of_decks(state: State) -> Refusal | None:
    """Refuse two decks without a shuffler."""
    if len(state.decks) <= decks_wanted(state):
        return None
    return Refusal(
        "two decks are at the table and no shuffler is in service",
        "one of the decks has left the table",
        (Rule.TWO_DECKS,),
    )


def stored_in_shuffler(state: State) -> bool:
    """Whether the game wants the other deck in the shuffler while one is played."""
    return has_rule(state, Rule.OTHER_DECK_IN_SHUFFLER)


@enforces(Rule.OTHER_DECK_IN_SHUFFLER)
def other_deck_not_in_shuffler(state: State) -> Refusal | None:
    """With two decks, the other one must be in the shuffler, shuffled or being shuffled."""
    if decks_wanted(state) < 2 or not stored_in_shuffler(state):
        return None
    back = next(back for back in state.setup.backs if back != state.due)
    other = deck_with_back(state, back)
    if other and state.decks[other].state in (DeckState.SHUFFLING, DeckState.SHUFFLED):
        return None
    return Refusal(
        f"the {back} deck is not in the shuffler", "it is being shuffled there", (Rule.OTHER_DECK_IN_SHUFFLER,)
    )


@enforces(Rule.RACK_HOLDS_ONE_DECK)
def rack_occupied(state: State, name: str) -> Refusal | None:
    """Refuse if cards of another deck are in the rack."""
    for other, deck in state.decks.items():
        if other != name and deck.cards.get(ledger.RACK):
            return Refusal(
                f"the rack holds cards of deck {other}", "they have left the rack", (Rule.RACK_HOLDS_ONE_DECK,)
            )
    return None


def rounds_uncounted(state: State) -> int:
    """The rounds since the last count: of the table or of the deck in play or due, whichever are more."""
    deck = state.decks.get(state.round.deck if state.round else due_deck(state))
    return max(state.rounds_uncounted, deck.rounds_uncounted if deck else 0)


@enforces(Rule.STUB_COUNT_DUE)
def stub_overdue(state: State) -> Refusal | None:
    """Refuse another round if the stub has not been counted for too many rounds, of the table or of this deck."""
    rounds = state.setup.game.stub_count_rounds
    if not rounds or counts(state) or rounds_uncounted(state) < rounds:
        return None
    return Refusal(f"the stub has not been counted for {rounds} rounds", "it has been counted", (Rule.STUB_COUNT_DUE,))


def stub_count_due(state: State) -> bool:
    """Whether the stub of the current round must be counted."""
    if state.round is None or state.round.stub_counted:
        return False
    return state.round.count_wanted or nothing_left(state, state.round) or stub_overdue(state) is not None


def nothing_left(state: State, round_: Round) -> bool:
    """Whether people must see that no card is left, because the hands take the whole deck. A shoe sees that itself."""
    if not state.setup.game.draws or round_.method is Method.AUTOMATED_SHOE or round_.reshuffles:
        return False
    return sum(stack.cards for stack in round_.plan) >= state.setup.game.deck_size


def hand_needs_shuffler(state: State) -> bool:
    """Whether the game allows dealing from the hand only with a shuffler."""
    return has_rule(state, Rule.HAND_NEEDS_SHUFFLER)


@enforces(Rule.HAND_NEEDS_SHUFFLER, Rule.OUT_OF_SERVICE, Rule.DEALING)
def no_way_to_deal(state: State) -> Refusal | None:
    """Refuse if the dealing method needs a device that is out of service."""
    if state.method is Method.HAND and not in_service(state, "shuffler") and hand_needs_shuffler(state):
        return Refusal(
            "dealing from the hand requires a shuffler, and it is out of service",
            "a shoe is used",
            (Rule.HAND_NEEDS_SHUFFLER,),
        )
    if state.method is Method.AUTOMATED_SHOE and not in_service(state, "shoe"):
        return Refusal("the automated shoe is out of service", "the dealing method is changed", (Rule.OUT_OF_SERVICE,))
    return None


def uncleared_warning(state: State) -> Refusal | None:
    """Refuse while a warning has not been cleared."""
    for key in blocking(state):
        found = state.warnings[key]
        return Refusal(found.text, "the cause is gone and the warning has been cleared", tuple(found.clause))
    return None


def cannot_start(state: State, now_ms: int) -> Refusal | None:
    """Why no round can start now: faults first, then what is missing."""
    refusal = uncleared_warning(state) or no_way_to_deal(state)
    if refusal:
        return refusal
    name = due_deck(state)
    if not name or state.decks[name].state is not DeckState.LOADED:
        return Refusal(f"the {state.due} deck is not loaded", "it is loaded", (Rule.DECKS_ALTERNATE,))
    if state.method is Method.AUTOMATED_SHOE and in_service(state, "shoe") and not usable(state, "shoe"):
        hindered = state.devices["shoe"].hindered
        return Refusal(f"the shoe is not ready{': ' * bool(hindered)}{hindered}", "it is ready", (Rule.DEALING,))
    return (
        wrong_number_of_decks(state)
        or over_age(state, name, now_ms)
        or uncounted(state, state.decks[name], name)
        or rack_occupied(state, name)  # before the next, which does not say where the other deck is
        or other_deck_not_in_shuffler(state)
        or stub_overdue(state)
        or deck_finished(state, name)
    )


@enforces(Rule.CUT_CARD)
def deck_finished(state: State, name: str) -> Refusal | None:
    """Refuse another round from a deck whose cut card has come out, once all rounds that may follow are over."""
    if state.decks[name].rounds_left:
        return None
    return Refusal(f"the cut card of deck {name} has come out", "the deck has been shuffled", (Rule.CUT_CARD,))
