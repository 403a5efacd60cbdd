"""What the pure functions of a game get and give: the record of a round, whose turn it is, and what follows."""

from __future__ import annotations

from typing import Any

import msgspec

from controller.games.game import Deal
from controller.games.payments import Fee, Payment


class Decided(msgspec.Struct, frozen=True):
    """What was decided about a hand: one of the choices of its turn, with a number of cards or with certain cards."""

    hand: str  # "seat3", or the name of a hand in the programme
    choice: str  # one of `PlayerTurn.choices`
    number: int = 0  # of cards, if the choice is about a number
    kinds: tuple[str, ...] = ()  # the cards that it is about, or that were turned over
    moved: bool = False  # a correction: these cards of the hand belong to another choice than was entered


class RoundRecord(msgspec.Struct, frozen=True):
    """What is known about a round. A card that is face down is counted, and its kind is not known."""

    seats: tuple[int, ...]  # that play, in the order in which they are dealt to
    held: dict[str, int]  # how many cards each hand has
    kinds: dict[str, tuple[str, ...]]  # the cards of each hand that were seen, in order
    decisions: tuple[Decided, ...] = ()  # of all hands, in order
    wagers: dict[str, dict[str, int]] = {}  # by the hand of the seat, then by the bet
    first_round: int = 0  # that was dealt from the deck since its shuffle; 0: none yet
    stock: int = 0  # cards left where cards are dealt from
    discards: int = 0  # cards that were exchanged
    options: dict[str, Any] = {}  # what the house has chosen in the configuration
    carried: dict[str, Any] = {}  # what the game remembers from one round to the next
    method: str = ""  # how it is dealt
    button: int = 0  # the seat that has it
    reshuffles: int = 0  # how often stock and discards were shuffled in this round
    started_ms: int = 0  # when it began, by the table's clock
    now_ms: int = 0  # by the table's clock

    def decisions_of(self, hand: str) -> list[Decided]:
        """What was decided about one hand, in order."""
        return [decided for decided in self.decisions if decided.hand == hand]


class SessionEnd(msgspec.Struct, frozen=True):
    """The end of a session of several rounds: what is announced and paid, and what the game remembers."""

    result: str  # what is announced
    payments: tuple[Payment, ...] = ()  # in this order
    carried: dict[str, Any] = {}  # what is remembered for the next session


class Stakes(msgspec.Struct, frozen=True):
    """What the game remembers when a round begins, such as the chips before each player, and fees that are due then."""

    carried: dict[str, Any]  # what is remembered from now on
    fees: tuple[Fee, ...] = ()  # in the order in which they are taken


class DueCard(msgspec.Struct, frozen=True):
    """The hand that the game's rules call a further card for during the deal; empty if they call for none."""

    hand: str  # the hand, or empty
    why: str  # the reason, in a few words


class PlayerTurn(msgspec.Struct, frozen=True):
    """Who decides now, between what."""

    hand: str  # whose turn it is
    choices: tuple[str, ...]  # each is a button
    text: str  # the headline: "Ask seat 3 to play or forfeit."
    why: str = ""  # the line under it
    numbers: dict[str, tuple[int, int]] = {}  # the fewest and the most cards, for choices that are about a number
    cards: tuple[str, ...] = ()  # known cards of the hand to choose from, if the choice is about some of them
    enter: dict[str, int] = {}  # for choices with which the player turns cards over: how many
    in_order: bool = False  # the order in which these are entered says where they lie
    anybody: tuple[str, ...] = ()  # choices that every hand has, whose turn it may be


class Consequence(msgspec.Struct, frozen=True):
    """What follows from a decision; with a `fault`, it is refused."""

    fault: str = ""  # why this cannot be decided
    possible_when: str = ""  # and when it can
    discard: int = 0  # cards that the hand puts aside
    deals: tuple[Deal, ...] = ()  # what is dealt next, to which hands
    turned: int = 0  # cards of the hand that the player turns over
