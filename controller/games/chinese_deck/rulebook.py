"""The rulebook of Dragon Poker with the Chinese deck: its rules have names. Their texts are summaries in our words."""

from __future__ import annotations

from controller.games.chinese_deck.pay import (
    class_bonus,
    deal_winner,
    exchange_cost,
    may_exchange,
    reshuffle_due,
    tally,
    when_won,
    winning_class,
)
from controller.games.rulebook import Rule, Rulebook

CLAUSES = {
    "deal": "Two to four players pay an ante of one unit and get six cards each, one by one; who deals changes.",
    "at once": "A winning hand in the deal ends the round: 100 units from each; the higher class wins.",
    "exchange": "In turn, a player exchanges one to three cards for as many units, and gets new ones from the top.",
    "first round": "A win during the first round of exchanges earns 50 units from each.",
    "reshuffle": "With fewer than three cards left, stock and discards are shuffled, cut by another player, and used.",
    "tally": "The winner gets the pot and, by the class of the hand, a bonus from each of the others.",
    "classes": "Six cards win in six classes, from an F card with the green dragon and four winds to five F cards.",
}

RULEBOOK = Rulebook(
    clauses=CLAUSES,
    rules={
        Rule.SEATS: "deal",
        Rule.DECK_COMPOSITION: "classes",
        Rule.DEALING: "deal",
        Rule.DEAL_STACKS: "deal",
        Rule.BUTTON: "deal",
        Rule.BETS: "deal",
        Rule.DECISIONS: "exchange",
        Rule.RESHUFFLE_STOCK: "reshuffle",
        Rule.SETTLEMENT: "tally",
    },
    decided_by={
        "at once": (deal_winner, tally),
        "exchange": (may_exchange, exchange_cost),
        "reshuffle": (reshuffle_due,),
        "first round": (when_won, tally),
        "tally": (class_bonus, tally),
        "classes": (winning_class,),
    },
)
