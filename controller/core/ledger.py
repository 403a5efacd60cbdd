"""Card accounting: for every deck, how many of its cards are where. Cards are only ever moved, so the sum holds.

What a sensor or a person saw is put against what the ledger has. A difference goes to the place MISSING (below zero:
more cards than there should be) and stays visible there until the cards are found or declared missing.
"""

from __future__ import annotations

from collections.abc import Iterable

TABLE = "table"  # the dealer's pile
INFEED, SHELVES, OUTPUT, TRAY = "infeed", "shelves", "output", "tray"  # shuffler; the tray is its exit
SHOE, HELD, EXIT = "shoe", "held", "exit"  # automated shoe
MANUAL_SHOE, HAND = "manual_shoe", "hand"
RACK, STUB, ASIDE = "rack", "stub", "aside"
TAKEN = "taken"  # from the shoe, of a round that is void: at its hand, in the rack or on the pile, the dealer knows
MISSING = "missing"
GONE = "gone"  # declared missing, or away with a removed deck
DEALER = "dealer"

IN_DEVICE = {"shuffler": (INFEED, SHELVES, OUTPUT, TRAY), "shoe": (SHOE, HELD, EXIT)}
DEVICE_OF = {place: device for device, places in IN_DEVICE.items() for place in places}

Cards = dict[str, int]
Move = tuple[str, str, int]  # from, to, cards


def seat(number: int) -> str:
    """The place of a player's hand."""
    return f"seat{number}"


def fresh(size: int) -> Cards:
    """A deck that has just come to the table."""
    return {TABLE: size}


def move(cards: Cards, moves: Iterable[Move]) -> None:
    """Carry out moves. A place without cards is not listed."""
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


def count(cards: Cards, places: Iterable[str]) -> int:
    """How many cards lie in these places together."""
    total = 0
    for place in places:
        total += cards.get(place, 0)
    return total


def seen(cards: Cards, places: Iterable[str], number: int, target: str) -> list[Move]:
    """The moves that bring `number` cards, seen coming out of these places, to the target.

    If the ledger has more there, the rest is missing; if it has fewer, the surplus comes from the missing.
    """
    moves: list[Move] = []
    left = number
    for place in places:
        there = cards.get(place, 0)
        taken = min(there, left)
        if taken:
            moves.append((place, target, taken))
        if there > taken:
            moves.append((place, MISSING, there - taken))
        left -= taken
    if left:
        moves.append((MISSING, target, left))
    return moves


def part(cards: Cards, place: str, number: int, target: str) -> list[Move]:
    """The moves for `number` cards that were seen leaving a place where others stay."""
    there = min(cards.get(place, 0), number)
    moves = [(place, target, there)] if there else []
    return moves + ([(MISSING, target, number - there)] if number > there else [])


def broken(cards: Cards, size: int) -> str:
    """What is wrong with a ledger; empty where nothing is. MISSING and GONE are below zero where cards are too many."""
    total = sum(cards.values())
    if total != size:
        return f"the places add up to {total} cards, not {size}"
    if not cards or min(cards.values()) >= 0:
        return ""
    below = [place for place, number in cards.items() if number < 0 and place not in (MISSING, GONE)]
    return f"fewer than no cards at {below[0]}" if below else ""
