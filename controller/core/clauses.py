"""The clauses of the rules that the equipment enforces, in our own words, and the register of what enforces each.

A rule lives in one place: the function that decides it carries `@enforces("3.C")`, and every event and refusal
that comes of it names the clause. `shoectl rules` prints this list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

CLAUSES: dict[str, str] = {
    "2.A": "At most six players sit at a table, and one dealer.",
    "3.A(1)(3)": "A deck is 53 cards: 3 red, 3 blue, 1 gold dragon, 7 phoenix, 8 tiger, 9 panda, 10 monkey, 12 rabbit.",
    "3.B": "Two decks are played only with an automated shuffler.",
    "3.B(1)": "The backs of the two decks differ in colour.",
    "3.B(2)": "While one deck is played, the other is shuffled and kept in the shuffler.",
    "3.B(3)": "The decks take turns: each is played in every other round.",
    "3.B(4)": "The discard rack holds cards of one deck at a time.",
    "3.C": "A deck is changed after 4 hours at the latest when dealt by hand, after 8 hours when dealt from a shoe.",
    "4.A": "The dealer inspects a deck that came to the table, and a floorperson verifies it.",
    "4.B": "The inspected cards are spread face up for the first player to look at.",
    "4.C": "Then they are turned, washed and stacked.",
    "4.D": "The stacked cards are shuffled before they are played.",
    "4.E": "With two decks, each of them goes through the whole opening.",
    "4.F": "A deck that was inspected and shuffled beforehand skips the opening.",
    "5.A": "Cards are shuffled before play, after every round, and when a floorperson says so.",
    "5.B": "A shuffle ends with the whole deck in one stack.",
    "5.C": "A shuffler may put the shuffled stack straight into the shoe.",
    "5.D": "A deck in which a counting shuffler finds another number of cards than it should leaves the table.",
    "5.E": "Cards from a shuffler are dealt as they are; cards shuffled by hand or beforehand are cut first.",
    "5.F": "The cover card goes in at least ten cards from the top.",
    "5.G": "A floorperson may ask for another cut as long as no card was dealt.",
    "5.H": "Without players the cards leave shoe and rack and lie spread; for the next player they are opened anew.",
    "5.I": "An approved device may reshuffle and count the cards by itself.",
    "5.J": "With such a device there is no cut, no recut and no spreading while the table is idle.",
    "8": "Cards may be dealt from a manual shoe, one at a time, after the bets are closed.",
    "8.E": "Manual shoe without a counting shuffler: the stub is counted at least once in five rounds.",
    "8.F": "Manual shoe: a stub that fits goes to the rack unexposed.",
    "8.G": "Manual shoe: a stub that does not fit voids the round; unless cards were misdealt, the deck leaves too.",
    "9": "Cards may be dealt from the hand, one at a time, after the bets are closed.",
    "9.A(1)": "Dealing from the hand needs an automated shuffler.",
    "9.D": "By hand without a counting shuffler: the stub is counted at least once in five rounds.",
    "9.E": "By hand: a stub that fits goes to the rack unexposed.",
    "9.F": "By hand: when the stub does not fit, the dealer finds out whether cards were misdealt.",
    "9.G": "By hand: misdealt, and all cards there: the round is void and wagers go back.",
    "9.H": "By hand: not misdealt: the round is void, wagers go back, and the deck leaves the table.",
    "10": "Cards may be dealt by an automated shoe, which forms the stacks.",
    "10.A": "The automated shoe takes the shuffled deck whose turn it is, cut where a cut is due, and counted right.",
    "10.B(1)(2)": "Stacks of three go to the players who wagered, from the dealer's left, clockwise, one at a time.",
    "10.B(3)(4)": "The dealer's stack comes last, or stays in the device until the players have acted.",
    "10.B(5)": "Then the stub leaves the shoe for the rack, unexposed.",
    "10.C": "Automated shoe without a counting shuffler: the stub is counted at least once in five rounds.",
    "10.D": "Automated shoe: a stub that fits goes to the rack unexposed.",
    "10.E": "Automated shoe: when the stub does not fit, the dealer finds out whether cards were misdealt.",
    "10.F": "Automated shoe: misdealt, and all cards there: the round is void and wagers go back.",
    "10.G": "Automated shoe: not misdealt: the round is void, wagers go back, and the deck leaves the table.",
    "11.D(2)": "The dealer's cards are shown after all players have acted.",
    "11.E": "Cards are collected so that every hand can be told afterwards.",
    "13.A": "A card found face up while dealing is not used: it goes to the rack, and another takes its place.",
    "13.B": "A second card face up in the same deal voids it: wagers go back, cards are reshuffled.",
    "13.C": "A card drawn in error and not exposed is the next card.",
    "13.D": "A wrong number of cards in a hand voids the round: wagers go back, cards are reshuffled.",
    "13.E": "A card of the dealer shown too early voids the round: wagers go back, cards are reshuffled.",
    "13.F": "When the shuffler jams, stops, or does not finish, the deck is shuffled again.",
    "13.G": "When the automated shoe jams, stops, or does not deal all, the round is void; every card is reshuffled.",
    "13.H": "No other way of shuffling or dealing before the broken device is covered, removed or marked out of order.",
}

Rule = TypeVar("Rule", bound=Callable[..., object])

_enforced: dict[str, list[str]] = {clause: [] for clause in CLAUSES}


def enforces(*clauses: str) -> Callable[[Rule], Rule]:
    """Mark the function that decides these clauses."""

    def register(rule: Rule) -> Rule:
        for clause in clauses:
            _enforced[clause].append(f"{rule.__module__}.{rule.__qualname__}")
        return rule

    return register


def enforced_by(clause: str) -> list[str]:
    """The functions that decide this clause, as full names. Complete once `controller.core.table` is imported."""
    return sorted(set(_enforced[clause]))


def matching(words: str) -> list[str]:
    """The clauses that a person means by `13.G`, or by `13` for the whole chapter."""
    if words in CLAUSES:
        return [words, *(c for c in CLAUSES if c.startswith((words + ".", words + "(")))]
    return [clause for clause in CLAUSES if clause.startswith((words + ".", words + "("))]
