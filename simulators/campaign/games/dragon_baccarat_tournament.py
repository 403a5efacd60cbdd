"""Dragon Baccarat Tournament in a campaign: table of play, results and sessions, worked out from the cards."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from controller.core import actions as act
from controller.core import decision
from controller.core.actions import Role
from controller.core.changes.change import CHANGES
from controller.core.events.event import Entry, Event
from controller.core.events.play import CutCardAppeared
from controller.core.events.rounds import PlannedStack, StackTakenToHand
from controller.core.machines import TableState
from controller.core.rules import starting
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import State
from controller.games import GAMES, game_with
from controller.games.game import Method
from controller.games.payments import Payment
from controller.games.record import DueCard, RoundRecord, SessionEnd
from controller.games.rulebook import Rule
from simulators.campaign.games.model import CampaignGame, GameWitness
from simulators.campaign.planting import Swap, defect, described_with
from simulators.devices.cards import Card
from simulators.table.hands import SHOE, SOURCE, hand
from simulators.table.people import WHO

if TYPE_CHECKING:
    from simulators.campaign.clumsy_people import ClumsyPeople
    from simulators.campaign.deck_witness import WitnessedRound
    from simulators.campaign.luck import Mishap
    from simulators.campaign.witness import Witness

NAME: Final = "dragon-baccarat-tournament"
RECOGNISES, SHORT_SESSIONS = 2, 3  # of the tables below
HANDS: Final = ("player", "banker")
INITIAL: Final = ("player", "banker", "player", "banker")
NATURALS: Final = (8, 9)
BANKER_DRAWS: Final = {  # on these third cards of the player
    0: range(10),
    1: range(10),
    2: range(10),
    3: (0, 1, 2, 3, 4, 5, 6, 7, 9),
    4: range(2, 8),
    5: range(4, 8),
    6: (6, 7),
}
_PUT_RIGHT_S: Final = 0.7  # how long a card lies at the wrong hand
_POINTS: Final = {"ace": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_PAYS: Final = {"player": 1, "banker": 1, "tie": 8, "player pair": 11, "banker pair": 11}
_DRAGONS: Final = ((7, 10, 5), (6, 4, 2), (5, 2, 1))  # wins in a row, and what one side and any dragon pay
_COUNTED: Final = {"player dragon": ("player",), "banker dragon": ("banker",), "any dragon": ("player", "banker")}


def points(cards: tuple[str, ...]) -> int:
    """The last digit of the sum."""
    return sum(_POINTS.get(card.split()[0], 0) for card in cards) % 10


def next_hand(player: tuple[str, ...], banker: tuple[str, ...]) -> str:
    """Which hand gets the next card; empty if the round is over."""
    if len(player) + len(banker) < len(INITIAL):
        return INITIAL[len(player) + len(banker)]
    two, bank = points(player[:2]), points(banker[:2])
    if two in NATURALS or bank in NATURALS:
        return ""
    if len(player) == 2 and two <= 5:
        return "player"
    if len(banker) > 2:
        return ""
    if len(player) == 2:
        return "banker" if bank <= 5 else ""
    return "banker" if points(player[2:]) in BANKER_DRAWS.get(bank, ()) else ""


def winner(player: tuple[str, ...], banker: tuple[str, ...]) -> str:
    """Which side has won."""
    mine, theirs = points(player), points(banker)
    return "tie" if mine == theirs else "player" if mine > theirs else "banker"


class BaccaratWitness(GameWitness):
    """Plays every round again with its physical cards, in the order in which they lay in the shoe."""

    checks: ClassVar[Mapping[str, str]] = {
        "table of play": "a card goes to the hand that the table of play says, and none where it says none",
        "right result": "the result of a round and what each bet wins follow from the cards that lie there",
        "right session": "the dragon bets are paid for the longest streaks of the session",
        "shoe finished": "after the cut card has come out, only as many rounds are dealt as the house allows",
        "cards burnt": "cards are burnt at the beginning of a shoe, and only then",
    }

    def __init__(self, witness: Witness) -> None:
        super().__init__(witness)
        self.order: dict[Card, int] = {}  # where each card lay in the shoe
        self.results: list[str] = []  # of this session
        self.certain = True  # every result of this session followed from cards that were entered rightly
        self.dragon_bets: dict[str, dict[str, int]] = {}
        self.rounds_left = -1
        self.settled = False

    def started(self, round_: WitnessedRound) -> None:
        """The plan of the initial deal, and whether this round may be dealt at all."""
        pile = self.house.cards.pile(SOURCE.get(Method(round_.method), SHOE))
        self.order = {card: at for at, card in enumerate(pile)}
        burnt = self.witness.setup.game.burnt if round_.first else 0
        plan = [stack.target for stack in round_.plan]
        self.check("cards burnt", plan[: len(plan) - 4] == ["burnt"] * bool(burnt), f"the plan is {plan}")
        if burnt:
            self.check("cards burnt", round_.plan[0].cards == burnt, f"{round_.plan[0].cards} cards are burnt")
        self.check("dealt in order", tuple(plan[-4:]) == INITIAL, f"the plan is {plan}")
        if round_.first:
            self.rounds_left = -1
        self.check("shoe finished", self.rounds_left != 0, "a round is dealt from a shoe that is finished")
        self.rounds_left -= self.rounds_left > 0
        self.settled = False

    def saw(self, event: Entry, round_: WitnessedRound | None) -> None:
        see = getattr(self, "_" + event.kind.replace(".", "_"), None)
        if see is not None:
            see(event, round_)

    def _unsure(self, round_: WitnessedRound) -> bool:
        return bool(round_.misread) or self.witness.excused(round_)

    def _cards(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.kinds("player"), self.kinds("banker")

    def _card_due(self, event: Entry, round_: WitnessedRound) -> None:
        if not self._unsure(round_):
            due, cards = next_hand(*self._cards()), self._cards()
            self.check("table of play", event.data["target"] == due, f"{event.data}, but due is {due!r}: {cards}")

    def _dealing_completed(self, event: Entry, round_: WitnessedRound) -> None:
        if self._unsure(round_):
            return
        due = next_hand(*self._cards())
        self.check("table of play", not due, f"all hands are dealt, but {due} gets a card: {self._cards()}")
        if any(card not in self.order for name in HANDS for card in self.witness.pile_of(name)):
            return  # a spare card got in
        drawn = [(self.order.get(card, -1), name) for name in HANDS for card in self.witness.pile_of(name)]
        whose = [name for _, name in sorted(drawn)]
        good = tuple(whose[:4]) == INITIAL and whose[4:] in ([], ["player"], ["banker"], ["player", "banker"])
        self.check("dealt in order", good, f"the cards went to {whose}")

    def _round_settled(self, event: Entry, round_: WitnessedRound) -> None:
        self.settled = True
        if self._unsure(round_):
            self.certain = False
            return
        player, banker = self._cards()
        won, result = winner(player, banker), event.data["result"]
        told = f"player {points(player)}, banker {points(banker)}: {'tie' if won == 'tie' else won + ' wins'}"
        pairs = [name for name, cards in zip(HANDS, (player, banker), strict=True) if _pair(cards)]
        expected = ", ".join([told, *(f"{name} pair" for name in pairs)])
        self.check("right result", result == expected, f"{result!r}, but the cards are {expected}: {player}, {banker}")
        self.results.append(won)
        paid = {(step["hand"], step["bet"]): step.get("net", 0) for step in event.data.get("payments", [])}
        for place, bets in self.house.state.bets.items():
            for bet, amount in bets.items():
                if bet not in _PAYS:
                    continue
                good = bet == won or (bet.removesuffix(" pair") in pairs and bet.endswith("pair"))
                net = amount * _PAYS[bet] if good else 0 if won == "tie" and bet in HANDS else -amount
                found = paid.pop((place, bet), None)
                self.check("right result", found == net, f"{place} gets {found} for {bet}, not {net}: {expected}")
        self.check("right result", not paid, f"without a bet: {paid}")

    def _round_voided(self, event: Entry, round_: WitnessedRound) -> None:
        if self.settled and self.results and not self._unsure(round_):
            self.results.pop()

    def _bet_recorded(self, event: Entry, round_: WitnessedRound | None) -> None:
        if event.data["bet"] in _COUNTED:
            self.dragon_bets.setdefault(f"seat{event.data['seat']}", {})[event.data["bet"]] = event.data["amount"]

    def _session_ended(self, event: Entry, round_: WitnessedRound | None) -> None:
        runs = [(side, len(list(run))) for side, run in itertools.groupby(one for one in self.results if one != "tie")]
        paid = {(step["hand"], step["bet"]): step.get("net", 0) for step in event.data.get("payments", [])}
        for place, bets in self.dragon_bets.items():
            for bet, amount in bets.items():
                longest = max((wins for side, wins in runs if side in _COUNTED[bet]), default=0)
                at = 2 if bet == "any dragon" else 1
                pays = next((line[at] for line in _DRAGONS if longest >= line[0]), -1)
                found = paid.get((place, bet), 0)
                if self.certain:
                    self.check("right session", found == amount * pays, f"{place}: {found} for {bet}; streaks {runs}")
        self.results, self.certain, self.dragon_bets = [], True, {}

    def _cut_card_appeared(self, event: Entry, round_: WitnessedRound | None) -> None:
        allowed = self.witness.setup.options.get("rounds_after_cut_card", 1)
        self.check("shoe finished", event.data["rounds"] == allowed, f"{event.data['rounds']} rounds may follow")
        self.rounds_left = allowed

    def _table_idled(self, event: Entry, round_: WitnessedRound | None) -> None:
        self.certain = False

    def _table_opened(self, event: Entry, round_: WitnessedRound | None) -> None:
        self.certain = not self.results


def _pair(cards: tuple[str, ...]) -> bool:
    return cards[0].split()[0] == cards[1].split()[0]


# --- mishaps ----------------------------------------------------------------------------------------------------------


def _dealer(people: ClumsyPeople, kind: type[act.Action], **fields: Any) -> bool:
    return people.pressed(kind(who=WHO[Role.DEALER], role=Role.DEALER, **fields))


def wrong_hand(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A card is laid to the wrong hand. The dealer sees it after a moment, and puts it right: it is the last one."""
    house = people.unlucky
    if house.state.table is not TableState.DEALING or not people.all_reported():
        return False
    place, other = (hand(name, house.setup.game) for name in random.Random(mishap.salt).sample(HANDS, 2))
    pile = house.cards.pile(place)
    if not pile or house.state.round is None or house.state.round.unseen:
        return False
    card = pile[0]
    house.cards.move_card(card, place, other)

    def back() -> None:
        if card in house.cards.pile(other):
            later = max(house.cards.count(place) - len(pile) + 1, 0)  # these came to the hand meanwhile
            house.cards.move_card(card, other, place, later)

    house.later(_PUT_RIGHT_S, back)
    people.occupied_until = house.now + _PUT_RIGHT_S
    return True


def misread_card(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The dealer enters another card than the one that lies there, sees it, and corrects it."""
    house, rng = people.unlucky, random.Random(mishap.salt)
    round_ = house.state.round
    if round_ is None or not round_.unseen or round_.void:
        return False
    target, number = next(iter(round_.unseen.items()))
    true = people.hands.kinds_of(target)[-number:]
    wrong = tuple(rng.choices(house.setup.game.kinds, k=number))
    if not _dealer(people, act.EnterCards, target=target, kinds=wrong):
        return False
    people.report(act.CorrectCards(who=WHO[Role.DEALER], role=Role.DEALER, target=target, kinds=true))
    return True


def _reported(irregularity: str) -> Any:
    def report(people: ClumsyPeople, mishap: Mishap) -> bool:
        return _dealer(people, act.ReportIrregularity, irregularity=irregularity)

    report.__doc__ = f"The dealer reports: {irregularity}."
    return report


def cut_card_missed(people: ClumsyPeople, mishap: Mishap) -> bool:
    """Nobody sees the cut card: the shoe is dealt until its cards run out, unless somebody sees it later."""
    people.blind_until = people.unlucky.now + 60 * mishap.for_s
    return True


def session_ends(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The pit supervisor ends the session, whatever is going on."""
    return people.pressed(act.EndSession(who=WHO[Role.FLOOR], role=Role.FLOOR))


def late_bet(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A player makes a bet or takes one back at any moment."""
    rng = random.Random(mishap.salt)
    bets = GAMES[NAME].bets
    _dealer(people, act.RecordBet, seat=rng.randint(1, 9), bet=rng.choice(bets), amount=rng.choice((0, 5, 20)))
    return True


def _tables() -> tuple[Setup, ...]:
    description = GAMES[NAME]
    feeding = ShufflerKind(counts=True, feeds_shoe=True)
    recognising = ShufflerKind(counts=True, feeds_shoe=True, recognises=True)
    found = []
    for method, shuffler, backs, decks, burnt, after, length in (
        (Method.AUTOMATED_SHOE, feeding, ("red", "blue"), 4, 1, 1, 0),
        (Method.AUTOMATED_SHOE, feeding, ("red",), 4, 3, 0, 20),
        (Method.AUTOMATED_SHOE, recognising, ("red", "blue"), 4, 2, 1, 0),
        (Method.AUTOMATED_SHOE, recognising, ("red",), 10, 10, 1, 12),
        (Method.AUTOMATED_SHOE, None, ("red",), 4, 0, 1, 0),
        (Method.MANUAL_SHOE, ShufflerKind(counts=True), ("red", "blue"), 4, 1, 1, 0),
        (Method.MANUAL_SHOE, None, ("red", "blue"), 4, 1, 0, 25),
        (Method.MANUAL_SHOE, ShufflerKind(), ("red",), 8, 1, 1, 0),
    ):
        options = {
            "decks": decks,
            "burn_cards": burnt,
            "cut_card": 104 if decks == 4 else 14,
            "rounds_after_cut_card": after,
            "session_rounds": length,
        }
        game = game_with(description, options)
        found.append(Setup(method=method, backs=backs, shuffler=shuffler, seats=9, game=game, options=options))
    return tuple(found)


GAME: Final = CampaignGame(
    setups=_tables(),
    seats=(1, 2, 3, 5, 9),
    shift_rounds=50,
    witness=BaccaratWitness,
    choices=("play",),
    bets=True,
    mishaps={
        "wrong_hand": wrong_hand,
        "misread_card": misread_card,
        "two_cards": _reported("two_cards"),
        "foreign_card": _reported("foreign_card"),
        "order_altered": _reported("order_altered"),
        "cut_card_missed": cut_card_missed,
        "session_ends": session_ends,
        "late_bet": late_bet,
    },
)


# --- planted defects --------------------------------------------------------------------------------------------------


@defect("the banker draws on 0 to 5, whatever the player's third card is", game=NAME)
def _banker_draws_regardless() -> list[Swap]:
    right = GAMES[NAME].due_card
    assert right is not None

    def due(record: RoundRecord) -> DueCard:
        found, banker = right(record), record.kinds.get("banker", ())
        regardless = not found.hand and len(record.kinds.get("player", ())) == 3 and len(banker) == 2
        return DueCard("banker", "it draws") if regardless and points(banker) <= 5 else found

    return described_with(NAME, due_card=due)


@defect("a third card is dealt after a natural", game=NAME)
def _natural_ignored() -> list[Swap]:
    right = GAMES[NAME].due_card
    assert right is not None

    def due(record: RoundRecord) -> DueCard:
        found, player = right(record), record.kinds.get("player", ())
        return DueCard("player", "it draws") if not found.hand and len(player) == 2 and points(player) <= 5 else found

    return described_with(NAME, due_card=due)


@defect("a tie loses the bets on player and banker", game=NAME)
def _tie_loses() -> list[Swap]:
    right = GAMES[NAME].settle
    assert right is not None

    def settle(record: RoundRecord) -> list[Payment]:
        bets = record.wagers
        return [msgspec.structs.replace(step, net=step.net or -bets[step.hand][step.bet]) for step in right(record)]

    return described_with(NAME, settle=settle)


@defect("dragon bets are paid twice", game=NAME, setup=SHORT_SESSIONS)
def _dragons_paid_twice() -> list[Swap]:
    right = GAMES[NAME].end_session
    assert right is not None

    def end(record: RoundRecord) -> SessionEnd:
        ended = right(record)
        twice = tuple(msgspec.structs.replace(step, net=2 * step.net) for step in ended.payments)
        return msgspec.structs.replace(ended, payments=twice)

    return described_with(NAME, end_session=end)


@defect("more rounds are dealt after the cut card than the house allows", game=NAME)
def _cut_card_ignored() -> list[Swap]:
    right = CHANGES[CutCardAppeared]

    def change(state: State, event: CutCardAppeared) -> None:
        right(state, event)
        state.decks[event.deck].rounds_left += 3

    return [(CHANGES, CutCardAppeared, change)]


@defect("cards are burnt before every round", game=NAME)
def _burnt_every_round() -> list[Swap]:
    right = starting._plan

    def plan(state: State, seats: list[int]) -> list[PlannedStack]:
        planned = right(state, seats)
        return planned if len(planned) > len(INITIAL) else [PlannedStack("burnt", 1), *planned]

    return [(starting, "_plan", plan)]


@defect("the player gets both cards before the banker", game=NAME)
def _both_cards_first() -> list[Swap]:
    right = starting._plan

    def plan(state: State, seats: list[int]) -> list[PlannedStack]:
        return sorted(right(state, seats), key=lambda stack: ("burnt", "player", "banker").index(stack.target))

    return [(starting, "_plan", plan)]


@defect("the burnt cards of a recognising shoe are recorded", game=NAME, setup=RECOGNISES)
def _burnt_cards_recorded() -> list[Swap]:
    right = decision.Decision.emit

    def emit(self: decision.Decision, event: Event, *cited: Rule | str) -> Entry:
        if isinstance(event, StackTakenToHand) and event.target == "burnt":
            event.kinds = ["ace of spades"] * event.cards
        return right(self, event, *cited)

    return [(decision.Decision, "emit", emit)]
