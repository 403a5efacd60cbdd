"""`shoectl round` and `shoectl impact` on a journal of real rounds."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from controller.core.setup import Setup, ShufflerKind
from simulators.table.house import House
from simulators.table.people import People
from tests.support.shoectl import shoectl


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three rounds with a shuffler that does not count: nothing was counted since the decks were opened."""
    file = tmp_path_factory.mktemp("journal") / "journal.db"
    house = House(file, Setup(shuffler=ShufflerKind(counts=False, feeds_shoe=True)))
    people = People(house)
    assert people.open()
    for _ in range(3):
        assert people.play((1, 3))
    house.close()
    return str(file)


def test_a_round_is_rebuilt(journal: str) -> None:
    result = shoectl("round", "2", "--journal", journal)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "round 2: deck blue-1, automated shoe, completed",
        "  seat1    3 cards",
        "  seat3    3 cards",
        "  dealer   3 cards",
        "  collected: seat3, seat1, dealer",
    ]
    found = json.loads(shoectl("round", "2", "--journal", journal, "--json").stdout)
    assert (found["deck"], found["ended"], found["hands"]["seat1"]["cards"]) == ("blue-1", "round.completed", 3)


def test_what_a_wrong_count_may_have_touched_is_told(journal: str) -> None:
    result = shoectl("impact", "red-1", "--journal", journal)
    assert result.output.splitlines() == [
        "deck red-1: 2 rounds with 6 stacks since its last correct count",
        "  round 1: seat1 3, seat3 3, dealer 3",
        "  round 3: seat1 3, seat3 3, dealer 3",
    ]
    rounds = json.loads(shoectl("impact", "blue-1", "--journal", journal, "--json").stdout)
    assert [one["round"] for one in rounds] == [2]


def test_what_never_was_is_said_in_one_line(journal: str) -> None:
    result = shoectl("round", "99", "--journal", journal)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "there was no round 99" in result.stderr
    result = shoectl("impact", "green-1", "--journal", journal)
    assert result.exit_code == 1
    assert "these were: blue-1, red-1" in result.stderr


def test_a_forged_journal_settles_nothing(journal: str, tmp_path: Path) -> None:
    forged = tmp_path / "forged.db"
    forged.write_bytes(Path(journal).read_bytes())
    database = sqlite3.connect(forged)
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        database.execute(f"DROP TRIGGER {name}")
    database.execute("UPDATE events SET data = replace(data, '\"seat1\"', '\"seat6\"') WHERE kind = 'stack.taken'")
    database.commit()
    database.close()
    result = shoectl("round", "2", "--journal", str(forged))
    assert (result.exit_code, "seat6" in result.stdout) == (1, False)
