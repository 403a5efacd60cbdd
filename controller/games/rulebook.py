"""The rules that the code enforces, by name, and the model of a rulebook, which maps each rule to clause and text.

Code refers only to `Rule.X`. The clause numbers and texts are data of each game, in its own package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from controller.games.game import Method


class Rule(StrEnum):
    """The name by which the code refers to a rule."""

    __hash__ = str.__hash__  # that of an enum is computed in Python

    SEATS = "seats"
    # the deck
    DECK_COMPOSITION = "deck_composition"
    TWO_DECKS = "two_decks"
    BACKS_DIFFER = "backs_differ"
    OTHER_DECK_IN_SHUFFLER = "other_deck_in_shuffler"
    DECKS_ALTERNATE = "decks_alternate"
    RACK_HOLDS_ONE_DECK = "rack_holds_one_deck"
    DECK_AGE = "deck_age"
    # opening
    INSPECT_DECK = "inspect_deck"
    SPREAD_DECK = "spread_deck"
    WASH_DECK = "wash_deck"
    SHUFFLE_NEW_DECK = "shuffle_new_deck"
    OPEN_EACH_DECK = "open_each_deck"
    PREPARED_DECK = "prepared_deck"
    # shuffling
    SHUFFLE = "shuffle"
    ONE_STACK = "one_stack"
    FEED_SHOE = "feed_shoe"
    WRONG_COUNT = "wrong_count"
    CUT = "cut"
    CUT_DEPTH = "cut_depth"
    RECUT = "recut"
    IDLE_TABLE = "idle_table"
    SELF_RESHUFFLING = "self_reshuffling"
    SELF_RESHUFFLING_NO_CUT = "self_reshuffling_no_cut"
    # dealing
    DEALING = "dealing"
    HAND_NEEDS_SHUFFLER = "hand_needs_shuffler"
    LOAD_SHOE = "load_shoe"
    DEAL_STACKS = "deal_stacks"
    DEALER_STACK = "dealer_stack"
    STUB_LEAVES = "stub_leaves"
    STUB_COUNT_DUE = "stub_count_due"
    STUB_FITS = "stub_fits"
    STUB_WRONG = "stub_wrong"
    MISDEALT = "misdealt"
    NOT_MISDEALT = "not_misdealt"
    # after the deal
    HANDS_OUT = "hands_out"
    REVEAL_DEALER = "reveal_dealer"
    COLLECT_HANDS = "collect_hands"
    # in games that have them
    BETS = "bets"
    BETS_CLOSED = "bets_closed"
    LATE_BET = "late_bet"
    WITHDRAWN_BET = "withdrawn_bet"
    BUTTON = "button"
    COLLECTION = "collection"
    TABLE_STAKES = "table_stakes"
    DECISIONS = "decisions"
    FURTHER_CARDS = "further_cards"
    FOREIGN_CARD = "foreign_card"
    CUT_CARD = "cut_card"
    VOID_KEEPS = "void_keeps"
    SETTLEMENT = "settlement"
    RESHUFFLE_STOCK = "reshuffle_stock"
    SESSION = "session"
    TWO_CARDS = "two_cards"
    ORDER_ALTERED = "order_altered"
    RECONSTRUCT = "reconstruct"
    TOO_FEW_CARDS = "too_few_cards"
    # irregularities
    FACE_UP = "face_up"
    SECOND_FACE_UP = "second_face_up"
    DRAWN_IN_ERROR = "drawn_in_error"
    WRONG_NUMBER = "wrong_number"
    DEALER_EXPOSED = "dealer_exposed"
    SHUFFLER_STOPS = "shuffler_stops"
    SHOE_STOPS = "shoe_stops"
    OUT_OF_SERVICE = "out_of_service"


class Rulebook(msgspec.Struct, frozen=True):
    """A game's clauses with their texts, in order, and the clause of each rule: one, or one per dealing method."""

    clauses: dict[str, str]  # each with its text, in order
    rules: dict[Rule, str | dict[Method, str]]  # the clause of each rule of the core that the game has
    decided_by: dict[str, tuple[Callable[..., object], ...]] = {}  # the functions of the game that decide a clause

    def clauses_of(self, rule: Rule) -> tuple[str, ...]:
        """All clauses of a rule, with any dealing method."""
        found = self.rules.get(rule, {})
        return (found,) if isinstance(found, str) else tuple(dict.fromkeys(found.values()))

    def cite(self, cited: Sequence[Rule | str], method: Method) -> tuple[str, ...]:
        """The clauses of these rules for this dealing method, none twice; clauses among them are returned unchanged."""
        if len(cited) == 1:  # almost always
            clause = self._clause(cited[0], method)
            return (clause,) if clause else ()
        return tuple(dict.fromkeys(clause for one in cited if (clause := self._clause(one, method))))

    def _clause(self, cited: Rule | str, method: Method) -> str:
        if not isinstance(cited, Rule):
            return cited
        found = self.rules.get(cited, "")
        return found if isinstance(found, str) else found.get(method, "")

    def split(self, fault: str) -> tuple[str, str]:
        """What a game says is wrong, and the clause that it names at the end, in brackets; empty if it names none."""
        text, _, clause = fault.removesuffix(")").rpartition(" (")
        return (text, clause) if clause in self.clauses else (fault, "")

    def matching(self, words: str) -> list[str]:
        """The clauses that match what a person typed: `13.G`, or `13` for the whole chapter."""
        exact = [words] if words in self.clauses else []
        return exact + [clause for clause in self.clauses if clause.startswith((f"{words}.", f"{words}("))]
