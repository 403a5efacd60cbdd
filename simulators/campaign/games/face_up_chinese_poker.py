"""Face-Up Chinese Poker in a campaign: where the cards were set, fantasy land, and what the hands are worth."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import TableState
from controller.core.rules import starting
from controller.core.setup import Setup
from controller.games import GAMES
from controller.games.face_up import pay, play
from controller.games.face_up.pay import Segment
from controller.games.game import Deal
from controller.games.record import Consequence, Decided, RoundRecord
from simulators.campaign.games.model import CampaignGame, GameWitness
from simulators.campaign.planting import Swap, defect, described_with
from simulators.devices.cards import Card
from simulators.table.hands import SHOE, SOURCE
from simulators.table.people import WHO

if TYPE_CHECKING:
    from controller.core.events.event import Entry
    from controller.games.record import PlayerTurn
    from simulators.campaign.clumsy_people import ClumsyPeople
    from simulators.campaign.deck_witness import WitnessedRound
    from simulators.campaign.luck import Mishap
    from simulators.campaign.witness import Witness

NAME: Final = "face-up-chinese-poker"
HAND, FIRST, MOST_HANDS = 13, 5, 4
ROOM: Final = {"back": 5, "middle": 5, "front": 3}
HIGH, PAIR, TWO_PAIRS, TRIPS, STRAIGHT, FLUSH, FULL, QUADS, STRAIGHT_FLUSH, ROYAL = range(10)
BONUS: Final = {
    "middle": {STRAIGHT: 4, FLUSH: 8, FULL: 12, QUADS: 20, STRAIGHT_FLUSH: 30, ROYAL: 50},
    "back": {STRAIGHT: 2, FLUSH: 4, FULL: 6, QUADS: 10, STRAIGHT_FLUSH: 15, ROYAL: 25},
}
FOUL_POINTS: Final = 9
POINT: Final = 5  # dollars, in the usual schedule
_NAMES: Final = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace"]
_RANKS: Final = {name: rank for rank, name in enumerate(_NAMES, 2)}
Worth = tuple[int, tuple[int, ...]]


def rank(kinds: tuple[str, ...]) -> Worth:
    """What three or five cards are worth."""
    ranks = sorted((_RANKS[kind.split()[0]] for kind in kinds), reverse=True)
    counts = Counter(ranks)
    order = tuple(sorted(ranks, key=lambda one: (-counts[one], -one)))
    shape = sorted(counts.values(), reverse=True)
    if len(kinds) == 5 and len(counts) == 5:
        suited = len({kind.split()[-1] for kind in kinds}) == 1
        low = ranks == [14, 5, 4, 3, 2]
        run = low or ranks[0] - ranks[4] == 4
        top = (5,) if low else (ranks[0],)
        if run and suited:
            return (ROYAL if top == (14,) else STRAIGHT_FLUSH), top
        if run or suited:
            return (STRAIGHT, top) if run else (FLUSH, order)
    found = {(4, 1): QUADS, (3, 2): FULL, (2, 2): TWO_PAIRS}.get((shape[0], shape[1] if len(shape) > 1 else 0))
    if found is None:
        found = TRIPS if shape[0] == 3 else PAIR if shape[0] == 2 else HIGH
    return found, order


def bonus(segment: str, worth: Worth) -> int:
    """The bonus points of a segment."""
    if segment != "front":
        return BONUS[segment].get(worth[0], 0)
    high = worth[1][0]
    return high + 8 if worth[0] == TRIPS else max(high - 5, 0) if worth[0] == PAIR else 0


class FaceUpWitness(GameWitness):
    """Follows where each card was set, and settles every round again."""

    checks: ClassVar[Mapping[str, str]] = {
        "button moves": "the buttons move clockwise, the deal begins at their left, and at most four hands are dealt",
        "set stays": "a card goes to a segment that has room, in turn, and stays there",
        "thirteen cards": "every hand that is settled has thirteen cards, and four hands have the whole deck",
        "fantasy land": "who earned it gets thirteen cards face down, before the others, and nobody else does",
        "right points": "what changes hands follows from the segments as they lie there",
        "table stakes": "nobody wins or loses more than lay before him, and nothing is lost or made",
    }

    def __init__(self, witness: Witness) -> None:
        super().__init__(witness)
        self.button = 0
        self.earlier_button = 0
        self.wagered: list[int] = []
        self.fantasy: set[str] = set()
        self.known_fantasy = True  # it is certain who earned it
        self.laid: dict[str, dict[str, list[str]]] = {}
        self.shown: set[str] = set()
        self.last: tuple[str, str, int] = ("", "", 0)
        self.sure = True
        self.swept = False
        self.before: dict[str, int] = {}  # the stacks before a round
        self.earlier: dict[str, int] = {}

    def started(self, round_: WitnessedRound) -> None:
        self.sure, self.swept, self.shown = not self._two_each(), False, set()
        self.earlier = {}
        self.laid = {f"seat{seat}": {name: [] for name in ROOM} for seat in round_.seats}
        if self.sure:
            after = [seat for seat in sorted(self.wagered) if seat > self.button]
            due = (after or sorted(self.wagered))[0]
            self.check("button moves", round_.button == due, f"seat {round_.button} has the buttons, not {due}")
            others = sorted((seat for seat in self.wagered if seat != due), key=lambda seat: (seat < due, seat))
            order = [*others[: MOST_HANDS - 1], due]
            self.check("button moves", round_.seats == order, f"{round_.seats} are dealt to, not {order}")
        self.button, self.earlier_button = round_.button, self.button
        there = {stack.target for stack in round_.plan if stack.cards == HAND and not stack.face_up}
        earned = self.fantasy & {f"seat{seat}" for seat in round_.seats}
        if self.known_fantasy and self.sure:
            self.check("fantasy land", there == earned, f"{there} get thirteen cards, but {earned} earned it")
        if not there:
            plan = [(stack.target, stack.cards, stack.face_up) for stack in round_.plan]
            first = [(f"seat{seat}", 1, True) for _ in range(FIRST) for seat in round_.seats]
            self.check("dealt in order", plan == first, f"the plan is {plan}")

    def _two_each(self) -> bool:
        return any("second hand of seat" in bets for bets in self.house.state.bets.values())

    def saw(self, event: Entry, round_: WitnessedRound | None) -> None:
        if event.kind == "bets.closed":
            self.wagered = list(event.data["seats"])
        elif event.kind in ("stakes.noted", "seat.left"):
            self.before = dict(event.data["carried"].get("stacks", {}))
        if event.kind in ("table.idled", "table.opened", "seat.left"):
            self.known_fantasy = self.known_fantasy and not self.fantasy
        see = getattr(self, "_" + event.kind.replace(".", "_"), None)
        if see is not None and round_ is not None:
            see(event, round_)

    def _hand_decided(self, event: Entry, round_: WitnessedRound) -> None:
        name, choice = event.data["target"], event.data["choice"]
        there = self.laid[name]
        early = choice in ROOM and any(stack.get("face_up") for stack in event.data.get("deals", ()))
        self.check("no hidden card named", not early, "a card is dealt face up that is turned over when it is set")
        if self.witness.excused(round_) or round_.misread:
            self.sure = False
        if choice == "show":
            self._show(event, name)
        elif choice == "clean sweep":
            self.swept = True
        elif choice in ROOM and self.sure:
            self._set(event, name, choice, there)

    def _set(self, event: Entry, name: str, segment: str, there: dict[str, list[str]]) -> None:
        placed = [kind for kinds in there.values() for kind in kinds]
        cards, given = self.kinds(name), tuple(event.data.get("kinds", ()))
        new = given if len(placed) < FIRST else cards[len(placed) : len(placed) + 1]
        if len(placed) < FIRST:
            good = bool(new) and set(new) <= set(cards[:FIRST]) - set(placed)
            self.check("set stays", good, f"{name} sets {new}, but has {cards[:FIRST]} and has set {placed}")
            self.last = (name, segment, len(new))
        else:
            self.check("set stays", len(new) == 1, f"{name} sets a card that it does not have: {cards}")
            self.last = (name, segment, 1)
        there[segment] += new
        self.check("set stays", len(there[segment]) <= ROOM[segment], f"the {segment} of {name} has {there[segment]}")

    def _show(self, event: Entry, name: str) -> None:
        kinds = event.data.get("kinds", [])
        self.shown.add(name)
        if self.sure:
            self.check("cards are true", Counter(kinds) == Counter(self.kinds(name)), f"{name} shows {kinds}")
        self.laid[name] = {"back": list(kinds[:5]), "middle": list(kinds[5:10]), "front": list(kinds[10:])}

    def _decision_taken_back(self, event: Entry, round_: WitnessedRound) -> None:
        name, segment, number = self.last
        if self.sure and event.data["target"] == name and event.data["choice"] == segment and number:
            del self.laid[name][segment][-number:]
            self.last = ("", "", 0)
        elif event.data["choice"] in ROOM:
            self.sure = False
        if event.data["choice"] == "clean sweep":
            self.swept = False

    def _decision_corrected(self, event: Entry, round_: WitnessedRound) -> None:
        self.sure = False

    def _hands_requested(self, event: Entry, round_: WitnessedRound) -> None:
        self.sure = False

    def _round_voided(self, event: Entry, round_: WitnessedRound) -> None:
        self.known_fantasy = False  # whoever was there is there again
        self.button = self.earlier_button
        self.before = self.earlier or self.before

    def _round_settled(self, event: Entry, round_: WitnessedRound) -> None:
        if self.witness.excused(round_) or round_.misread:
            self.sure = False
        after = dict((event.data.get("carried") or {}).get("stacks", {}))
        self.earlier, stacks = self.before, self.before
        self.before = after or self.before
        if not self.sure:
            self.known_fantasy = False
            return
        foreign = sum(self.house.cards.is_spare(card) for name in self.laid for card in self.witness.pile_of(name))
        for name in self.laid:
            number = self.witness.held(name)
            self.check("thirteen cards", number == HAND, f"{name} has {number} cards")
        if len(self.laid) == MOST_HANDS:
            left = self.house.cards.count(SOURCE.get(self.house.state.method, SHOE))
            good = left == foreign  # a foreign card in a hand leaves one of the deck, which is found with the stub
            self.check("thirteen cards", good, f"{left} cards are left after four hands, {foreign} are foreign")
        if event.data.get("result", "").startswith("not by the table"):
            self.check("right points", foreign > 0, f"{event.data['result']}, but no foreign card is there")
            self.known_fantasy = False
            return
        worth = {name: {part: rank(tuple(kinds)) for part, kinds in parts.items()} for name, parts in self.laid.items()}
        foul = {name: not parts["back"] > parts["middle"] > parts["front"] for name, parts in worth.items()}
        self._paid(event, worth, foul, f"seat{round_.button}", {name: self._stack(stacks, name) for name in worth})
        self._fantasy(worth, foul)

    def _paid(
        self,
        event: Entry,
        worth: dict[str, dict[str, Worth]],
        foul: dict[str, bool],
        holder: str,
        stacks: dict[str, int],
    ) -> None:
        nets: Counter[tuple[str, str]] = Counter()
        total: Counter[str] = Counter()
        for step in event.data.get("payments", []):
            net = step.get("net", 0)
            nets[step["hand"], step["other"]] += net
            total[step["hand"]] += net
            total[step["other"]] -= net
        for name, stack in stacks.items():
            good = -stack <= total[name] <= stack
            self.check("table stakes", good, f"{name} had {stack}, and gets {total[name]}")
        carried = (event.data.get("carried") or {}).get("stacks", {})
        for name, stack in stacks.items():
            left = carried.get(name)
            self.check("table stakes", left == stack + total[name], f"{name} has {left} left of {stack}: {total[name]}")
        if self.swept:
            return
        dues = self._dues(worth, foul, holder)
        risk: Counter[str] = Counter()
        for (one, other), points in dues.items():
            risk[one] += abs(points)
            risk[other] += abs(points)
        if any(risk[name] * POINT > stacks[name] for name in stacks):
            return  # the stacks may not cover it
        for (one, other), points in dues.items():
            found = nets[one, other] - nets[other, one]
            self.check("right points", found == points * POINT, f"{one} gets {found} from {other}, not {points} points")

    def _stack(self, stacks: dict[str, int], name: str) -> int:
        entered = self.house.state.bets.get(name, {})
        return entered.get("stack", entered.get("corrected stack", stacks.get(name, 0)))

    def _dues(
        self, worth: dict[str, dict[str, Worth]], foul: dict[str, bool], holder: str
    ) -> dict[tuple[str, str], int]:
        """The points that the first of each pair gets from the second."""
        found = {}
        names = list(worth)
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                found[one, other] = self._due(worth, foul, holder, one, other)
        return found

    def _due(self, worth: dict[str, dict[str, Worth]], foul: dict[str, bool], holder: str, one: str, other: str) -> int:
        points = 0
        if foul[one] != foul[other]:
            points = FOUL_POINTS if foul[other] else -FOUL_POINTS
        for part in ROOM:
            mine, theirs = worth[one][part], worth[other][part]
            if not foul[one] and not foul[other]:
                points += 1 if mine > theirs or (mine == theirs and one == holder) else 0
                points -= 1 if mine < theirs or (mine == theirs and other == holder) else 0
            points += 0 if foul[one] else bonus(part, mine)
            points -= 0 if foul[other] else bonus(part, theirs)
        return points

    def _fantasy(self, worth: dict[str, dict[str, Worth]], foul: dict[str, bool]) -> None:
        earned = set()
        for name, parts in worth.items():
            enters = parts["front"][0] == TRIPS or (parts["front"][0] == PAIR and parts["front"][1][0] >= 12)
            stays = parts["back"][0] >= QUADS or parts["middle"][0] >= FULL or parts["front"][0] == TRIPS
            if not foul[name] and (stays if name in self.shown else enters):
                earned.add(name)
        self.fantasy = {name for name in self.fantasy if name not in worth} | earned
        self.known_fantasy = True


# --- mishaps ----------------------------------------------------------------------------------------------------------


def _press(people: ClumsyPeople, kind: type[act.Action], **fields: Any) -> bool:
    return people.pressed(kind(who=WHO[Role.DEALER], role=Role.DEALER, **fields))


def set_and_taken_back(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A player takes a card back that was set: the dealer enters that the last decision was a mistake."""
    if people.unlucky.state.table is not TableState.ACTING or not people.all_reported():
        return False
    return _press(people, act.TakeBackDecision)


def moved_card(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A player wants a card that is set in another segment."""
    state, rng = people.unlucky.state, random.Random(mishap.salt)
    if state.round is None or state.table is not TableState.ACTING:
        return False
    target = f"seat{rng.choice(state.round.seats)}"
    kinds = people.hands.kinds_of(target)[:1]
    _press(people, act.DecideHand, target=target, choice=rng.choice(list(ROOM)), kinds=kinds)
    return True


def out_of_turn(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A player sets a card before it is dealt, or declares a sweep at any moment."""
    state, rng = people.unlucky.state, random.Random(mishap.salt)
    if state.round is None:
        return False
    target = f"seat{rng.choice(state.round.seats)}"
    _press(people, act.DecideHand, target=target, choice=rng.choice(("clean sweep", "show", "set")))
    return True


def chips_added(people: ClumsyPeople, mishap: Mishap) -> bool:
    """A player puts chips on the table, or takes some away, at any moment."""
    rng = random.Random(mishap.salt)
    seat = rng.randint(1, people.unlucky.state.setup.seats)
    _press(people, act.RecordBet, seat=seat, bet="stack", amount=rng.choice((0, 40, 300, 5000)))
    return True


def prefer(people: ClumsyPeople, turn: PlayerTurn) -> dict[str, Any] | None:
    """A player who keeps equal ranks together, and high pairs in front, low ones in the middle."""
    if not set(turn.choices) <= set(ROOM):
        return None
    cards = people.hands.kinds_of(turn.hand)
    kind = turn.cards[0] if turn.cards else cards[-1]
    high = _RANKS[kind.split()[0]]
    wanted = "front" if high >= 12 else "back" if high >= 8 else "middle"
    choice = wanted if wanted in turn.choices else turn.choices[0]
    found: dict[str, Any] = {"target": turn.hand, "choice": choice}
    if turn.cards or choice in turn.enter:
        found["kinds"] = (kind,)
    return found


def lucky_deal(people: ClumsyPeople, rng: random.Random) -> None:
    """In some rounds one player gets queens in front, trips in the middle, and a full house at the back."""
    house = people.unlucky
    source = SOURCE.get(house.state.method, SHOE)
    pile = house.cards.pile(source)
    players = min(len(house.shift.seats), MOST_HANDS)
    if rng.random() > 0.35 or len(pile) != house.setup.game.deck_size or house.state.carried.get("fantasy"):
        return
    names = house.setup.game.kinds
    ranks = ["queen"] * 2 + ["two"] + ["four"] * 3 + ["six", "three"] + ["nine"] * 3 + ["ten"] * 2
    lucky: list[Card] = []
    for wanted in ranks:
        fits = [card for card in pile if card not in lucky and names[card.kind].split()[0] == wanted]
        lucky.append(rng.choice(fits))
    rng.shuffle(lucky)
    seat = rng.randrange(players)
    rest = [card for card in pile if card not in lucky]
    for at, card in enumerate(lucky):
        rest.insert(seat + players * at, card)
    house.cards.reorder(source, rest)


def _tables() -> tuple[Setup, ...]:
    from simulators.campaign.games import possible_setups

    return possible_setups(GAMES[NAME])


GAME: Final = CampaignGame(
    setups=_tables(),
    seats=(2, 3, 4, 5),
    round_s=200.0,
    witness=FaceUpWitness,
    choices=("back", "middle", "front", "set", "show", "clean sweep"),
    prepare=lucky_deal,
    prefer=prefer,
    mishaps={
        "set_and_taken_back": set_and_taken_back,
        "moved_card": moved_card,
        "out_of_turn": out_of_turn,
        "chips_added": chips_added,
    },
)


# --- planted defects --------------------------------------------------------------------------------------------------


@defect("four cards fit in front", game=NAME)
def _four_in_front() -> list[Swap]:
    return [(play.ROOM, Segment.FRONT, 4), (play.ROOM, Segment.BACK, 4)]


@defect("the buttons stay where they are", game=NAME)
def _buttons_stay() -> list[Swap]:
    return [(starting, "_next_button", lambda state, seats: min(seats))]


@defect("fantasy land is forgotten", game=NAME)
def _fantasy_forgotten() -> list[Swap]:
    right = GAMES[NAME].carry
    assert right is not None
    return described_with(NAME, carry=lambda record: {**(right(record) or {}), "fantasy": {}})


@defect("a hand in fantasy land is dealt face up", game=NAME)
def _fantasy_face_up() -> list[Swap]:
    right = GAMES[NAME].deals
    assert right is not None

    def deals(record: RoundRecord) -> tuple[Deal, ...] | None:
        return tuple(Deal(deal.to, deal.cards, face_up=True) for deal in right(record) or ()) or None

    return described_with(NAME, deals=deals)


@defect("a foul hand pays six points", game=NAME)
def _foul_pays_six() -> list[Swap]:
    return [(pay, "FOUL_POINTS", 6)]


@defect("a player wins more than the other has", game=NAME)
def _stakes_ignored() -> list[Swap]:
    right = GAMES[NAME].carry
    assert right is not None

    def carry(record: RoundRecord) -> dict[str, Any]:
        found = right(record) or {}
        return {**found, "stacks": {name: stack + 10 for name, stack in found["stacks"].items()}}

    return described_with(NAME, carry=carry)


@defect("single cards are dealt face up", game=NAME)
def _singles_face_up() -> list[Swap]:
    right = GAMES[NAME].decide
    assert right is not None

    def decide(record: RoundRecord, decided: Decided) -> Consequence:
        found = right(record, decided)
        deals = tuple(Deal(deal.to, deal.cards, face_up=True) for deal in found.deals)
        return msgspec.structs.replace(found, deals=deals)

    return described_with(NAME, decide=decide)
