"""PINs, the people file, and what is visible without a role."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.core.actions import Role
from controller.daemon import people
from controller.daemon.config import ConfigError
from controller.daemon.people import (
    PeopleFile,
    PeopleReader,
    Person,
    check_pin,
    hash_pin,
    pin_fault,
    pin_matches,
    read_people,
    write_people,
)
from tests.daemon.test_shoed import config_file
from tests.support.other_user import as_nobody
from tests.support.served import Page, Served, free_port

PIN = "271828"
DANA = Person("Dana", [Role.DEALER], hash_pin(PIN))


# --- PINs -------------------------------------------------------------------------------------------------------------


def test_a_pin_is_kept_as_a_salted_hash() -> None:
    one, other = hash_pin(PIN), hash_pin(PIN)
    assert one != other
    assert PIN not in one
    assert one.startswith("scrypt$16384$8$1$")
    assert pin_matches(PIN, one)
    assert pin_matches(PIN, other)
    assert not pin_matches("271829", one)


def test_a_name_that_nobody_has_is_checked_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def never(pin: str, kept: str) -> bool:
        tried.append(kept)
        return False

    monkeypatch.setattr(people, "pin_matches", never)
    assert check_pin(PeopleFile([DANA]), "Nobody", PIN) == (None, False)
    assert check_pin(PeopleFile([DANA]), "Dana", PIN) == (DANA, False)
    assert [kept.rsplit("$", 2)[0] for kept in tried] == ["scrypt$16384$8$1"] * 2  # the same work for both


def test_nobody_gets_in_with_the_hash_of_nobody() -> None:
    assert check_pin(PeopleFile([DANA]), "Nobody", "") == (None, False)


@pytest.mark.parametrize("pin", ["", "123", "1234567890123", "12a4", "١٢٣٤", "1111", "1234", "4321", "98765"])
def test_pins_that_are_not_taken(pin: str) -> None:
    assert pin_fault(pin)


@pytest.mark.parametrize("pin", ["2580", "271828", "314159265358"])
def test_pins_that_are_taken(pin: str) -> None:
    assert pin_fault(pin) == ""


def test_a_floorperson_needs_six_digits() -> None:
    assert pin_fault("25801", [Role.DEALER]) == ""
    assert pin_fault("25801", [Role.DEALER, Role.FLOOR]) == "a PIN has 6 to 12 digits"
    assert pin_fault("258013", [Role.FLOOR]) == ""


# --- the people file --------------------------------------------------------------------------------------------------


def test_the_people_file_is_written_whole_and_for_its_group_only(tmp_path: Path) -> None:
    file = tmp_path / "people.toml"
    assert read_people(file) == PeopleFile()
    people = PeopleFile([DANA, Person("Flo O'Neill", [Role.FLOOR, Role.DEALER], hash_pin("1470"))])
    write_people(file, people)
    assert read_people(file) == people
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert PIN not in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.toml"
    write_people(file, PeopleFile([DANA]))

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ConfigError, match="No space left on device"):
        write_people(file, PeopleFile())
    assert read_people(file) == PeopleFile([DANA])
    monkeypatch.undo()
    write_people(file, PeopleFile())  # the leftovers of the failed write do not matter
    assert read_people(file) == PeopleFile()
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_a_file_that_was_open_to_all_is_closed(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "people.toml"
    file.touch()
    file.chmod(mode)
    write_people(file, PeopleFile([DANA]))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("[[person]\n", "people.toml: "),
        ("\xff", "people.toml: "),
        ('[[person]]\nname = "Dana"\n', "roles"),
        ('[[person]]\nname = "Dana"\nroles = ["king"]\npin = ""\n', "king"),
        ('[[person]]\nname = "Dana"\nroles = []\npin = "{pin}"\n', "Dana has no role"),
        ('[[person]]\nname = "Da\\nna"\nroles = ["dealer"]\npin = "{pin}"\n', "letters, digits and spaces"),
        ('[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "2580"\n', "the PIN's hash is damaged"),
        (
            '[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "scrypt$3$8$1$AAAA$AAAA"\n',
            "the PIN's hash is damaged",
        ),
        ('[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "scrypt$16777216$8$1$AAAA$AAAA"\n', "hash is damaged"),
        (
            f'[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "scrypt$1024$1$65536$AAAA${"A" * 43}="\n',
            "hash is damaged",  # it would take minutes to check
        ),
        (
            f'[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "scrypt$16384$8$1${"A" * 400}${"A" * 43}="\n',
            "hash is damaged",
        ),
        ('[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "md5$1$1$1$AAAA$AAAA"\n', "the PIN's hash is damaged"),
        ('[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "{pin}"\n' * 2, "Dana is listed twice"),
        ('[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "{pin}"\nshoe = 1\n', "shoe"),
    ],
)
def test_a_damaged_people_file_is_named_and_tells_no_hash(tmp_path: Path, text: str, about: str) -> None:
    file = tmp_path / "people.toml"
    file.write_bytes(text.replace("{pin}", DANA.pin).encode("latin-1"))
    with pytest.raises(ConfigError) as wrong:
        read_people(file)
    assert about in str(wrong.value)
    assert DANA.pin not in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_reading_the_people_file_computes_no_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read by the loop that serves the devices, for GET /people and for every sweep of the sessions."""
    file = tmp_path / "people.toml"
    write_people(file, PeopleFile([DANA]))

    def never(*_: object, **__: object) -> bytes:
        raise AssertionError("a hash was computed")

    monkeypatch.setattr(hashlib, "scrypt", never)
    assert PeopleReader(file).read() == PeopleFile([DANA])


# --- a table with a screen and one person -----------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A table with a screen and one person."""
    write_people(tmp_path / "people.toml", PeopleFile([DANA]))
    more = f'[screen]\nlisten = "127.0.0.1:{free_port()}"\npeople = "{tmp_path}/people.toml"\n'
    more += f'token = "{tmp_path}/screen.token"\n'
    found = Served(tmp_path, "--config", config_file(tmp_path, more=more))
    try:
        found.until("ready")
        yield found
    finally:
        found.close()


PATHS = ("table", "events", "events/stream", "actions", "rounds", "devices", "session", "people", "openapi.json", "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_user_without_a_role_sees_nothing_and_changes_nothing(served: Served) -> None:
    for folder in [served.folder, *served.folder.parents]:  # so that the daemon refuses, not the file system
        with contextlib.suppress(PermissionError):
            if "/pytest-of-" in str(folder):
                folder.chmod(folder.stat().st_mode | 0o055)
    (served.folder / "run").chmod(0o755)
    before = served.table()["seq"]

    def look() -> list[tuple[int, bytes]]:
        answers = [served.ask("GET", f"/api/v1/{path}") for path in PATHS]
        answers += [served.ask("GET", path) for path in ("/metrics", "/", "/web/index.html")]
        answers += [
            served.do("open_table"),
            served.ask("PUT", "/api/v1/table"),
            served.ask("POST", "/api/v1/session", {}),
        ]
        return [(answer.status, answer.body) for answer in [*answers, served.ask("GET", "/healthz")]]

    *answers, health = as_nobody(look)
    assert health == (200, b'{"status":"ok"}')  # monitoring may see that it runs
    assert {status for status, _ in answers} == {403}
    assert len({body for _, body in answers}) == 1  # the answer does not reveal what exists
    assert b"has no role at this table" in answers[0][1]
    assert served.table()["seq"] == before


def test_no_pin_no_hash_and_no_cookie_is_ever_told(served: Served) -> None:
    listen = served.until("ready")["screen"]
    page = Page(listen)
    assert page.sign_in("Dana", "161803").status == 401
    assert page.sign_in("Dana", PIN).status == 200
    cookies, tokens = [page.cookie], [page.token]
    (served.folder / "screen.token").write_text("t" * 43)
    assert page.ask("POST", "/api/v1/session/screen", {"token": "t" * 43}).status == 200
    cookies.append(page.screen_cookie)
    bodies = [page.ask("GET", f"/api/v1/{path}").body for path in PATHS if path not in ("events/stream", "session")]
    bodies += [served.ask("GET", path).body for path in ("/metrics", "/api/v1/session", "/api/v1/people")]
    bodies.append(page.do("open_table").body)
    headers = page.ask("GET", "/api/v1/session").headers
    assert headers["Set-Cookie"] is None, "the page has its cookie already"
    assert headers["Cache-Control"] == "no-store"
    for method, path in (("GET", f"/api/v1/people?pin={PIN}"), ("POST", f"/api/v1/session?name=Dana&pin={PIN}")):
        assert page.ask(method, path, {} if method == "POST" else None).status in (200, 400)  # ignored in a URL
    served.end()
    journal = b"".join(path.read_bytes() for path in (served.folder / "run").glob("journal.db*"))
    for what, said in (("journal", journal), ("log", served.log.encode()), ("answers", b"".join(bodies))):
        for secret in (PIN, "161803", DANA.pin, DANA.pin.rpartition("$")[2], *cookies, *tokens):
            assert secret.encode() not in said, what
