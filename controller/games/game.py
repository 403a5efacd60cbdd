"""The numbers of a game: the composition of a deck, and who is dealt how many cards in which order."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Method(StrEnum):
    """How cards are dealt."""

    __hash__ = str.__hash__  # that of an enum is computed in Python

    AUTOMATED_SHOE = "automated_shoe"
    MANUAL_SHOE = "manual_shoe"
    HAND = "hand"


PLAYERS = "players"
DEALER = "dealer"


LIFE_H = {Method.AUTOMATED_SHOE: 8, Method.MANUAL_SHOE: 8, Method.HAND: 4}  # hours a deck may be played


class Deal(msgspec.Struct, frozen=True):
    """One step of a dealing programme: a number of cards to each player, or to one named hand."""

    to: str  # PLAYERS, DEALER, or the name of another hand
    cards: int  # to each hand, as one stack
    last: bool = False  # the dealer's stack, which may stay in the device until the players have acted
    after_acting: bool = False  # dealt once the players have acted
    face_up: bool = False  # for everybody to see


class Game(msgspec.Struct, frozen=True):
    """The numbers of a game. They are stored in the journal with the set-up of the table."""

    name: str  # on the screen and in the journal
    kinds: tuple[str, ...]  # of cards, in the order used by a device that recognises them
    copies: tuple[int, ...]  # how many of each kind a deck has
    deck_size: int  # the sum of `copies`
    most_seats: int  # player positions at the table
    programme: dict[Method, tuple[Deal, ...]]  # the deal; other methods are refused. PLAYERS are dealt to clockwise
    extra_cards: int = 0  # how many cards a hand may draw beyond its share, at the dealer's request
    least_cut: int = 10  # cards above the cover card
    stub_count_rounds: int = 5  # how often the stub is counted, in rounds; 0 for never
    life_h: dict[Method, int] = msgspec.field(default_factory=lambda: dict(LIFE_H))  # hours of play; if none: no limit
    keeps_dealing: bool = False  # the deck lasts several rounds, until its cut card comes out: see games.md
    draws: bool = False  # cards are also dealt while the players act
    fewest_seats: int = 1  # that must play
    has_button: bool = False  # it moves clockwise after every round, and the deal begins at its left
    most_hands: int = 0  # that are dealt in, if fewer than there are seats
    burnt: int = 0  # cards that are burnt before the first round of a deck
    packed: int = 1  # how many decks of equal size it was put together from, each counted when it is inspected

    def hands(self) -> tuple[str, ...]:
        """The hands that are always dealt to, besides the players."""
        found = (deal.to for deals in self.programme.values() for deal in deals if deal.to != PLAYERS)
        return tuple(dict.fromkeys(found))

    def most_cards(self, method: Method, seats: int) -> int:
        """The largest number of cards that a round with this many players needs."""
        deals = self.programme.get(method, ())
        dealt = sum(deal.cards * (seats if deal.to == PLAYERS else 1) for deal in deals)
        return dealt + self.extra_cards * (seats + len(self.hands()))


def game_fault(game: Game) -> str:
    """What is wrong with a game's numbers; empty if nothing is."""
    if len(game.kinds) != len(game.copies) or min(game.copies, default=0) < 1:
        return "every kind of card needs at least 1 copy"
    if sum(game.copies) != game.deck_size:
        return f"the kinds add up to {sum(game.copies)} cards, but a deck of {game.name} has {game.deck_size}"
    return ""
