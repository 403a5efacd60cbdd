"""`shoectl round` explains from a copied journal what was bet, decided and paid, in every game."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from controller.api.history import find_round
from controller.api.table_view import table_view
from controller.cli.table_text import table_lines
from controller.core import actions as act
from controller.core.names import place_name
from controller.core.setup import Setup
from controller.games import GAMES, game_with
from controller.games.game import Method
from controller.games.record import Decided, RoundRecord
from controller.journal import JournalReader
from simulators.table.house import House
from simulators.table.people import People, taken
from tests.support.shoectl import shoectl

DAY_S = 86_400.0
BETS = {
    "dragon-poker": {"ante": 5, "ante bonus": 5, "three card bonus": 2, "dragon wager": 1},
    "dragon-baccarat-tournament": {"player": 10, "tie": 5},
}


def played(game: str, folder: Path) -> tuple[Path, House]:
    """A copy of the journal of a table that has settled one round of this game by hand or from a manual shoe."""
    described = GAMES[game]
    options = dict(described.example_options)
    setup = Setup(Method.MANUAL_SHOE, ("red",), None, seats=4, game=game_with(described, options), options=options)
    house = House(folder / "journal.db", setup, seed=3)
    people = People(house)
    assert people.open()
    for seat in (1, 3):
        for bet, amount in BETS.get(game, {}).items():
            assert taken(people.perform(act.RecordBet, seat=seat, bet=bet, amount=amount))
    assert people.close_bets((1, 3))
    assert people.work(limit_s=DAY_S)
    house.close()
    return Path(shutil.copy(folder / "journal.db", folder / "copy.db")), house


@pytest.mark.parametrize("game", GAMES)
def test_a_settled_round_is_explained_from_a_copied_journal(game: str, tmp_path: Path) -> None:
    copy, house = played(game, tmp_path)
    found = json.loads(shoectl("round", "1", "--journal", str(copy), "--json").stdout)
    (settled,) = [event.data for event in house.events if event.kind == "round.settled"]
    payments = settled.get("payments", [])  # a round may end without any
    assert found["settled"]["payments"] == payments
    assert found["settled"]["result"] == settled.get("result", "")
    decided = [event.data for event in house.events if event.kind == "hand.decided"]
    assert [(one["target"], one["choice"]) for one in found["decisions"]] == [
        (one["target"], one["choice"]) for one in decided
    ]
    assert found["bets"] == {f"seat{seat}": BETS[game] for seat in (1, 3)} if game in BETS else True
    with JournalReader(copy) as reader:
        stored = find_round(reader, 1)
    assert {name: stored[name] for name in found} == found
    text = re.sub(r" +", " ", shoectl("round", "1", "--journal", str(copy)).stdout)
    paid = re.findall(r"^ paid (?:the )?([\w ]+), [^\n]+: ([+-]\d+)", text, re.M)
    assert [(hand.replace(" ", ""), int(net)) for hand, net in paid] == [(one["hand"], one["net"]) for one in payments]
    assert text.count("\n in all ") == len(
        {one["hand"] for one in payments} | {one["other"] for one in payments} & found["hands"].keys()
    )


def test_the_result_of_a_round_that_is_void_is_shown_without_payments(tmp_path: Path) -> None:
    game = GAMES["dragon-baccarat-tournament"]
    house = House(tmp_path / "journal.db", Setup(Method.MANUAL_SHOE, ("red",), None, seats=4, game=game.game), seed=3)
    people = People(house)
    assert people.open()
    assert taken(people.perform(act.RecordBet, seat=1, bet="tie", amount=5))
    assert people.close_bets((1,))
    people.enough = lambda: house.state.settled is not None
    assert people.work(limit_s=DAY_S)
    assert taken(people.perform(act.ReportWrongNumber, target="banker", cards=4))
    house.close()
    text = re.sub(r" +", " ", shoectl("round", "1", "--journal", str(tmp_path / "journal.db")).stdout)
    assert re.search(r"\n result [^\n]+ wins; it does not count\n", text)
    assert " paid " not in text
    assert text.count("\n settled ") == 1, "the void"


def test_a_round_of_dragon_poker_can_be_settled_again_from_what_was_recorded(tmp_path: Path) -> None:
    copy, _ = played("dragon-poker", tmp_path)
    found = json.loads(shoectl("round", "1", "--journal", str(copy), "--json").stdout)
    game = GAMES["dragon-poker"]
    record = RoundRecord(
        seats=tuple(found["seats"]),
        held={target: hand["cards"] for target, hand in found["hands"].items() if hand["kinds"]},
        kinds={target: tuple(hand["kinds"]) for target, hand in found["hands"].items() if hand["kinds"]},
        decisions=tuple(Decided(one["target"], one["choice"]) for one in found["decisions"] if not one["taken_back"]),
        wagers=found["bets"],
        options=dict(game.options),
    )
    assert game.settle is not None
    again = [msgspec.to_builtins(payment) for payment in game.settle(record)]
    assert again == found["settled"]["payments"] != []
    text = re.sub(r" +", " ", shoectl("round", "1", "--journal", str(copy)).stdout)
    assert " bets seat 1: ante 5, ante bonus 5, dragon wager 1, three card bonus 2\n" in text
    for one in found["settled"]["results"]:
        assert f" result {place_name(one['hand'])}: {one['text']}\n" in text
    for target, kinds in found["entered"].items():
        assert f" entered {place_name(target)}: {', '.join(kinds)}\n" in text


def status(house: House) -> list[str]:
    """The lines of `shoectl status` about the round."""
    view = table_view(house.state, house.now_ms)
    return [line.text for line in table_lines(view | {"name": "", "simulated": False, "journal": {"ok": True}})]


def test_the_status_says_what_to_pay_while_the_hands_are_on_the_table(tmp_path: Path) -> None:
    game = GAMES["dragon-poker"]
    house = House(tmp_path / "journal.db", Setup(Method.MANUAL_SHOE, ("red",), None, game=game.game), seed=3)
    people = People(house)
    assert people.open()
    for bet, amount in BETS["dragon-poker"].items():
        assert taken(people.perform(act.RecordBet, seat=3, bet=bet, amount=amount))
    assert "  bets   seat 3: ante 5, ante bonus 5, three card bonus 2, dragon wager 1" in status(house)
    assert people.close_bets((1, 3))
    while not (house.state.round and house.state.round.acted):
        assert people.chore()
    assert not [line for line in status(house) if line.startswith(("  cards ", "  paid "))]
    while house.state.settled is None:
        assert people.chore()
    round_ = house.state.round
    assert round_
    assert f"  cards  seat 3: {', '.join(round_.kinds['seat3'])}" in status(house)
    payments = [f"  paid   seat 3, {one.bet}, {one.outcome}: {one.net:+d}" for one in round_.payments]
    assert [line for line in status(house) if line.startswith("  paid ")] == payments != []
    assert f"  in all seat 3: {sum(one.net for one in round_.payments):+d}" in status(house)
    assert people.work(limit_s=DAY_S)
    assert not [line for line in status(house) if line.startswith(("  cards ", "  paid ", "  bets "))]
    house.close()
