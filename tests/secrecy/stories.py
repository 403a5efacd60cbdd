"""What happens at the tables that are searched for hidden cards. The stories are for any game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.api.available_actions import actions_now
from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action
from controller.core.events.table import refusals
from controller.core.machines import TableState
from controller.core.rules.dealing import hands_out
from controller.core.rules.script import record_of, turn_of
from controller.core.state import decode, encode
from controller.core.table import Table
from controller.games import described
from controller.games.game import Method
from simulators.devices.cards import Card, Spot
from simulators.table.hands import SHOE, SOURCE
from simulators.table.people import LOOK_AGAIN_S
from tests.secrecy.table import SecretTable

Story = Callable[[SecretTable], None]
SEATS = (1, 2, 3)
IN_A_ROW = [f"script {rank}" for rank in range(1, 7)]


# --- before the round -------------------------------------------------------------------------------------------------


def source(table: SecretTable) -> Spot:
    """Where the cards are dealt from."""
    return SHOE if table.house.state.method is Method.AUTOMATED_SHOE else SOURCE[table.house.state.method]


def put_on_top(table: SecretTable, kinds: dict[int, str]) -> None:
    """Cards of these kinds lie at these positions from the top."""
    cards, names = table.house.cards.pile(source(table)), table.house.setup.game.kinds
    done = set[int]()
    for position, kind in kinds.items():
        there = next(n for n, card in enumerate(cards) if names[card.kind] == kind and n not in done)
        cards[position], cards[there] = cards[there], cards[position]
        done.add(position)
    table.house.cards.reorder(source(table), cards)


def prepare(table: SecretTable) -> None:
    """What makes a game's round worth watching: a hand that is dealt face down at once, or one that soon wins."""
    state = table.house.state
    game = described(state.setup.game)
    if game.carry and game.deals:
        state.carried = {**state.carried, "fantasy": {"seat2": "seat2"}}
    if {*IN_A_ROW, "feng shui 1"} <= set(state.setup.game.kinds):
        drawn = len(SEATS) * 6  # the first card after the deal
        hand = ["feng shui 1", *IN_A_ROW[:5]]
        put_on_top(table, {len(SEATS) * n: kind for n, kind in enumerate(hand)} | {drawn: IN_A_ROW[5]})


def begin(table: SecretTable) -> None:
    """Open the table, if it is not, and close the bets."""
    assert table.people.open()
    prepare(table)
    table.before_deal()
    assert table.people.close_bets(SEATS)


# --- during the round -------------------------------------------------------------------------------------------------


def shows_a_hand(table: SecretTable) -> bool:
    """Whether people are now asked to turn over what was hidden for the whole round."""
    state = table.house.state
    if state.table is TableState.REVEALING:
        return True
    turn = turn_of(state, state.round) if state.round and state.table is TableState.ACTING else None
    if turn is None or not state.round:
        return False
    held = record_of(state, state.round).held
    return any(turn.enter.get(choice) == held[turn.hand] for choice in turn.choices) or _wins(table) is not None


def _wins(table: SecretTable) -> dict[str, Any] | None:
    """The decision of a player who sees that his hand wins, where the game has hands that do."""
    state = table.house.state
    turn = turn_of(state, state.round) if state.round and state.table is TableState.ACTING else None
    game = described(state.setup.game)
    if turn is None or state.round is None or game.decide is None:
        return None
    for choice in turn.anybody:
        for hand in record_of(state, state.round).held:
            fields: dict[str, Any] = {"target": hand, "choice": choice, "kinds": table.people.hands.kinds_of(hand)}
            if _outcome(table, act.DecideHand, **fields) == "":
                return fields
    return None


def _outcome(table: SecretTable, kind: type[Action], **fields: Any) -> str:
    """What the table would answer, with nothing changed; empty if it would accept it."""
    copy = Table(decode(encode(table.house.state)))
    made = copy.handle(kind(who="somebody", role=kind.roles[0], **fields), table.house.now + table.house.ahead_s)  # type: ignore[arg-type]
    return "; ".join(
        f"{entry.data['reason']}, {entry.data['possible_when']}" for entry in made if "reason" in entry.data
    )


def probe(table: SecretTable) -> None:
    """People try what they should not, with cards that may be hidden: the answers do not depend on them."""
    state = table.house.state
    if state.round is None or (len(table.said) > 300 and table.rng.random() < 0.6):
        return
    turn = turn_of(state, state.round) if state.table is TableState.ACTING else None
    hand = table.rng.choice(sorted({stack.target for stack in state.round.plan}) or ["seat1"])
    for kind in table.rng.sample(state.setup.game.kinds, 3):
        tries: list[tuple[type[Action], dict[str, Any]]] = [
            (act.EnterCards, {"target": hand}),
            (act.DealCards, {"target": hand, "cards": 1}),
            (act.CorrectCards, {"target": hand}),
        ]
        for choice in turn.choices if turn else ():
            tries.append((act.DecideHand, {"target": hand, "choice": choice}))
        for action, fields in tries:
            table.say(f"{action.__name__} {hand} {kind}", _outcome(table, action, kinds=(kind,), **fields), typed=kind)
    if table.rng.random() < 0.2:
        found = list(actions_now(state, table.house.now_ms))
        table.said.append(("actions", repr(found)))


def play_on(table: SecretTable, done: Callable[[], bool], *, probing: bool = True, limit: int = 400) -> None:
    """Follow the guide until this holds. Players who see that they win say so."""
    for _ in range(limit):
        if done():
            return
        if probing:
            probe(table)
        wins = _wins(table)
        if wins:
            assert table.decide(**wins)
        elif not _exchanges_one(table) and not _folds(table) and not table.people.chore():
            table.house.watch(LOOK_AGAIN_S)
    raise AssertionError(f"still {table.house.state.table}: {table.people.step().text}")


def _exchanges_one(table: SecretTable) -> bool:
    """The first player to exchange cards, where the game has that, takes one: the card that was prepared."""
    state = table.house.state
    turn = turn_of(state, state.round) if state.round and state.table is TableState.ACTING else None
    if turn is None or not turn.numbers or not state.round or state.round.decisions:
        return False
    return table.decide(target=turn.hand, choice=next(iter(turn.numbers)), number=1)


def _folds(table: SecretTable) -> bool:
    """Where decisions need not be recorded, some are; hands that are out of the round are collected."""
    state = table.house.state
    game = described(state.setup.game)
    turn = turn_of(state, state.round) if state.round and state.table is TableState.ACTING else None
    if state.round is None or state.table is not TableState.ACTING or game.must_decide:
        return False
    for hand in hands_out(state, state.round):
        if state.decks[state.round.deck].cards.get(hand):
            return not refusals(table.people.perform(act.CollectHand, target=hand))
    if turn is None or table.rng.random() < 0.3:
        return False
    return table.decide(target=turn.hand, choice=table.rng.choice(turn.choices))


def over(table: SecretTable) -> bool:
    """Whether bets can be made for the next round."""
    return table.house.state.table is TableState.BETTING and table.house.state.round is None


def void(table: SecretTable) -> None:
    """The round becomes void, in a way that any game has, and its cards are gathered."""
    round_ = table.house.state.round
    assert round_
    hand = next(stack.target for stack in round_.plan if stack.target != ledger.BURNT)
    table.people.perform(act.ReportWrongNumber, target=hand, cards=9, confirmed=True)
    assert round_.void
    play_on(table, lambda: over(table))


# --- whole stories ----------------------------------------------------------------------------------------------------


def hidden_to_the_end(table: SecretTable) -> None:
    """A round, until somebody would turn over what was hidden from its beginning."""
    begin(table)
    play_on(table, lambda: over(table) or shows_a_hand(table))


def two_rounds(table: SecretTable) -> None:
    """Two whole rounds."""
    for probing in (True, False):
        begin(table)
        play_on(table, lambda: over(table), probing=probing)


def void_round(table: SecretTable) -> None:
    """A round that becomes void while its hands are hidden."""
    begin(table)
    play_on(table, lambda: table.house.state.table is not TableState.DEALING or dealt(table) > 2)
    void(table)


def void_then_another(table: SecretTable) -> None:
    """A void round, and one after it."""
    void_round(table)
    begin(table)
    play_on(table, lambda: over(table), probing=False)


def dealt(table: SecretTable) -> int:
    """How many stacks of the round have reached their hands."""
    return table.house.state.round.dealt if table.house.state.round else 0


def changes_of_mind(table: SecretTable) -> None:
    """Every decision is taken back once and made again, and every card that was entered is corrected."""
    begin(table)
    state, again = table.house.state, set[tuple[str, int]]()

    def twice() -> bool:
        round_ = state.round
        if round_ is None:
            return over(table)
        known = round_.kinds.get(round_.entered, [])
        decision, entry = ("decision", len(round_.decisions)), (round_.entered, len(known))
        if round_.decisions and decision not in again:
            again.add(decision)
            table.people.perform(act.TakeBackDecision)
        elif known and entry not in again:
            again.add(entry)
            table.people.perform(act.CorrectCards, target=round_.entered, kinds=tuple(known[-1:]))
        return False

    play_on(table, twice, probing=False)


def cards_left(table: SecretTable) -> list[Card]:
    """The cards that are still where they are dealt from."""
    return table.house.cards.pile(source(table))
