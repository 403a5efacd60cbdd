"""Numbers that people enter after counting cards: impossible ones are refused, unlikely ones must be confirmed."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core.refusal import Refusal
from controller.core.state import State
from controller.games.rulebook import Rule

MOST_SURPLUS: Final = 9  # a surplus up to this can come from a mix-up; a larger one is a typing error


def impossible(state: State, number: int, *rules: Rule) -> Refusal | None:
    """Refuse a number of cards that cannot be there."""
    most = state.setup.game.deck_size + MOST_SURPLUS
    if 0 <= number <= most:
        return None
    return Refusal(f"{number} is not a possible count", f"the number is between 0 and {most}", rules)


def unlikely(
    state: State, deck: str, number: int, *, pile: int, expected: int, blind: bool, rules: tuple[Rule, ...] = ()
) -> Refusal | None:
    """Ask for confirmation of a number that does not match the ledger. `pile`: the cards of the deck counted so far.

    Where the count is evidence, it is blind: the person must not learn which number would match.
    """
    if number == expected:
        return None
    size = state.setup.game.deck_size
    reason = f"the count of {number} does not match"
    if pile > size and not blind:
        reason = f"that makes {pile} cards in deck {deck}, not {size}"
    return Refusal(reason, f"the cards have been counted again and {number} is confirmed", rules, confirm=True)


def unlikely_hand(number: int, share: int, *rules: Rule) -> Refusal | None:
    """Ask for confirmation of a hand that has more cards than two stacks: the report cannot be taken back."""
    if number <= 2 * share:
        return None
    possible_when = f"the cards have been counted again and {number} is confirmed"
    return Refusal(f"a hand of {number} cards is unlikely", possible_when, rules, confirm=True)


def stands(refusal: Refusal | None, confirmed: bool) -> bool:
    """Whether a number is refused, even if the person has confirmed it."""
    return refusal is not None and not (refusal.confirm and confirmed)
