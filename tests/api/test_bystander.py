"""What anybody at this machine can read over HTTP: what can be seen at the table, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from controller.api.bystander import HIDDEN_PLACES, OPEN_FIELDS, OPEN_REQUESTS, open_view
from controller.api.table_view import table_view
from tests.api.test_app import Listening
from tests.api.test_table_view import void
from tests.fuzz.asked import Asked
from tests.support.core_driver import House
from tests.support.served import Page, Served, simulated

NAMES = ("Dana", "Flo", "Frank", "Tess")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A simulated table with a deck on it, at which somebody is locked out."""
    with simulated(tmp_path_factory.mktemp("table"), "--paused", "--speed", "40") as (served, address):
        served.wait(lambda table: all(device["state"] == "ready" for device in table["devices"]))
        served.do("open_table")
        served.do("receive_deck", deck="red-1", back="red")
        page = Page(address)
        while page.sign_in("Frank", "000000").status != 429:
            pass
        yield served, address


@pytest.fixture
def stranger(table: tuple[Served, str]) -> Page:
    return Page(table[1])


@pytest.fixture(scope="module")
def routes() -> list[tuple[str, str]]:
    """Every method and path that the daemon knows."""
    asked = Asked()
    try:
        found = [route for route in asked._api.app.routes if isinstance(route, Route)]
        return [(method, route.path) for route in found for method in ("GET", "POST", "DELETE")]
    finally:
        asked.close()


def test_everything_that_is_not_in_the_list_needs_a_sign_in_or_the_token(
    stranger: Page, routes: list[tuple[str, str]]
) -> None:
    checked = 0
    for method, path in routes:
        if method in OPEN_REQUESTS.get(path, ()) or path == "/{rest:path}":
            continue
        target = path.replace("{goal}", "close").replace("{number}", "1").replace("{name}", "shoe")
        answer = stranger.ask(method, target, None if method == "GET" else {})
        assert answer.status in (401, 405), (method, path, answer.status)
        if answer.status == 401:
            checked += 1
            assert answer.code == "sign_in_needed"
            assert "shoectl screen" in answer.json["error"]["hint"]
    assert checked >= 14


def test_the_list_names_only_what_exists(routes: list[tuple[str, str]]) -> None:
    assert {(method, path) for path, methods in OPEN_REQUESTS.items() for method in methods} <= set(routes)


def test_a_bystander_sees_the_table_and_no_names(stranger: Page) -> None:
    answer = stranger.ask("GET", "/api/v1/table")
    assert set(answer.json) == {*OPEN_FIELDS, "bystander", "stopped"}
    assert answer.json["decks"][0]["name"] == "red-1"
    assert not any(name.encode() in answer.body for name in NAMES)


def test_the_list_of_fields_has_nothing_that_cannot_be_seen_at_the_table() -> None:
    """A second list, so that nobody opens a field by accident."""
    seen = {
        "step": {"text", "who"},
        "round": {"number", "deck", "seats", "dealt", "stacks", "void", "acted", "collected", "stub_out", "face_up"},
        "hands": {"name", "label", "cards", "kinds", "to_enter", "bets", "decisions"},
        "turn": {"hand"},
        "board": {"label", "figure", "lines", "cells", "rows", "hand", "cards", "outlined", "colours"},
        "settled": {"round", "result", "results", "payments"},
        "session_ended": {"round", "result", "results", "payments"},
        "decks": {"name", "back", "state", "state_words", "cards", "due"},
        "devices": {"name", "state", "state_words", "online", "at_exit"},
    }
    plain = {"name", "simulated", "now_ms", "ts", "table", "table_words", "game", "method", "seats", "backs", "wagered"}
    plain |= {"button", "seat_bets"}
    assert {name: set(inner) for name, inner in OPEN_FIELDS.items() if inner} == seen
    assert {name for name, inner in OPEN_FIELDS.items() if not inner} == plain


def test_the_view_of_a_bystander_has_only_the_listed_fields_also_when_a_round_is_void() -> None:
    for house in (House(), House().open(), void()):
        view = open_view(table_view(house.state, house.state.now_ms))
        assert set(view) <= {*OPEN_FIELDS, "bystander", "stopped"}
        for name, fields in OPEN_FIELDS.items():
            found = view.get(name)
            for one in found if isinstance(found, list) else [found]:
                assert not isinstance(one, dict) or set(one) <= set(fields), name
        assert not any(HIDDEN_PLACES & set(deck["cards"]) for deck in view["decks"])
    assert view["round"]["void"]


def test_the_stream_of_a_bystander_has_no_journal_and_becomes_whole_with_a_sign_in(
    table: tuple[Served, str], stranger: Page
) -> None:
    served, address = table
    stream = Listening(address, "?after=1", Cookie=f"shoed={stranger.cookie}")
    _, _, view = stream.next("table")
    assert set(view) == {*OPEN_FIELDS, "bystander", "stopped"}
    assert served.do("reveal_dealer").status == 409
    kind, _, view = stream.next()
    while kind == "beat":
        kind, _, view = stream.next()
    assert (kind, view["bystander"]) == ("table", True)
    assert stranger.sign_in("Dana", "2580").status == 200
    assert stream.next("table")[2]["bystander"], "the old cookie is worthless"
    stream.close()
    whole = Listening(address, f"?after={served.table()['seq'] - 1}", Cookie=f"shoed={stranger.cookie}")
    assert whole.next()[0] == "journal"
    assert "bystander" not in whole.next("table")[2]
    assert stranger.ask("DELETE", "/api/v1/session", {}).status == 200
    while "bystander" not in whole.next("table")[2]:
        pass
    whole.close()


def test_somebody_who_is_signed_in_reads_everything_until_they_sign_out(stranger: Page) -> None:
    assert stranger.ask("GET", "/api/v1/people").status == 401
    assert stranger.sign_in("Dana", "2580").json["reads"] is True
    assert stranger.ask("GET", "/api/v1/people").status == 200
    assert "access" in stranger.ask("GET", "/api/v1/table").json
    assert stranger.ask("DELETE", "/api/v1/session", {}).json["reads"] is False
    assert stranger.ask("GET", "/api/v1/events").status == 401


def test_the_table_s_own_screen_reads_everything_and_changes_nothing(table: tuple[Served, str]) -> None:
    served, address = table
    screen = Page(address, served.screen_token)
    for path in ("table", "events", "people", "devices", "actions"):
        assert screen.ask("GET", f"/api/v1/{path}").status == 200
    assert screen.ask("GET", "/metrics", Cookie="", Authorization=f"Bearer {served.screen_token}").status == 200
    assert screen.do("idle_table").code == "sign_in_needed"
    for wrong in ("", "guessed", served.screen_token[:-1], "é" * 50):
        answer = Page(address).ask("POST", "/api/v1/session/screen", {"token": wrong})
        assert (answer.status, answer.code) == (401, "wrong_token")
    assert screen.ask("GET", "/api/v1/events", Cookie="shoed_screen=guessed").status == 401


def test_the_screen_keeps_its_token_over_a_restart_and_loses_it_with_a_new_one(tmp_path: Path) -> None:
    cookie = ""
    for _ in range(2):
        with simulated(tmp_path, "--paused") as (served, address):
            page = Page(address, "" if cookie else served.screen_token)
            page.screen_cookie = cookie = cookie or page.screen_cookie
            assert page.ask("GET", "/api/v1/events").status == 200
            assert served.end() == 0
    with simulated(tmp_path, "--paused") as (served, address):
        (tmp_path / "run/screen.token").write_text("another-token-for-this-screen")
        page = Page(address)
        page.screen_cookie = cookie
        assert page.ask("GET", "/api/v1/events").status == 401


def test_a_client_has_a_share_of_the_streams(table: tuple[Served, str], stranger: Page) -> None:
    """All bystanders together have one, whatever cookies they have; the table's own screen has its own."""
    served, address = table
    opened: list[Listening] = []
    try:
        while (answer := first_line(address)) == 200:
            opened.append(Listening(address, Cookie=f"shoed={Page(address).cookie}"))
            assert len(opened) < 20
        assert answer == 429
        screen = Page(address, served.screen_token)
        opened.append(Listening(address, Cookie=f"shoed={screen.cookie}; shoed_screen={screen.screen_cookie}"))
        assert "access" in opened[-1].next("table")[2]
    finally:
        for one in opened:
            one.close()


def first_line(address: str) -> int:
    """The status of a request for a stream, which ends at once."""
    return Page(address).ask("HEAD", "/api/v1/events/stream").status


def test_the_retired_decks_are_not_in_the_view_and_their_names_are_not_suggested(table: tuple[Served, str]) -> None:
    served, _ = table
    assert served.do("receive_deck", deck="blue-1", back="blue").status == 200
    assert served.do("reject_deck", deck="blue-1").status == 200
    assert served.do("remove_deck", deck="blue-1").status == 200
    assert "retired" not in served.table()
    actions: list[dict[str, Any]] = served.get("/api/v1/actions")["actions"]
    (receive,) = [action for action in actions if action["action"] == "receive_deck"]
    (deck,) = [field for field in receive["fields"] if field["name"] == "deck"]
    assert deck["unused"] == {"red": "red-2", "blue": "blue-2"}, json.dumps(deck)
