"""The cards of one table as physical things: each card is an object that is in exactly one place.

The simulated shuffler, shoe and people all move these same cards, so no simulated fault can create or lose one.
"""

# mypyc
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from firmware_bridge.wire.messages import LARGEST_PACK, MOST_KINDS


class Kind(IntEnum):
    """What is printed on a card of Dragon Poker."""

    RED_DRAGON = 0
    BLUE_DRAGON = 1
    GOLD_DRAGON = 2
    PHOENIX = 3
    TIGER = 4
    PANDA = 5
    MONKEY = 6
    RABBIT = 7


DECK: Final[dict[Kind, int]] = {
    Kind.RED_DRAGON: 3,
    Kind.BLUE_DRAGON: 3,
    Kind.GOLD_DRAGON: 1,
    Kind.PHOENIX: 7,
    Kind.TIGER: 8,
    Kind.PANDA: 9,
    Kind.MONKEY: 10,
    Kind.RABBIT: 12,
}
DECK_SIZE: Final = sum(DECK.values())
assert DECK_SIZE == 53, f"a deck is 53 cards, not {DECK_SIZE}"


@dataclass(frozen=True, slots=True)
class Pack:
    """The cards that are shuffled together in one game: kinds by their numbers on the wire, and copies of each."""

    kinds: tuple[IntEnum, ...]
    copies: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.kinds) <= MOST_KINDS or len(self.kinds) != len(self.copies):
            raise ValueError(f"a pack has 1 to {MOST_KINDS} kinds, each with its copies, not {len(self.kinds)}")
        if [int(kind) for kind in self.kinds] != list(range(len(self.kinds))):
            raise ValueError("the kinds of a pack are numbered from 0, in their order")
        if min(self.copies) < 1 or not self.size <= LARGEST_PACK:
            raise ValueError(f"a pack has a copy of each kind and at most {LARGEST_PACK} cards, not {self.size}")

    @property
    def size(self) -> int:
        """How many cards it has."""
        return sum(self.copies)


def pack_of(copies: Mapping[str, int]) -> Pack:
    """A pack with this many copies of each kind, by names such as "ace of spades". Their order numbers the kinds."""
    names = [(name.upper().replace(" ", "_"), number) for number, name in enumerate(copies)]
    enum_of: Any = IntEnum  # its names are data, so neither mypy nor mypyc can know them
    return Pack(tuple(enum_of("Kind", names)), tuple(copies.values()))


DRAGON_POKER: Final = Pack(tuple(DECK), tuple(DECK.values()))


# Frozen, so that only Cards.flip can turn a card; compared by identity, since two tigers are two cards.
@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """One card: `deck` and `index` say which one it is, and neither ever changes."""

    deck: str
    index: int
    kind: IntEnum
    face_up: bool = False


class CardPlace(IntEnum):
    """Where a card can be. An IntEnum because it is hashed in every move, and an int hashes fast."""

    INFEED = 0  # shuffler: waiting to be shuffled
    SHELVES = 1  # shuffler: being shuffled, numbered by shelf from 0
    OUTPUT = 2  # shuffler: shuffled, waiting to be delivered
    SHOE = 3
    EXIT = 4  # shoe: the stack presented, not yet taken
    HELD = 5  # shoe: a stack formed and kept inside
    HAND = 6  # numbered by seat
    RACK = 7
    FLOOR = 8
    TABLE = 9  # a deck before it is loaded, or between shuffler and shoe


class Spot(NamedTuple):
    """A place and its number: the seat of a hand, the number of a shelf. 0 where there is only one."""

    place: CardPlace
    number: int = 0

    def __str__(self) -> str:
        return f"{self.place.name} {self.number}"


# Where moved cards go in the pile they join: any index from the top, or one of these two.
TOP: Final = 0
BOTTOM: Final = -1


class NotThere(LookupError):
    """Cards were requested from a spot that does not have them. Nothing was moved."""


class NotTheSameCards(ValueError):
    """A new order for a spot is not a permutation of the cards there. Nothing was changed."""


class Cards:
    """All the cards of one table, in one pile per spot. Index 0 is the top card, the next to be dealt.

    Cards are moved, reordered within their spot, or flipped; nothing else changes them. A move keeps the
    order of the cards that move, as a packet lifted by hand does.
    """

    # The piles are the only record of where a card is. A card does not know its own place: that would be
    # one more write per card in every move, and a second account that could disagree with the first.

    def __init__(
        self, decks: Iterable[str], spares: Iterable[tuple[str, IntEnum]] = (), pack: Pack = DRAGON_POKER
    ) -> None:
        """Lay out whole decks, each one pack, and spare cards on the floor.

        The decks, named by the colour of their backs, are on TABLE spots 0, 1, ... in that order. A spare is
        (back, kind); one with the back of a deck is numbered on from the cards of that deck.
        """
        self.pack = pack
        self._in_a_deck = pack.size
        self._piles: dict[Spot, list[Card]] = {}
        self._asleep: dict[Spot, Callable[[], None]] = {}
        used: Counter[str] = Counter()
        for number, name in enumerate(decks):
            if name in used:
                raise ValueError(f"two decks are named {name!r}")
            kinds = [kind for kind, copies in zip(pack.kinds, pack.copies, strict=True) for _ in range(copies)]
            self._piles[Spot(CardPlace.TABLE, number)] = [Card(name, i, kind) for i, kind in enumerate(kinds)]
            used[name] = self._in_a_deck
        floor = self._pile(Spot(CardPlace.FLOOR))
        for name, kind in spares:
            floor.append(Card(name, used[name], kind))
            used[name] += 1
        self._all = frozenset(card for pile in self._piles.values() for card in pile)
        of: dict[str, list[Card]] = {name: [] for name in used}
        for card in self._all:
            if not self.is_spare(card):
                of[card.deck].append(card)
        self._of = {name: frozenset(cards) for name, cards in of.items()}

    def is_spare(self, card: Card) -> bool:
        """Whether this card is not one of the whole decks."""
        return card.index >= self._in_a_deck

    # A device whose cycle nothing can disturb moves its cards at the cycle's end, all at once. Whoever looks at them
    # before must see them as if they had moved one by one: so every look wakes the device that works there.

    def sleep(self, spots: Iterable[Spot], wake: Callable[[], None]) -> None:
        """The cards at these spots are moved later; `wake` brings them to where they are by now."""
        self._asleep.update(dict.fromkeys(spots, wake))

    def awake(self, spots: Iterable[Spot]) -> None:
        """The cards at these spots are where they should be by now."""
        for spot in spots:
            self._asleep.pop(spot, None)

    def _look_everywhere(self) -> None:
        for wake in set(self._asleep.values()):
            wake()

    def _pile(self, spot: Spot) -> list[Card]:
        if spot in self._asleep:
            self._asleep[spot]()
        pile = self._piles.get(spot)
        if pile is None:
            pile = self._piles[spot] = []
        return pile

    def _move(self, source: Spot, first: int, last: int, target: Spot, at: int) -> list[Card]:
        """Move cards [first, last) of a source that is known to have them; every move ends here."""
        pile, joined = self._pile(source), self._pile(target)
        moved = pile[first:last]
        room = len(joined) - (len(moved) if joined is pile else 0)  # the cards that the moved ones join
        if at == BOTTOM:
            at = room
        elif not 0 <= at <= room:
            raise ValueError(f"{target} has {room} cards: nothing can be put at {at}")
        del pile[first:last]
        joined[at:at] = moved
        return moved

    def _require(self, n: int, source: Spot) -> int:
        """Return how many cards are at the source, which must be at least n."""
        if n < 0:
            raise ValueError(f"cannot move {n} cards")
        there = self.count(source)
        if n > there:
            raise NotThere(f"{n} cards requested from {source}, which has {there}")
        return there

    def move_top(self, n: int, source: Spot, target: Spot, at: int = TOP) -> list[Card]:
        """Move the top n cards; return them. From a spot to the BOTTOM of the same spot, this is a cut."""
        self._require(n, source)
        return self._move(source, 0, n, target, at)

    def move_bottom(self, n: int, source: Spot, target: Spot, at: int = TOP) -> list[Card]:
        """Move the bottom n cards; return them."""
        there = self._require(n, source)
        return self._move(source, there - n, there, target, at)

    def move_all(self, source: Spot, target: Spot, at: int = TOP) -> list[Card]:
        """Move every card of a spot, which may be none; return them."""
        return self._move(source, 0, self.count(source), target, at)

    def move_card(self, card: Card, source: Spot, target: Spot, at: int = TOP) -> list[Card]:
        """Move one particular card out of the middle of a pile; return it in a list, as the other moves do."""
        try:
            index = self._pile(source).index(card)
        except ValueError:
            raise NotThere(f"{card} is not at {source}") from None
        return self._move(source, index, index + 1, target, at)

    def deal(self, n: int, source: Spot, target: Spot) -> list[Card]:
        """Move the top n cards one by one, each on top of the one before; return them in the order of their moving."""
        self._require(n, source)
        pile, joined = self._pile(source), self._pile(target)
        moved = pile[:n]
        del pile[:n]
        joined[:0] = moved[::-1]
        return moved

    def pick(self, deck: str, source: Spot, target: Spot) -> int:
        """Move the cards of a deck out of a pile one by one from the top, each on top of the one before; how many.

        A spare card comes along, and is seen where it is alone. Nobody sees it among the cards of another deck.
        """
        pile, joined = self._pile(source), self._pile(target)
        if self._of[deck].isdisjoint(pile) and not (len(pile) == 1 and pile[0].deck == deck):
            return 0
        picked = [card for card in pile if card.deck == deck]
        if len(picked) == len(pile):
            pile.clear()
        else:
            pile[:] = [card for card in pile if card.deck != deck]
        joined[:0] = picked[::-1]
        return len(picked)

    def reorder(self, spot: Spot, order: list[Card]) -> None:
        """Lay the cards of a spot in a new order: a shuffle in place."""
        pile = self._pile(spot)
        if len(order) != len(pile) or set(order) != set(pile):
            raise NotTheSameCards(f"the new order is not of the {len(pile)} cards at {spot}")
        pile[:] = order

    def flip(self, card: Card) -> None:
        """Turn one card over in place."""
        if card not in self._all:
            raise NotThere(f"{card} is not a card of this table")
        self._look_everywhere()
        object.__setattr__(card, "face_up", not card.face_up)

    @property
    def total(self) -> int:
        """How many cards the table has, spares included. It never changes."""
        return len(self._all)

    def count(self, spot: Spot) -> int:
        """How many cards are at a spot."""
        if spot in self._asleep:
            self._asleep[spot]()
        return len(self._piles.get(spot, ()))

    def pile(self, spot: Spot) -> list[Card]:
        """The cards at a spot from the top, in a list of the caller's own."""
        if spot in self._asleep:
            self._asleep[spot]()
        return list(self._piles.get(spot, ()))

    def kinds(self, spot: Spot) -> list[int]:
        """How many of each kind are at a spot, by the numbers of the pack's kinds."""
        counts = [0] * len(self.pack.kinds)
        for card in self.pile(spot):
            counts[card.kind] += 1
        return counts

    def spots(self, place: CardPlace) -> list[Spot]:
        """The spots of a place that have cards, by number: the hands still out, the shelves in use."""
        for wake in {wake for spot, wake in self._asleep.items() if spot[0] is place}:
            wake()
        return sorted([spot for spot, pile in self._piles.items() if pile and spot[0] is place])

    def where(self, card: Card) -> Spot:
        """Search all piles for a card. Slow."""
        self._look_everywhere()
        for spot, pile in self._piles.items():
            if card in pile:
                return spot
        raise NotThere(f"{card} is not a card of this table")

    def snapshot(self) -> dict[str, list[tuple[str, int, str, bool]]]:
        """Every pile that is not empty, as plain data: {"SHOE 0": [(deck, index, kind, face_up), ...]}."""
        self._look_everywhere()
        return {
            str(spot): [(card.deck, card.index, card.kind.name, card.face_up) for card in pile]
            for spot, pile in sorted(self._piles.items())
            if pile
        }

    def check(self) -> None:
        """Raise AssertionError unless each card of the table is in exactly one place, and no other card is."""
        self._look_everywhere()
        # Not an assert statement, which python -O leaves out. The length finds a card that is there twice.
        there = [card for pile in self._piles.values() for card in pile]
        if len(there) != self.total or set(there) != self._all:
            lost = [f"{card.deck} {card.index}" for card in self._all.difference(there)]
            raise AssertionError(f"{len(there)} cards were found, expected {self.total}; missing: {lost}")
