"""`shoectl person`: who may sign in, in which roles, with which PIN."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.daemon import people as people_file
from controller.daemon.people import check_pin, read_people
from tests.support.shoectl import complaint, shoectl
from tests.support.terminal import Terminal


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hash costs is tested in tests/daemon/test_people.py."""
    monkeypatch.setitem(people_file.SCRYPT, "n", 2)
    monkeypatch.setattr(
        people_file, "_placeholder_hash", people_file._placeholder_hash.__wrapped__
    )  # a cheap one must not be kept


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return tmp_path / "people.toml"


def person(people: Path, *words: str, pin: str = "") -> str:
    result = shoectl("person", *words, "--people", str(people), input=pin)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(people: Path, *words: str, pin: str = "", code: int = 1) -> str:
    before = people.read_bytes() if people.exists() else None
    output = complaint(shoectl("person", *words, "--people", str(people), input=pin), code)
    assert (people.read_bytes() if people.exists() else None) == before
    return output


def test_a_person_comes_changes_and_goes(people: Path) -> None:
    person(people, "add", "Flo Adams", "--role", "floor", "--role", "dealer", "--role", "floor", pin="258013\n")
    person(people, "add", "Dana", "--role", "dealer", pin="1470")
    assert people.stat().st_mode & 0o007 == 0
    assert "258013" not in people.read_text()
    assert check_pin(read_people(people), "Flo Adams", "258013")[1]
    assert json.loads(person(people, "list", "--json")) == [
        {"name": "Flo Adams", "roles": ["floor", "dealer"]},
        {"name": "Dana", "roles": ["dealer"]},
    ]
    assert person(people, "list").splitlines()[1] == "Flo Adams  floor, dealer"
    person(people, "pin", "Dana", pin="8642\n")
    assert check_pin(read_people(people), "Dana", "8642")[1]
    assert not check_pin(read_people(people), "Dana", "1470")[1]
    person(people, "roles", "Dana", "--role", "auditor")
    assert json.loads(person(people, "remove", "Flo Adams", "--json")) == [{"name": "Dana", "roles": ["auditor"]}]
    assert check_pin(read_people(people), "Dana", "8642")[1]


def test_what_is_refused(people: Path) -> None:
    assert "4 to 12 digits" in refused(people, "add", "Dana", "--role", "dealer", pin="12\n")
    assert "4 to 12 digits" in refused(people, "add", "Dana", "--role", "dealer", pin="")
    assert "too easy" in refused(people, "add", "Dana", "--role", "dealer", pin="1111\n")
    assert "not a valid name" in refused(people, "add", 'x"\n[[person]]', "--role", "dealer", pin="2580\n", code=2)
    assert "--role" in refused(people, "add", "Dana", pin="2580\n", code=2)
    assert "--role" in refused(people, "add", "Dana", "--role", "king", pin="2580\n", code=2)
    person(people, "add", "Dana", "--role", "dealer", pin="2580\n")
    assert "already exists" in refused(people, "add", "Dana", "--role", "floor", pin="2580\n")
    for verb in (["pin", "Flo"], ["remove", "Flo"], ["roles", "Flo", "--role", "floor"]):
        assert "there is no Flo; registered: Dana" in refused(people, *verb, pin="2580\n")
    people.write_text("[[person]]\nname = 1\n")
    assert "people.toml" in refused(people, "list")


def test_a_floorperson_needs_a_pin_of_six_digits(people: Path) -> None:
    assert "6 to 12 digits" in refused(people, "add", "Flo", "--role", "floor", pin="25801\n")
    person(people, "add", "Flo", "--role", "floor", pin="258013\n")
    person(people, "add", "Dana", "--role", "dealer", pin="2580\n")
    assert "a six-digit PIN: shoectl person pin Dana" in person(people, "roles", "Dana", "--role", "floor")
    assert [one.pin_short for one in read_people(people).person] == [False, True]
    assert "6 to 12 digits" in refused(people, "pin", "Dana", pin="2580\n")
    person(people, "pin", "Dana", pin="258014\n")
    assert not any(one.pin_short for one in read_people(people).person)


def test_the_pin_is_asked_for_and_not_seen(people: Path) -> None:
    with Terminal("person", "add", "Dana", "--role", "dealer", "--people", str(people)) as screen:
        screen.until("PIN of Dana: ")
        screen.press("2580\n")
        screen.until("Again: ")
        screen.press("2580\n")
        assert screen.end() == 0
    assert "2580" not in screen.shown
    assert check_pin(read_people(people), "Dana", "2580")[1]
