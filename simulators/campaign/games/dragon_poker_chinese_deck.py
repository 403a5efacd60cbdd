"""Dragon Poker with the Chinese deck in a campaign: hidden hands, exchanges, reshuffles, and the tally."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from controller.core import actions as act
from controller.core import decision, ledger
from controller.core.actions import Role
from controller.core.decision import HANDLERS
from controller.core.events.rounds import PlannedStack
from controller.core.machines import TableState
from controller.core.refusal import Refusal
from controller.core.rules import play, starting, stock
from controller.core.rules.script import turn_of
from controller.core.setup import Setup
from controller.core.state import Round, State
from controller.games import GAMES
from controller.games.game import Deal
from controller.games.record import Consequence, Decided, RoundRecord
from simulators.campaign.games.model import CampaignGame, GameWitness
from simulators.campaign.planting import Swap, defect, described_with, everywhere, never
from simulators.devices.cards import Card
from simulators.table.hands import FLOOR, SHOE, SOURCE, hand
from simulators.table.people import WHO

if TYPE_CHECKING:
    from controller.core.events.event import Entry
    from simulators.campaign.clumsy_people import ClumsyPeople
    from simulators.campaign.deck_witness import WitnessedRound
    from simulators.campaign.luck import Mishap
    from simulators.campaign.witness import Witness

NAME: Final = "dragon-poker-chinese-deck"
HAND: Final = 6
HONOURS: Final = ("green dragon", "east wind", "south wind", "west wind", "north wind")
FIXED: Final = {3: 100, 4: 200, 5: 400}  # units from each player
LUCKY: Final = 0.7  # how often one of the players nearly has a winning hand
NEAR: Final = 12  # cards from the top


def _groups(cards: Counter[str]) -> list[Counter[str]]:
    """Every triplet and sequence of three that these cards contain."""
    found = [Counter({kind: 3}) for kind, number in cards.items() if number >= 3]
    feng = sorted(kind for kind in cards.elements() if kind.startswith("feng shui"))
    found += [
        Counter((feng[i], feng[j], feng[k]))
        for i in range(len(feng))
        for j in range(i + 1, len(feng))
        for k in range(j + 1, len(feng))
    ]
    for kind in cards:
        suit, _, rank = kind.rpartition(" ")
        if suit in ("bamboo", "circle", "script"):
            run = [f"{suit} {int(rank) + step}" for step in range(3)]
            if all(cards[one] for one in run):
                found.append(Counter(run))
    return found


def class_of(kinds: tuple[str, ...]) -> int:
    """The highest class of a winning hand; -1 if these six cards do not win."""
    cards, best = Counter(kinds), -1
    if len(kinds) != HAND:
        return -1
    feng = [kind for kind in kinds if kind.startswith("feng shui")]
    if len(feng) == 1 and all(cards[kind] == 1 for kind in HONOURS):
        best = 0
    if len(set(feng)) == 5:
        best = 5
    for first in _groups(cards):
        for second in _groups(cards - first):
            best = max(best, _class_of_groups(first, second))
    return best


def _class_of_groups(first: Counter[str], second: Counter[str]) -> int:
    runs = [sorted(group) for group in (first, second) if _is_run(group)]
    if len(runs) == 1:
        return 1
    if not runs or runs[0][0].split()[0] != runs[1][0].split()[0]:
        return 2
    apart = abs(int(runs[0][0].split()[1]) - int(runs[1][0].split()[1]))
    return 4 if apart == 3 else 3


def _is_run(group: Counter[str]) -> bool:
    return len(group) == 3 and not next(iter(group)).startswith("feng")


class ChineseDeckWitness(GameWitness):
    """Follows stock, discards and hands, and works out who has won how much."""

    checks: ClassVar[Mapping[str, str]] = {
        "six cards": "every hand has six cards when a player is asked",
        "exchange": "one to three cards are exchanged for as many, by the player whose turn it is",
        "stock and discards": "a shuffle during the round counts what is not in hands, or the round is void",
        "reshuffled in time": "stock and discards are shuffled when fewer than three cards are left, and only then",
        "cut by another": "the player who cuts is not the one who deals",
        "right winner": "only a winning hand wins, and in the deal the one with the highest class",
        "right tally": "the winner collects the pot, and from the others what the class and the moment are worth",
        "losers hidden": "no card of a hand that has not won is recorded",
    }

    def __init__(self, witness: Witness) -> None:
        super().__init__(witness)
        self.put_in = 0
        self.turns = 0
        self.aside = 0  # cards that were put aside since the stock was shuffled
        self.short = ""  # what was wrong with the count of a reshuffle: the round must be void
        self.winners: dict[str, tuple[str, ...]] = {}

    def started(self, round_: WitnessedRound) -> None:
        self.put_in, self.turns, self.winners, self.short = len(round_.seats), 0, {}, ""
        self.aside = 0
        hands = [f"seat{seat}" for seat in round_.seats]
        plan = [stack.target for stack in round_.plan]
        self.check("dealt in order", plan == hands * HAND, f"the plan is {plan}")
        self.check("dealt in order", hands[-1] == f"seat{round_.button}", f"seat {round_.button} deals, but {hands}")
        self.check("dealt in order", 2 <= len(hands) <= 4, f"{len(hands)} players")
        self.check("no hidden card named", not any(stack.face_up for stack in round_.plan), "cards are dealt face up")

    def saw(self, event: Entry, round_: WitnessedRound | None) -> None:
        see = getattr(self, "_" + event.kind.replace(".", "_"), None)
        if see is not None and round_ is not None:
            see(event, round_)

    def _hand_decided(self, event: Entry, round_: WitnessedRound) -> None:
        data, hands = event.data, [f"seat{seat}" for seat in round_.seats]
        self.check("stock and discards", not self.short, f"the round goes on: {self.short}")
        if data["choice"] in ("exchange", "pass"):
            due = hands[self.turns % len(hands)]
            self.check("exchange", data["target"] == due, f"{data['target']} decides, but it is the turn of {due}")
            self.turns += 1
        if data["choice"] == "exchange":
            number = data.get("number", 0)
            aside = sum(move[2] for move in data.get("moves") or ())
            new = sum(stack["cards"] for stack in data.get("deals", ()))
            good = 1 <= number <= 3 and aside == new == number
            self.check("exchange", good, f"{number} cards are exchanged, {aside} put aside, {new} dealt")
            left = self.witness.deck_size - HAND * len(hands) - self.aside
            self.check("reshuffled in time", left >= 3, f"cards are exchanged while {left} are left")
            if not self.witness.excused(round_):
                held = self.witness.held(data["target"]) + self._put_aside(number)
                self.check("six cards", held == HAND, f"{data['target']} has {held} cards")
            self.put_in += number
            self.aside += number
        elif data["choice"] == "win":
            self.winners[data["target"]] = tuple(data.get("kinds") or self.kinds(data["target"]))
            if not self.witness.excused(round_) and data["target"] not in round_.misread:
                cards = self.kinds(data["target"])
                self.check("right winner", class_of(cards) >= 0, f"{data['target']} wins with {cards}")

    def _put_aside(self, number: int) -> int:
        """How many of these cards lie with the discards already: after a host died, its decision is seen late."""
        there = self.witness.house.cards.count(hand(ledger.DISCARDS))
        return min(max(there - self.aside, 0), number)

    def _decision_taken_back(self, event: Entry, round_: WitnessedRound) -> None:
        if event.data["choice"] in ("exchange", "pass"):
            self.turns -= 1
            back = sum(move[2] for move in event.data.get("moves") or ())
            self.put_in, self.aside = self.put_in - back, self.aside - back
        self.winners.pop(event.data["target"], None)

    def _stock_reshuffled(self, event: Entry, round_: WitnessedRound) -> None:
        own = f"seat{event.data.get('cut_by', 0)}"
        self.check("cut by another", own != f"seat{round_.button}", f"{own} deals and cuts")
        rest, counted = self.witness.deck_size - HAND * len(round_.seats), event.data["cards"]
        good = self.witness.deck_size - HAND * len(round_.seats) - self.aside < 3
        self.check("reshuffled in time", good, f"a shuffle that is not due, with {self.aside} discards")
        self.aside = 0
        self.short = f"{counted} cards are counted, {rest} are due" * (counted != rest)

    def _players_acted(self, event: Entry, round_: WitnessedRound) -> None:
        self.check("right winner", bool(self.winners), "the round ends without a winner")

    def _round_settled(self, event: Entry, round_: WitnessedRound) -> None:
        if self.witness.excused(round_) or set(self.winners) & set(round_.misread):
            return
        classes = {name: class_of(self.kinds(name)) for name in (f"seat{seat}" for seat in round_.seats)}
        classes = {name: found for name, found in classes.items() if name in self.winners}
        best = max(classes, key=lambda name: classes[name])
        early = 100 if not self.turns else 50 if self.turns <= len(round_.seats) else 0
        share = self.put_in // 2 if classes[best] == 1 else self.put_in if classes[best] == 2 else 0
        each = early + share + FIXED.get(classes[best], 0)
        paid: Counter[str] = Counter()
        for step in event.data.get("payments", []):
            self.check("right winner", step["hand"] == best, f"{step['hand']} is paid, but {best} has won: {classes}")
            paid[step.get("other", "")] += step.get("net", 0)
        others = {f"seat{seat}": each for seat in round_.seats if f"seat{seat}" != best}
        expected = Counter({"pot": self.put_in, **others})
        self.check("right tally", +paid == +expected, f"{dict(paid)} is paid, but {dict(expected)} is due")

    def _cards_entered(self, event: Entry, round_: WitnessedRound) -> None:
        target = event.data["target"]
        self.check("losers hidden", target in self.winners, f"the cards of {target} are recorded")

    def _hand_recognised(self, event: Entry, round_: WitnessedRound) -> None:
        good = event.data["target"] in self.winners or round_.void_seq > 0 or event.data["round"] != round_.number
        self.check("losers hidden", good, f"the cards of {event.data['target']} are recorded")


# --- mishaps ----------------------------------------------------------------------------------------------------------


def _press(people: ClumsyPeople, role: Role, kind: type[act.Action], **fields: Any) -> bool:
    return people.pressed(kind(who=WHO[role], role=role, **fields))


def discard_lost(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A card that was put aside falls to the floor: it is missing when stock and discards are counted."""
    house = people.unlucky
    spot = hand(ledger.DISCARDS)
    if house.state.table is not TableState.ACTING or not house.cards.count(spot):
        return False
    (card,) = house.cards.move_top(1, spot, FLOOR)
    people.witness.lost_by_a_person(card.deck)
    return True


def false_win(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A player declares a hand that does not win."""
    round_ = people.unlucky.state.round
    if round_ is None:
        return False
    target = f"seat{random.Random(mishap.salt).choice(round_.seats)}"
    _press(people, Role.DEALER, act.DecideHand, target=target, choice="win", kinds=people.hands.kinds_of(target))
    return True


def too_many_exchanged(people: ClumsyPeople, mishap: Mishap) -> bool:
    """Somebody wants to exchange four cards, or none, or out of turn."""
    round_, rng = people.unlucky.state.round, random.Random(mishap.salt)
    if round_ is None:
        return False
    turn = turn_of(people.unlucky.state, round_)
    target = turn.hand if turn and rng.random() < 0.7 else f"seat{rng.choice(round_.seats)}"
    _press(people, Role.DEALER, act.DecideHand, target=target, choice="exchange", number=rng.choice((0, 4, 4, 6)))
    return True


def loser_entered(people: ClumsyPeople, mishap: Mishap) -> bool:
    """Somebody enters the cards of a hand that was not turned over."""
    state = people.unlucky.state
    if state.round is None or state.table is not TableState.CLEARING:
        return False
    for seat in state.round.seats:
        target = f"seat{seat}"
        _press(people, Role.DEALER, act.EnterCards, target=target, kinds=people.hands.kinds_of(target))
    return True


def taken_back(people: ClumsyPeople, mishap: Mishap) -> bool:
    """The last decision was entered by mistake, or somebody says so."""
    if not people.all_reported():
        return False
    return _press(people, Role.DEALER, act.TakeBackDecision)


def early_reshuffle(people: ClumsyPeople, mishap: Mishap) -> bool:
    """Somebody reports a shuffle of the stock that is not due, or that the dealer has cut."""
    state, rng = people.unlucky.state, random.Random(mishap.salt)
    if state.round is None:
        return False
    cut_by = rng.choice((state.round.button, *state.round.seats))
    _press(people, Role.DEALER, act.ReshuffleStock, cards=rng.choice((10, 28, 34, 40)), cut_by=cut_by)
    return True


def lucky_deal(people: ClumsyPeople, rng: random.Random) -> None:
    """In most rounds, the cards that win lie near the top; in some of them, in the hand of one player."""
    house = people.unlucky
    source = SOURCE.get(house.state.method, SHOE)
    pile = house.cards.pile(source)
    if rng.random() > LUCKY or len(pile) != house.setup.game.deck_size:
        return
    players = len(house.shift.seats)
    wanted = Counter(_some_hand(rng))
    names = house.setup.game.kinds
    lucky: list[Card] = []
    for card in pile:
        if wanted[names[card.kind]]:
            wanted[names[card.kind]] -= 1
            lucky.append(card)
    seat = rng.randrange(players)
    places = [seat + players * at for at in range(HAND)]
    late = 0 if rng.random() < 0.15 else rng.randint(1, 2)
    start = players * HAND
    places = [*places[: HAND - late], *rng.sample(range(start, start + NEAR), late)]
    rest = [card for card in pile if card not in lucky]
    for place, card in sorted(zip(places, lucky, strict=False), key=lambda pair: pair[0]):
        rest.insert(place, card)
    house.cards.reorder(source, rest)


def _some_hand(rng: random.Random) -> tuple[str, ...]:
    suit = rng.choice(("bamboo", "circle", "script"))
    low, other = rng.randint(1, 3), rng.choice(("bamboo", "circle", "script"))
    run = tuple(f"{suit} {low + step}" for step in range(3))
    wind = rng.choice(HONOURS)
    feng = tuple(f"feng shui {number}" for number in range(1, 6))
    return rng.choice(
        (
            (rng.choice(feng), *HONOURS),
            (*run, wind, wind, wind),
            (*run, *(f"{other} {7 + step}" for step in range(3))),
            (*run, *(f"{suit} {low + 3 + step}" for step in range(3))),
            (*feng, wind),
            (*rng.sample(feng, 3), wind, wind, wind),
        )
    )


def _tables() -> tuple[Setup, ...]:
    from simulators.campaign.games import possible_setups

    return possible_setups(GAMES[NAME])


GAME: Final = CampaignGame(
    setups=_tables(),
    seats=(2, 3, 4),
    round_s=120.0,
    witness=ChineseDeckWitness,
    choices=("exchange", "pass", "win", "no win"),
    prepare=lucky_deal,
    mishaps={
        "discard_lost": discard_lost,
        "false_win": false_win,
        "too_many_exchanged": too_many_exchanged,
        "loser_entered": loser_entered,
        "taken_back": taken_back,
        "early_reshuffle": early_reshuffle,
    },
)


# --- planted defects --------------------------------------------------------------------------------------------------


@defect("four cards can be exchanged", "too_many_exchanged", game=NAME)
def _four_exchanged() -> list[Swap]:
    right = GAMES[NAME].decide
    assert right is not None

    def decide(record: RoundRecord, decided: Decided) -> Consequence:
        if decided.choice == "exchange" and decided.number == 4:
            return Consequence(discard=4, deals=(Deal(decided.hand, 4),))
        return right(record, decided)

    return described_with(NAME, decide=decide)


@defect("a player gets one card less than was put aside", game=NAME)
def _one_card_short() -> list[Swap]:
    right = GAMES[NAME].decide
    assert right is not None

    def decide(record: RoundRecord, decided: Decided) -> Consequence:
        found = right(record, decided)
        if decided.choice == "exchange" and decided.number > 1 and found.deals:
            return msgspec.structs.replace(found, deals=(Deal(decided.hand, decided.number - 1),))
        return found

    return described_with(NAME, decide=decide)


@defect("any six cards win", "false_win", game=NAME)
def _any_cards_win() -> list[Swap]:
    right = GAMES[NAME].decide
    assert right is not None

    def decide(record: RoundRecord, decided: Decided) -> Consequence:
        return Consequence(turned=HAND) if decided.choice == "win" else right(record, decided)

    return described_with(NAME, decide=decide, settle=lambda record: [], result=lambda record: "")


@defect("the others do not pay for the class of the winning hand", game=NAME)
def _class_not_paid() -> list[Swap]:
    right = GAMES[NAME].settle
    assert right is not None
    return described_with(NAME, settle=lambda record: [step for step in right(record) if step.bet != "class bonus"])


@defect("a round goes on although a discard is missing at the reshuffle", "discard_lost", game=NAME)
def _discard_not_missed() -> list[Swap]:
    return [(stock, "void", never)]


@defect("the player who deals also cuts", game=NAME)
def _dealer_cuts() -> list[Swap]:
    right = HANDLERS[act.ReshuffleStock]

    def reshuffle(d: decision.Decision, action: act.ReshuffleStock) -> Refusal | None:
        found: Refusal | None = right(d, msgspec.structs.replace(action, cut_by=d.round.button))
        return found

    return [(stock, "_cannot_cut", never), (HANDLERS, act.ReshuffleStock, reshuffle)]


@defect("stock and discards are shuffled only when no card is left", game=NAME)
def _reshuffled_too_late() -> list[Swap]:
    right = GAMES[NAME].decide
    assert right is not None

    def decide(record: RoundRecord, decided: Decided) -> Consequence:
        if decided.choice == "exchange" and 1 <= decided.number <= record.stock < 3:
            return Consequence(discard=decided.number, deals=(Deal(decided.hand, decided.number),))
        return right(record, decided)

    return described_with(NAME, decide=decide, reshuffle_due=lambda record: record.stock < 1)


@defect("the cards of a hand that has not won can be entered", "loser_entered", game=NAME)
def _losers_entered() -> list[Swap]:
    def wanted(state: State, round_: Round, target: str) -> int:
        return state.decks[round_.deck].cards.get(target, 0) - len(round_.kinds.get(target, ()))

    return everywhere(play.cards_wanted, wanted)


@defect("the hands are dealt face up", game=NAME)
def _dealt_face_up() -> list[Swap]:
    right = starting._plan

    def plan(state: State, seats: list[int]) -> list[PlannedStack]:
        planned = right(state, seats)
        for stack in planned:
            stack.face_up = True
        return planned

    return [(starting, "_plan", plan)]
