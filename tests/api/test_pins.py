"""PINs at the moment of an action, at the screen and at the socket; how sessions end; where actions came from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.api.sessions import MAX_SCREENS, MINUTE_MS, Screens, SignedIn, TooManyScreens
from controller.core.actions import Role
from controller.daemon.people import PeopleFile, Person, hash_pin, write_people
from tests.daemon.test_shoed import config_file
from tests.support.served import LIMIT_S, Page, Served, free_port

PINS = {"Dana": "271828", "Dora": "141421", "Flo": "314159", "Frank": "577215", "Tess": "693147", "Finn": "116616"}
PEOPLE = [
    Person("Dana", [Role.DEALER], hash_pin(PINS["Dana"])),
    Person("Dora", [Role.DEALER], hash_pin(PINS["Dora"])),
    Person("Flo", [Role.FLOOR], hash_pin(PINS["Flo"])),
    Person("Frank", [Role.FLOOR, Role.DEALER], hash_pin(PINS["Frank"])),
    Person("Finn", [Role.FLOOR], hash_pin(PINS["Finn"])),
    Person("Tess", [Role.TECHNICIAN], hash_pin(PINS["Tess"])),
]


TOKEN = "the-token-of-the-table-s-own-screen"


def started(folder: Path, people: list[Person]) -> Served:
    write_people(folder / "people.toml", PeopleFile(people))
    (folder / "screen.token").write_text(TOKEN)
    more = f'[screen]\nlisten = "127.0.0.1:{free_port()}"\npeople = "{folder}/people.toml"\n'
    more += f'token = "{folder}/screen.token"\n'
    served = Served(folder, "--config", config_file(folder, more=more))
    served.until("ready")
    return served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A table without devices; the user who runs the tests has every role at its socket, by group."""
    found = started(tmp_path_factory.mktemp("table"), PEOPLE)
    yield found
    found.close()


@pytest.fixture
def page(served: Served) -> Page:
    """The table's own screen."""
    return Page(served.until("ready")["screen"], TOKEN)


def signed_in(page: Page, *names: str) -> Page:
    for name in names:
        assert page.sign_in(name, PINS[name]).status == 200
    return page


def opened(served: Served) -> None:
    """The table is open, and can be closed again."""
    if served.table()["table"] == "closed":
        assert served.do("open_table").status == 200


def closed(served: Served) -> None:
    """The table is closed, and can be opened again."""
    if served.table()["table"] != "closed":
        assert served.do("close_table", name="Flo", pin=PINS["Flo"]).status == 200


def last(served: Served, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = served.get(f"/api/v1/events?kind={kind}&newest=1&limit=1")["events"][-1]
    return found


# --- the PIN at the moment of the action ------------------------------------------------------------------------------


def test_an_open_session_of_a_floorperson_is_not_enough(served: Served, page: Page) -> None:
    opened(served)
    signed_in(page, "Dana", "Flo")
    answer = page.do("close_table")
    assert (answer.status, answer.code) == (401, "pin_needed")
    assert (answer.json["error"]["roles"], answer.json["error"]["name"]) == (["floor"], "Flo")
    assert page.do("close_table", pin="161803").code == "wrong_pin"
    assert last(served, "access.denied")["data"]["who"] == "Flo"
    assert served.table()["table"] == "opening"
    assert page.do("close_table", pin=PINS["Flo"]).status == 200
    closed = last(served, "table.closed")
    assert (closed["data"]["who"], closed["data"]["origin"]) == ("Flo", "screen")
    confirmed = last(served, "access.confirmed")
    assert confirmed["seq"] == closed["seq"] - 1
    assert (confirmed["data"]["action"], confirmed["data"]["via"]) == ("close_table", "screen")


def test_a_floorperson_who_is_not_signed_in_gives_name_and_pin_and_leaves_no_session(
    served: Served, page: Page
) -> None:
    opened(served)
    signed_in(page, "Dana")
    assert page.do("close_table").json["error"]["name"] == ""
    assert page.do("close_table", name="Dana", pin=PINS["Dana"]).code == "not_your_part"
    assert page.do("close_table", name="Nobody", pin=PINS["Flo"]).code == "wrong_pin"
    assert page.do("close_table", name="flo", pin=PINS["Flo"]).status == 200
    assert [who["name"] for who in page.session()] == ["Dana"]
    assert page.do("close_table").status == 401


def test_a_floor_step_at_the_socket_needs_the_pin_too(served: Served) -> None:
    opened(served)
    for action, fields in (
        ("close_table", {}),
        ("test_device", {"device": "shoe"}),
        ("remove_deck", {"deck": "red-1"}),
        ("request_hands", {"round": 1, "reason": "a dispute"}),
    ):
        answer = served.do(action, **fields)
        assert (answer.status, answer.code) == (401, "pin_needed"), action
    assert served.do("close_table", name="Flo", pin="161803").code == "wrong_pin"
    assert served.do("close_table", name="Tess", pin=PINS["Tess"]).code == "not_your_part"
    assert served.do("close_table", role="dealer").code == "not_your_part"
    assert served.do("test_device", device="shoe", name="Tess", pin=PINS["Tess"]).status == 409  # it is not connected
    refused = last(served, "action.refused")["data"]
    assert (refused["who"], refused["role"], refused["origin"]) == ("Tess", "technician", "socket")
    assert served.do("close_table", name="Flo", pin=PINS["Flo"]).status == 200
    assert last(served, "table.closed")["data"]["origin"] == "socket"


def test_whoever_gives_a_name_and_a_pin_acts_under_it(served: Served, page: Page) -> None:
    """Automation names a person, also for what needs no PIN."""
    closed(served)
    assert served.do("open_table", name="Dana", pin="161803").code == "wrong_pin"
    assert served.do("open_table", name="Dana").code == "pin_needed"
    assert served.do("open_table", name="Dana", pin=PINS["Dana"]).status == 200
    assert last(served, "table.opened")["data"]["who"] == "Dana"
    assert page.do("close_table", name="Frank", pin=PINS["Frank"]).status == 200


def test_wrong_pins_at_actions_lock_the_name_like_those_at_sign_in(served: Served, page: Page) -> None:
    opened(served)
    signed_in(page, "Flo")
    codes = [page.do("close_table", name="Finn", pin="161803").code for _ in range(5)]
    assert codes == ["wrong_pin"] * 4 + ["locked_out"]
    assert page.sign_in("Finn", PINS["Finn"]).status == 429
    assert page.do("close_table", name="Finn", pin=PINS["Finn"]).code == "locked_out"
    assert page.ask("POST", "/api/v1/people/unlock", {"name": "Finn"}).code == "pin_needed"
    assert page.ask("POST", "/api/v1/people/unlock", {"name": "Finn", "by": "Flo", "pin": PINS["Flo"]}).status == 200
    assert page.do("close_table", name="Finn", pin=PINS["Finn"]).status == 200


def test_a_page_without_the_token_locks_nobody_out_at_the_screen(served: Served, page: Page) -> None:
    stranger = Page(page.address)
    codes = [stranger.sign_in("Frank", "161803").code for _ in range(6)]
    assert codes == ["wrong_pin"] * 4 + ["locked_out"] * 2
    assert stranger.sign_in("Frank", PINS["Frank"]).status == 429
    assert [(one["name"], one["via"]) for one in served.table()["access"]["locked"]] == [("Frank", "local port")]
    assert page.sign_in("Frank", PINS["Frank"]).status == 200, "the person at the table notices nothing"
    assert last(served, "access.denied")["text"] == "Sign-in of Frank refused at the local port: wrong PIN."
    other = Page(page.address)
    answer = other.sign_in("Frank", "161803")
    assert (answer.status, int(answer.headers["Retry-After"]) > 0) == (429, True), "a new cookie does not help"
    assert served.ask("POST", "/api/v1/people/unlock", {"name": "Frank"}).status == 200, "the system knows who it is"
    unlocked = last(served, "access.unlocked")["data"]
    assert (unlocked["person"], unlocked["origin"]) == ("Frank", "socket")
    assert Page(page.address).sign_in("Frank", PINS["Frank"]).status == 200


def test_a_technician_ends_no_lock_out_at_the_screen(served: Served, page: Page) -> None:
    answer = page.ask("POST", "/api/v1/people/unlock", {"name": "Dora", "by": "Tess", "pin": PINS["Tess"]})
    assert (answer.status, answer.code) == (403, "not_your_part")


def test_a_floorperson_with_a_short_pin_signs_in_and_is_told(tmp_path: Path) -> None:
    served = started(tmp_path, [Person("Flo", [Role.FLOOR], hash_pin("2580")), PEOPLE[3]])
    try:
        page = Page(served.until("ready")["screen"], TOKEN)
        answer = page.sign_in("Flo", "2580")
        assert answer.status == 200
        assert "too short for a floorperson" in answer.json["advice"]
        assert "advice" not in page.sign_in("Frank", PINS["Frank"]).json
    finally:
        served.close()


def test_a_table_where_nobody_has_a_pin_relies_on_system_accounts(tmp_path: Path) -> None:
    served = started(tmp_path, [])
    try:
        opened(served)
        assert served.do("close_table").status == 200
        page = Page(served.until("ready")["screen"])
        assert page.do("close_table").code == "pin_needed"
    finally:
        served.close()


def test_no_pin_of_an_action_is_journaled_logged_or_answered(tmp_path: Path) -> None:
    served = started(tmp_path, PEOPLE)
    try:
        opened(served)
        page = Page(served.until("ready")["screen"])
        bodies = [
            page.do("close_table", name="Flo", pin="16180339").body,
            page.do("close_table", name="Flo", pin=PINS["Flo"], nonsense=1).body,
            page.do("close_table", name="Flo", pin=[PINS["Flo"]]).body,
            page.do("close_table", name="Flo", pin=PINS["Flo"]).body,
            served.do("close_table", name="Flo", pin=PINS["Flo"]).body,
        ]
        served.end()
        journal = b"".join(path.read_bytes() for path in (tmp_path / "run").glob("journal.db*"))
        for said in (journal, served.log.encode(), b"".join(bodies)):
            assert PINS["Flo"].encode() not in said
            assert b"16180339" not in said
    finally:
        served.close()


# --- how a session ends -----------------------------------------------------------------------------------------------


def test_a_refused_action_does_not_extend_a_session_and_an_accepted_one_does(served: Served, page: Page) -> None:
    closed(served)
    signed_in(page, "Dana")
    (before,) = page.session()
    assert page.do("reveal_dealer").status == 409
    assert page.session() == [before]
    assert page.do("open_table").status == 200
    (after,) = page.session()
    assert after["expires_ms"] > before["expires_ms"]


def test_signing_out_and_being_replaced_are_journaled(served: Served, page: Page) -> None:
    signed_in(page, "Dana", "Dora")
    data = last(served, "access.ended")["data"]
    assert (data["who"], data["roles"], data["reason"]) == ("Dana", ["dealer"], "Dora signed in instead")
    assert page.ask("DELETE", "/api/v1/session", {"role": "dealer"}).status == 200
    data = last(served, "access.ended")["data"]
    assert (data["who"], data["via"], "reason" in data) == ("Dora", "screen", False)
    assert last(served, "access.ended")["text"] == "Dora signed out at the screen."


def test_removing_a_person_ends_their_session_at_once(served: Served, page: Page) -> None:
    file = served.folder / "people.toml"
    signed_in(page, "Frank")
    seq = served.table()["seq"]
    try:
        write_people(file, PeopleFile([one for one in PEOPLE if one.name != "Frank"]))
        assert page.do("open_table").code == "sign_in_needed"
        assert page.session() == []
    finally:
        write_people(file, PeopleFile(PEOPLE))
    ended = served.get(f"/api/v1/events?after={seq}&kind=access.ended")["events"][-1]  # others are of earlier tests
    assert (ended["data"]["who"], ended["data"]["roles"]) == ("Frank", ["floor", "dealer"])
    assert ended["text"] == "Frank was signed out at the screen: they are no longer registered."


def test_a_person_who_was_removed_is_signed_out_without_a_request(served: Served, page: Page) -> None:
    file = served.folder / "people.toml"
    signed_in(page, "Dora")
    seq = served.table()["seq"]
    try:
        write_people(file, PeopleFile([one for one in PEOPLE if one.name != "Dora"]))
        end = time.monotonic() + LIMIT_S
        while not served.get(f"/api/v1/events?after={seq}&kind=access.ended")["events"]:
            assert time.monotonic() < end
    finally:
        write_people(file, PeopleFile(PEOPLE))


def test_a_damaged_people_file_signs_nobody_out(served: Served, page: Page) -> None:
    file = served.folder / "people.toml"
    signed_in(page, "Dana")
    try:
        file.write_text("[[person]\n")
        assert [who["name"] for who in page.session()] == ["Dana"]
        assert page.do("close_table", name="Flo", pin=PINS["Flo"]).code == "bad_people"
    finally:
        write_people(file, PeopleFile(PEOPLE))


DANA, FLO = PEOPLE[0], PEOPLE[2]


def test_a_session_ends_when_nothing_is_done_and_after_the_longest_time_in_any_case() -> None:
    who = SignedIn(FLO, Role.FLOOR, minutes=5, until_ms=0, ends_ms=12 * MINUTE_MS)
    people = PeopleFile(PEOPLE)
    who.touch(0)
    assert not who.over(5 * MINUTE_MS - 1, people)
    assert who.over(5 * MINUTE_MS, people) == "they did nothing for 5 minutes"
    for minute in range(12):
        who.touch(minute * MINUTE_MS)
        assert not who.over(minute * MINUTE_MS, people)
    who.touch(12 * MINUTE_MS - 1)
    assert who.until_ms == 12 * MINUTE_MS
    assert who.over(12 * MINUTE_MS, people) == "they were signed in for the longest time allowed"


def test_a_session_ends_with_the_role_and_with_the_pin() -> None:
    who = SignedIn(FLO, Role.FLOOR, 5, MINUTE_MS, MINUTE_MS)
    assert not who.over(0, None)
    assert not who.over(0, PeopleFile([FLO]))
    assert "registered" in who.over(0, PeopleFile([DANA]))
    assert "role" in who.over(0, PeopleFile([Person("Flo", [Role.DEALER], FLO.pin)]))
    assert "PIN" in who.over(0, PeopleFile([Person("Flo", [Role.FLOOR], DANA.pin)]))


def test_the_oldest_screen_gives_way_unless_somebody_is_signed_in_there() -> None:
    ended: list[tuple[str, tuple[Role, ...], str]] = []
    screens = Screens(lambda *what: ended.append(what))
    made = [screens.add() for _ in range(MAX_SCREENS)]
    for _, screen in made[1:]:
        screens.sign_in(screen, SignedIn(DANA, Role.DEALER, 5, MINUTE_MS, MINUTE_MS))
    _, last_one = screens.add()
    assert screens.get(made[0][0]) is None
    screens.sign_in(last_one, SignedIn(DANA, Role.DEALER, 5, MINUTE_MS, MINUTE_MS))
    with pytest.raises(TooManyScreens):
        screens.add()
    assert all(screens.get(cookie) for cookie, _ in made[1:])
    assert not ended


def test_who_has_the_old_cookie_after_a_sign_in_is_nobody() -> None:
    screens = Screens(lambda *what: None)
    cookie, screen = screens.add()
    new, fresh = screens.renew(cookie, screen)
    screens.sign_in(fresh, SignedIn(DANA, Role.DEALER, 5, MINUTE_MS, MINUTE_MS))
    assert (screens.get(cookie), screen.people) == (None, {})
    assert screens.get(new) is fresh
