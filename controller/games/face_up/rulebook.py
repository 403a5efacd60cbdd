"""The rulebook of Face-Up Chinese Poker: its rules have names. Their texts are summaries in our own words."""

from __future__ import annotations

from controller.games.face_up.pay import (
    bonus_points,
    collection_fee_cents,
    enters_fantasy_land,
    has_sweep,
    is_foul,
    least_buy_in,
    may_be_dealt_in,
    settle,
    stays_in_fantasy_land,
    sweep_of,
)
from controller.games.poker_hands import five_card_hand, front_hand
from controller.games.rulebook import Rule, Rulebook

CLAUSES = {
    "table": "A pack of 52; up to five seats, four dealt in, clockwise from the buttons; two may play two hands.",
    "deal": "Five cards each, face up, from the left of the button; then one at a time to thirteen. Four take all 52.",
    "segments": "The back ranks over the middle, the middle over the front; the front has no straights and flushes.",
    "foul": "A hand that is not in order pays nine points to each other hand, bonuses and sweeps; it earns none.",
    "points": "A point for each segment; ties push, but the holder of the buttons wins them; compared from position 1.",
    "bonus": "Certain segments earn a bonus, even where the segment is lost.",
    "clean sweep": "A declared sweep is paid before the comparison, and takes no part in it.",
    "fantasy land": "Queens or better in front without a foul: thirteen cards at once in the next round, set first.",
    "stakes": "Nobody wins or loses more than lay before them; nine points to be dealt in; a buy-in of thirty limits.",
    "collection": "A fee for each down of 40 minutes, half for those who come in its second half.",
}

RULEBOOK = Rulebook(
    clauses=CLAUSES,
    rules={
        Rule.SEATS: "table",
        Rule.BUTTON: "table",
        Rule.FOREIGN_CARD: "table",
        Rule.DECK_COMPOSITION: "table",
        Rule.DEALING: "deal",
        Rule.DEAL_STACKS: "deal",
        Rule.WRONG_NUMBER: "deal",
        Rule.STUB_COUNT_DUE: "deal",
        Rule.STUB_FITS: "deal",
        Rule.STUB_WRONG: "deal",
        Rule.MISDEALT: "deal",
        Rule.NOT_MISDEALT: "deal",
        Rule.DECISIONS: "segments",
        Rule.BETS: "stakes",
        Rule.TABLE_STAKES: "stakes",
        Rule.COLLECTION: "collection",
        Rule.SETTLEMENT: "points",
    },
    decided_by={
        "segments": (five_card_hand, front_hand, is_foul),
        "foul": (is_foul, settle),
        "points": (settle,),
        "bonus": (bonus_points,),
        "clean sweep": (has_sweep, sweep_of),
        "fantasy land": (enters_fantasy_land, stays_in_fantasy_land),
        "stakes": (may_be_dealt_in, least_buy_in, settle),
        "collection": (collection_fee_cents,),
    },
)
