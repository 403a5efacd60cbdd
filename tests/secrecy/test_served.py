"""What people can read of a table and take away from it names no hidden card, in any game."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.api import metrics
from controller.api.event_text import event_json, event_text
from controller.cli import bundle
from controller.core.machines import TableState
from controller.games import GAMES
from controller.games.game import Method
from controller.journal.export import csv_lines
from tests.secrecy import plants
from tests.secrecy.plants import peek
from tests.secrecy.served_table import PATHS, STATIC, ServedTable, served_table
from tests.secrecy.stories import begin, dealt, over, play_on, shows_a_hand
from tests.secrecy.table import SecretTable

ONCE = [(name, next(iter(game.game.programme))) for name, game in GAMES.items()]  # with their first method
every = pytest.mark.parametrize(("name", "method"), ONCE)


def play_and_read(served: ServedTable) -> dict[str, list[str]]:
    """The rest of a round until its last card would be shown: what is read meanwhile, and taken away at the end."""
    found: dict[str, list[str]] = {}
    while True:
        enough = 2 + 2 * served.do(dealt)
        served.do(functools.partial(_play_some, enough=enough))
        if served.do(over):
            return found
        found |= served.leaks(served.read())
        if served.do(_ended):
            found |= served.leaks(served.take_away())
            return found


def _play_some(table: SecretTable, enough: int) -> None:
    play_on(table, lambda: _ended(table) or dealt(table) >= enough, probing=False)


def _ended(table: SecretTable) -> bool:
    state = table.house.state.table
    return over(table) or shows_a_hand(table) or state is TableState.CLEARING


@every
def test_no_hidden_card_is_in_what_people_read_or_take_away(name: str, method: Method, tmp_path: Path) -> None:
    with served_table(tmp_path, name, method) as served:
        served.do(begin)
        rules = served.static()
        assert play_and_read(served) == {}
        assert len(served.log) > 5
        assert len(served.stream) > 20
        assert served.static() == rules


def test_every_response_that_can_be_read_is_searched(tmp_path: Path) -> None:
    """Also one that is added. The stream is read all the time."""
    with served_table(tmp_path, *ONCE[0]) as served:
        paths = served.get("openapi.json").json["paths"]
    example = {"{number}": "1", "{goal}": "close", "{name}": "shuffler"}
    readable = {path for path, methods in paths.items() if "get" in methods}
    for variable, value in example.items():
        readable = {path.replace(variable, value) for path in readable}
    searched = {f"/api/v1/{path.partition('?')[0]}" for path in (*PATHS, *STATIC)}
    assert readable - searched <= {"/api/v1/events/stream", "/api/v1/simulation", "/metrics", "/healthz"}


def _into_the_stream(patch: pytest.MonkeyPatch, served: ServedTable) -> None:
    right = event_json
    patch.setattr("controller.api.event_stream.event_json", lambda *given: right(*given) | {"next": peek(served.table)})


def _into_the_log(patch: pytest.MonkeyPatch, served: ServedTable) -> None:
    right = event_text
    patch.setattr("controller.cli.shoed.event_text", lambda event: f"{right(event)} Next: {peek(served.table)}")


def _into_the_metrics(patch: pytest.MonkeyPatch, served: ServedTable) -> None:
    right = metrics.Totals.take

    def take(totals: Any, entry: Any) -> None:
        totals.voids[peek(served.table)] = 1
        right(totals, entry)

    patch.setattr(metrics.Totals, "take", take)


def _into_the_bundle(patch: pytest.MonkeyPatch, served: ServedTable) -> None:
    right = bundle._events
    patch.setattr(bundle, "_events", lambda examination: right(examination) + peek(served.table).encode())


def _into_the_export(patch: pytest.MonkeyPatch, served: ServedTable) -> None:
    def leaky(*given: Any, **named: Any) -> Any:
        yield from csv_lines(*given, **named)
        yield peek(served.table).encode()

    patch.setattr("controller.cli.journal_export.csv_lines", leaky)


def _into_the_view(patch: pytest.MonkeyPatch, served: ServedTable) -> None:
    plants.next_card_in_the_view(patch, served.table)


@every
def test_planted_leaks_are_found_where_they_are(
    name: str, method: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted: list[tuple[str, Callable[[pytest.MonkeyPatch, ServedTable], None]]] = [
        ("stream", _into_the_stream),
        ("log", _into_the_log),
        ("/metrics", _into_the_metrics),
        ("bundle ", _into_the_bundle),
        ("export.csv", _into_the_export),
        ("table", _into_the_view),
    ]
    with served_table(tmp_path, name, method) as served:
        for _, plant in planted:
            plant(monkeypatch, served)
        served.do(begin)
        found = play_and_read(served)
    for where, _ in planted:
        assert any(channel.startswith(where) for channel in found), (where, sorted(found))
