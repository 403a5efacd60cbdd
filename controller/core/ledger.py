"""Card accounting: how many cards of each deck are at which place. Cards are only moved, so the sum never changes.

What a sensor or a person counts is compared with the ledger. A difference goes to the place MISSING (negative if there
are too many cards) and stays there until the cards are found or declared missing.
"""

# mypyc
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

TABLE: Final = "table"  # the dealer's pile
INFEED: Final = "infeed"  # shuffler; the tray is its exit
SHELVES: Final = "shelves"
OUTPUT: Final = "output"
TRAY: Final = "tray"
SHOE: Final = "shoe"  # automated shoe
HELD: Final = "held"
EXIT: Final = "exit"
MANUAL_SHOE: Final = "manual_shoe"
HAND: Final = "hand"
RACK: Final = "rack"
STUB: Final = "stub"
ASIDE: Final = "aside"
DISCARDS: Final = "discards"  # exchanged for others in this round
BURNT: Final = "burnt"  # before the first round of a deck
TAKEN: Final = "taken"  # from the shoe as the round became void: at its hand, in the rack or on the pile
FREED: Final = "freed"  # taken out of a device when a jam was freed, and not counted yet
MISSING: Final = "missing"
GONE: Final = "gone"  # declared missing
DEALER: Final = "dealer"

IN_DEVICE: Final = {"shuffler": (INFEED, SHELVES, OUTPUT, TRAY), "shoe": (SHOE, HELD, EXIT)}
DEVICE_OF: Final = {place: device for device, places in IN_DEVICE.items() for place in places}

CardCounts = dict[str, int]
Move = tuple[str, str, int]  # from, to, how many cards


def seat(number: int) -> str:
    """The place of a player's hand."""
    return f"seat{number}"


def seat_number(hand: str) -> int:
    """The number of the seat whose hand this is."""
    return int(hand.removeprefix("seat"))


def fresh(size: int) -> CardCounts:
    """A deck that has just come to the table."""
    return {TABLE: size}


def move(cards: CardCounts, moves: Iterable[Sequence[Any]]) -> None:
    """Carry out moves; those read from a journal are lists. A place without cards is not listed."""
    source: str
    target: str
    number: int
    for source, target, number in moves:
        left = cards.get(source, 0) - number
        if left:
            cards[source] = left
        else:
            cards.pop(source, None)
        there = cards.get(target, 0) + number
        if there:
            cards[target] = there
        else:
            cards.pop(target, None)


def count(cards: CardCounts, places: Iterable[str]) -> int:
    """How many cards are in these places together."""
    total = 0
    for place in places:
        total += cards.get(place, 0)
    return total


def within_reach(cards: CardCounts) -> bool:
    """Whether people could take cards of this deck: some are neither in a device nor declared missing."""
    return any(place not in DEVICE_OF and place != GONE for place in cards)


def emptying_moves(
    cards: CardCounts, places: Iterable[str], number: int, target: str, rest: str = MISSING
) -> list[Move]:
    """The moves when these places are emptied and `number` cards are counted on their way to the target.

    If the ledger has more there, the others go to `rest`; if it has fewer, the surplus comes from MISSING.
    """
    moves: list[Move] = []
    left = number
    for place in places:
        there = cards.get(place, 0)
        taken = min(there, left)
        if taken:
            moves.append((place, target, taken))
        if there > taken:
            moves.append((place, rest, there - taken))
        left -= taken
    if left:
        moves.append((MISSING, target, left))
    return moves


def partial_moves(cards: CardCounts, place: str, number: int, target: str) -> list[Move]:
    """The moves when `number` cards leave a place and others stay."""
    there = min(cards.get(place, 0), number)
    moves = [(place, target, there)] if there else []
    return moves + ([(MISSING, target, number - there)] if number > there else [])


def changing_moves(cards: CardCounts, wanted: CardCounts) -> list[Move]:
    """The moves that turn one distribution of the same cards into another."""
    left = {place: cards.get(place, 0) - wanted.get(place, 0) for place in {**cards, **wanted}}
    moves: list[Move] = []
    for source in left:
        for target in left:
            number = min(left[source], -left[target])
            if number > 0:
                moves.append((source, target, number))
                left[source] -= number
                left[target] += number
    return moves


def fault(cards: CardCounts, size: int) -> str:
    """What is wrong with a ledger; empty if nothing is. MISSING and GONE are negative if there are too many cards."""
    total = least = 0
    for number in cards.values():
        total += number
        if number < least:
            least = number
    if total != size:
        return f"the places add up to {total} cards, not {size}"
    if least == 0:
        return ""
    below = [place for place, number in cards.items() if number < 0 and place not in (MISSING, GONE)]
    return f"a negative number of cards at {below[0]}" if below else ""
