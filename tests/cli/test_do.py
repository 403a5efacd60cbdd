"""`shoectl do` asks: for a PIN, before what cannot be undone, and about a number that does not match."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click import UsageError

from controller.cli import client
from controller.cli.do import read_fields
from tests.api.test_pins import PEOPLE, PINS, last, opened, started
from tests.support.contract_daemon import ContractDaemon
from tests.support.served import Served
from tests.support.shoectl import complaint, shoectl
from tests.support.terminal import Terminal


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = started(tmp_path_factory.mktemp("table"), PEOPLE)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def _this_table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "served" in request.fixturenames:
        monkeypatch.setenv(client.VARIABLE, str(request.getfixturevalue("served").socket))


def test_a_pin_is_read_from_standard_input(served: Served) -> None:
    opened(served)
    assert "a floorperson must enter their PIN" in complaint(shoectl("do", "close_table", "--yes"))
    assert "a floorperson must enter their PIN" in complaint(shoectl("do", "close_table", "--yes", "--name", "Flo"))
    words = ("do", "close_table", "--yes", "--name", "Flo")
    assert "the name or the PIN is wrong" in complaint(shoectl(*words, input="161803\n"))
    result = shoectl(*words, input=f"{PINS['Flo']}\n")
    assert result.exit_code == 0, result.output
    assert PINS["Flo"] not in result.output
    assert last(served, "table.closed")["data"]["who"] == "Flo"


def test_at_a_terminal_it_asks_before_it_acts_and_for_the_pin(served: Served) -> None:
    opened(served)
    with Terminal("do", "close_table", "--name", "Flo") as screen:
        screen.until(r"Close table\? All decks leave the table for good. \[y/N\]: ")
        screen.press("n\n")
        assert screen.end() == 1
    assert served.table()["table"] == "opening"
    with Terminal("do", "close_table", "--name", "Flo") as screen:
        screen.until(r"\[y/N\]: ")
        screen.press("y\n")
        screen.until("PIN of Flo: ")
        screen.press(f"{PINS['Flo']}\n")
        assert screen.end() == 0
        assert PINS["Flo"] not in screen.shown
    assert served.table()["table"] == "closed"


def test_cards_of_the_standard_pack_can_be_written_short() -> None:
    kinds = {"name": "kinds", "type": "cards", "required": True, "choices": ["ace of spades", "ten of hearts", "tiger"]}
    known = [{"action": "enter_cards", "fields": [kinds]}]
    assert read_fields("enter_cards", ("kinds=As, 10h,tiger",), known) == {
        "kinds": ["ace of spades", "ten of hearts", "tiger"]
    }
    with pytest.raises(UsageError, match="unknown card '2h'"):  # not in this pack
        read_fields("enter_cards", ("kinds=2h",), known)


COUNT = {
    "action": "count_stub", "title": "Count stub", "roles": ["dealer"], "allowed": True, "why_not": None,
    "fields": [{"name": "cards", "type": "integer", "required": True, "default": None}],
}  # fmt: skip


def test_a_number_that_does_not_match_is_confirmed_at_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error: dict[str, Any] = {"code": "refused", "message": "the count of 4 does not match", "hint": "", "confirm": True}
    with ContractDaemon(tmp_path / "s") as daemon:
        monkeypatch.setenv(client.VARIABLE, str(daemon.path))
        daemon.answers |= {"/api/v1/actions": {"actions": [COUNT]}, "POST /api/v1/actions": {"error": error}}
        daemon.status["POST /api/v1/actions"] = 409
        assert "does not match" in complaint(shoectl("do", "count_stub", "cards=4"))
        with Terminal("do", "count_stub", "cards=4") as screen:
            screen.until(r"Count the cards again.\s+Is 4 right\? \[y/N\]: ")
            screen.press("y\n")
            assert screen.end() == 1  # this daemon refuses everything
        assert daemon.asked[-1][2] == {"action": "count_stub", "cards": 4, "confirmed": True}
