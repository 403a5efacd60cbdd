"""Dragon Poker: its deck, its dealing programmes, and its rulebook.

The clauses are those of the rules of play; their text here is a summary in our own words.
"""

from __future__ import annotations

from controller.games.game import DEALER, PLAYERS, Deal, Game, Method
from controller.games.rulebook import Rule, Rulebook

_ONE_BY_ONE = (Deal(PLAYERS, 1), Deal(DEALER, 1)) * 3

DRAGON_POKER = Game(
    name="Dragon Poker",
    kinds=("red dragon", "blue dragon", "gold dragon", "phoenix", "tiger", "panda", "monkey", "rabbit"),
    copies=(3, 3, 1, 7, 8, 9, 10, 12),
    deck_size=53,
    most_seats=6,
    programme={
        Method.AUTOMATED_SHOE: (Deal(PLAYERS, 3), Deal(DEALER, 3, last=True)),
        Method.MANUAL_SHOE: _ONE_BY_ONE,
        Method.HAND: _ONE_BY_ONE,
    },
)


def _by_method(manual_shoe: str, hand: str, automated_shoe: str) -> dict[Method, str]:
    return {Method.MANUAL_SHOE: manual_shoe, Method.HAND: hand, Method.AUTOMATED_SHOE: automated_shoe}


CLAUSES = {
    "2.A": "At most six players and one dealer sit at a table.",
    "3.A(1)(3)": "A deck is 53 cards: 3 red, 3 blue, 1 gold dragon, 7 phoenix, 8 tiger, 9 panda, 10 monkey, 12 rabbit.",
    "3.B": "Two decks are used only with an automated shuffler.",
    "3.B(1)": "The backs of the two decks differ in colour.",
    "3.B(2)": "While one deck is in play, the other is shuffled and kept in the shuffler.",
    "3.B(3)": "The decks alternate: each is used in every other round.",
    "3.B(4)": "The discard rack holds cards of one deck at a time.",
    "3.C": "A deck is changed after at most 4 hours when dealt by hand, and 8 hours when dealt from a shoe.",
    "4.A": "The dealer inspects a deck that arrives at the table, and a floorperson verifies it.",
    "4.B": "The inspected cards are spread face up for the first player to look at.",
    "4.C": "Then they are turned face down, washed and stacked.",
    "4.D": "The stacked cards are shuffled before they are used.",
    "4.E": "With two decks, each goes through the whole opening procedure.",
    "4.F": "A deck that was inspected and shuffled beforehand skips the opening procedure.",
    "5.A": "Cards are shuffled before play, after every round, and when a floorperson directs it.",
    "5.B": "A shuffle ends with the whole deck in one stack.",
    "5.C": "A shuffler may put the shuffled stack straight into the shoe.",
    "5.D": "A deck leaves the table if a counting shuffler finds the wrong number of cards in it.",
    "5.E": "Cards from a shuffler are dealt as they are; cards shuffled by hand or beforehand are cut first.",
    "5.F": "The cover card goes in at least ten cards from the top.",
    "5.G": "A floorperson may require another cut until the first card is dealt.",
    "5.H": "An idle table has its cards out of shoe and rack and spread; the next player sees a new opening.",
    "5.I": "An approved device may reshuffle and count the cards by itself.",
    "5.J": "With such a device there is no cut, no recut, and no spreading while the table is idle.",
    "8": "Cards may be dealt from a manual shoe, one at a time, after the bets are closed.",
    "8.E": "Manual shoe without a counting shuffler: the stub is counted at least once in five rounds.",
    "8.F": "Manual shoe: a stub with the right number of cards goes to the rack unexposed.",
    "8.G": "Manual shoe: a wrong stub voids the round; unless cards were misdealt, the deck leaves the table too.",
    "9": "Cards may be dealt from the hand, one at a time, after the bets are closed.",
    "9.A(1)": "Dealing from the hand requires an automated shuffler.",
    "9.D": "By hand without a counting shuffler: the stub is counted at least once in five rounds.",
    "9.E": "By hand: a stub with the right number of cards goes to the rack unexposed.",
    "9.F": "By hand: if the stub is wrong, the dealer finds out whether cards were misdealt.",
    "9.G": "By hand: if cards were misdealt and all are present, the round is void and wagers are returned.",
    "9.H": "By hand: if cards were not misdealt, the round is void, wagers are returned, and the deck leaves.",
    "10": "Cards may be dealt by an automated shoe, which forms the stacks.",
    "10.A": "The automated shoe takes the shuffled deck whose turn it is, cut where required and correctly counted.",
    "10.B(1)(2)": "Stacks of three go to the players who wagered, clockwise from the dealer's left, one at a time.",
    "10.B(3)(4)": "The dealer's stack comes last, or stays in the device until the players have acted.",
    "10.B(5)": "Then the stub leaves the shoe for the rack, unexposed.",
    "10.C": "Automated shoe without a counting shuffler: the stub is counted at least once in five rounds.",
    "10.D": "Automated shoe: a stub with the right number of cards goes to the rack unexposed.",
    "10.E": "Automated shoe: if the stub is wrong, the dealer finds out whether cards were misdealt.",
    "10.F": "Automated shoe: if cards were misdealt and all are present, the round is void and wagers are returned.",
    "10.G": "Automated shoe: if cards were not misdealt, the round is void, wagers are returned, and the deck leaves.",
    "11.D(2)": "The dealer's cards are shown after all players have acted.",
    "11.E": "Cards are collected so that every hand can be reconstructed.",
    "13.A": "A card found face up during the deal is not used: it goes to the rack and another takes its place.",
    "13.B": "A second face-up card in the same deal voids it: wagers are returned and the cards reshuffled.",
    "13.C": "A card drawn in error and not exposed is used as the next card.",
    "13.D": "A wrong number of cards in a hand voids the round: wagers are returned and the cards reshuffled.",
    "13.E": "A dealer's card exposed too early voids the round: wagers are returned and the cards reshuffled.",
    "13.F": "When the shuffler jams, stops or does not finish, the deck is shuffled again.",
    "13.G": "When the automated shoe jams, stops or does not finish dealing, the round is void and cards reshuffled.",
    "13.H": "No other way of shuffling or dealing until the failed device is covered, removed or marked out of order.",
}

RULEBOOK = Rulebook(
    clauses=CLAUSES,
    rules={
        Rule.SEATS: "2.A",
        Rule.DECK_COMPOSITION: "3.A(1)(3)",
        Rule.TWO_DECKS: "3.B",
        Rule.BACKS_DIFFER: "3.B(1)",
        Rule.OTHER_DECK_IN_SHUFFLER: "3.B(2)",
        Rule.DECKS_ALTERNATE: "3.B(3)",
        Rule.RACK_HOLDS_ONE_DECK: "3.B(4)",
        Rule.DECK_AGE: "3.C",
        Rule.INSPECT_DECK: "4.A",
        Rule.SPREAD_DECK: "4.B",
        Rule.WASH_DECK: "4.C",
        Rule.SHUFFLE_NEW_DECK: "4.D",
        Rule.OPEN_EACH_DECK: "4.E",
        Rule.PREPARED_DECK: "4.F",
        Rule.SHUFFLE: "5.A",
        Rule.ONE_STACK: "5.B",
        Rule.FEED_SHOE: "5.C",
        Rule.WRONG_COUNT: "5.D",
        Rule.CUT: "5.E",
        Rule.CUT_DEPTH: "5.F",
        Rule.RECUT: "5.G",
        Rule.IDLE_TABLE: "5.H",
        Rule.SELF_RESHUFFLING: "5.I",
        Rule.SELF_RESHUFFLING_NO_CUT: "5.J",
        Rule.HAND_NEEDS_SHUFFLER: "9.A(1)",
        Rule.DEAL_STACKS: "10.B(1)(2)",
        Rule.DEALER_STACK: "10.B(3)(4)",
        Rule.REVEAL_DEALER: "11.D(2)",
        Rule.COLLECT_HANDS: "11.E",
        Rule.FACE_UP: "13.A",
        Rule.SECOND_FACE_UP: "13.B",
        Rule.DRAWN_IN_ERROR: "13.C",
        Rule.WRONG_NUMBER: "13.D",
        Rule.DEALER_EXPOSED: "13.E",
        Rule.SHUFFLER_STOPS: "13.F",
        Rule.SHOE_STOPS: "13.G",
        Rule.OUT_OF_SERVICE: "13.H",
        Rule.DEALING: _by_method("8", "9", "10"),
        Rule.LOAD_SHOE: _by_method("8", "9", "10.A"),
        Rule.STUB_LEAVES: _by_method("8", "9", "10.B(5)"),
        Rule.STUB_COUNT_DUE: _by_method("8.E", "9.D", "10.C"),
        Rule.STUB_FITS: _by_method("8.F", "9.E", "10.D"),
        Rule.STUB_WRONG: _by_method("8.G", "9.F", "10.E"),
        Rule.MISDEALT: _by_method("8.G", "9.G", "10.F"),
        Rule.NOT_MISDEALT: _by_method("8.G", "9.H", "10.G"),
    },
)
