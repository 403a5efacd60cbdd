"""`shoectl` with a real daemon: at a simulated table whose robot is paused, and with an installed configuration."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.cli import client, journal_option
from controller.cli.client import Client, RequestRefused
from controller.cli.do import read_fields
from controller.daemon.config import EXAMPLE
from tests.support.other_user import as_nobody
from tests.support.served import Served, simulated
from tests.support.shoectl import SHOECTL, complaint, json_lines, shoectl
from tests.support.terminal import LIMIT_S, Terminal


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with simulated(tmp_path_factory.mktemp("table"), "--paused", "--speed", "20") as (served, _):
        served.wait(lambda seen: all(device["state"] == "ready" for device in seen["devices"]))
        yield served


@pytest.fixture(autouse=True)
def _this_table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(journal_option, "DEFAULT", tmp_path / "nowhere.db")
    if "table" in request.fixturenames:
        monkeypatch.setenv(client.VARIABLE, str(request.getfixturevalue("table").socket))


def done(*words: str) -> str:
    result = shoectl(*words)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"(shoectl: (read|verified) \d+ .*\n)*", result.stderr)  # the progress of slow operations
    return result.stdout


def until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + LIMIT_S
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


# --- looking ----------------------------------------------------------------------------------------------------------


def test_status_and_devices(table: Served) -> None:
    text = done("status")
    assert re.match(r"Simulated table: \w+, simulated, event \d+\n  now    ", text)
    output = json.loads(done("status", "--json"))
    assert output.keys() == table.table().keys()
    text = done("devices")
    for words in (
        "shuffler: ready, connected",
        "shoe: ready, connected",
        "protocol version 1",
        "frames received, 0 damaged",
    ):
        assert words in text
    assert [device["name"] for device in json.loads(done("devices", "--json"))["devices"]] == ["shuffler", "shoe"]


def test_counters_and_frames(table: Served) -> None:
    text = done("counters")
    assert re.search(r"^COUNTER +SHUFFLER +SHOE$", text, re.MULTILINE)
    assert re.search(r"^sessions +1 +1$", text, re.MULTILINE)
    assert "round trip, shoe" in text
    output = json.loads(done("counters", "shoe", "--json"))
    assert list(output) == ["shoe"]
    assert output["shoe"]["counters"]["frames_in"] > 0
    assert "unknown device 'toaster'" in complaint(shoectl("counters", "toaster"))
    lines = done("frames", "shoe").splitlines()
    assert lines
    shape = r" *[+-][\d.]+s +(out|in) [A-Z]+ +session [0-9a-f]{4} [^\[{\"']*"
    assert [line for line in lines if not re.fullmatch(shape, line)] == []
    assert {"lines"} == json.loads(done("frames", "shoe", "--json")).keys()
    assert "toaster" in complaint(shoectl("frames", "toaster"))


# --- doing ------------------------------------------------------------------------------------------------------------


def test_doing_and_being_refused(table: Served) -> None:
    assert "+ open_table\n" in done("do")
    assert "Opened" in done("do", "open_table").title()
    assert "next: Bring a new blue deck." in done("do", "receive_deck", "deck=red-90", "back=red")
    (event,) = json_lines(done("events", "--kind", "deck.received", "-n", "1", "--json"))
    assert event["data"]["deck"] == "red-90"
    assert event["data"]["who"]
    head = table.table()["seq"]
    for words in (
        ["open_teble"],
        ["verify_deck", "dekc=red-90"],
        ["cut_deck", "deck=red-90", "depth=x"],
        ["verify_deck"],
    ):
        assert (
            "did you mean" in (output := complaint(shoectl("do", *words), 2))
            or "depth" in output
            or "missing" in output
        )
    assert table.table()["seq"] == head  # the daemon was not asked
    output = complaint(shoectl("do", "verify_deck", "deck=red-90"))
    assert output == "shoectl: refused: deck red-90 is received (4.A); possible when the deck is inspected"
    output = complaint(shoectl("do", "verify_deck", "deck=red-90", "--role", "dealer", "--json"))
    assert "floor" in output
    refusals = json_lines(done("events", "--kind", "action.refused", "--json"))
    assert "verify_deck" in json.dumps(refusals[-1]["data"])
    prepared = ("do", "receive_deck", "deck=blue-90", "back=blue", "prepared=yes", "--role", "dealer")
    assert "where the deck was inspected" in complaint(shoectl(*prepared))
    done(*prepared, "came_from=the card room")
    assert "accepted deck blue-90" in done("do", "accept_deck", "deck=blue-90")
    done("do", "remove_deck", "deck=blue-90", "--yes")
    assert "The deck leaves the table for good." in complaint(shoectl("do", "remove_deck", "deck=red-90"))
    answer = json.loads(done("do", "remove_deck", "deck=red-90", "--yes", "--json"))
    assert answer["done"] is True
    assert answer["events"][0]["kind"] == "deck.removed"


def test_every_action_can_be_written(table: Served) -> None:
    """`shoectl do` accepts the fields that it lists: every action is answered by the table, none is wrong usage."""
    for action in json.loads(done("do", "--json"))["actions"]:
        if action["allowed"]:
            continue  # it would be carried out
        values = {"integer": "1", "boolean": "yes", "integers": "1,2", "cards": "tiger", "string": "red-91"}
        fields = [
            f"{field['name']}={(field.get('choices') or [values.get(field['type'], 'none')])[0]}"
            for field in action["fields"]
        ]
        if any(field.endswith("=none") for field in fields):
            continue  # there is nothing to choose from
        assert "refused: " in complaint(shoectl("do", action["action"], *fields)), action


def test_the_list_of_actions_shows_what_to_type(table: Served) -> None:
    """Every action with fields has an example, and every example could be typed as it is."""
    text, known = done("do"), json.loads(done("do", "--json"))["actions"]
    assert "receive_deck deck=NAME back=red|blue [prepared=yes|no] [came_from=TEXT]" in text
    assert "JSON" not in text
    examples = [shlex.split(line) for line in re.findall(r"For example: shoectl do (.+)", text)]
    assert [words[0] for words in examples] == [action["action"] for action in known if action["fields"]]
    assert ["receive_deck", "deck=red-1", "back=red"] in examples
    for action, *fields in examples:
        assert read_fields(action, tuple(fields), known)


# --- live -------------------------------------------------------------------------------------------------------------


def test_status_watch_on_a_terminal(table: Served) -> None:
    number = table.table()["seq"]
    with Terminal("status", "--watch") as screen:
        screen.until(rf"event {number}\b")
        assert shoectl("do", "free_jam", "device=shoe").exit_code == 1  # a refusal is an event
        shown = screen.until(rf"event {number + 1}\b(.|\n)*\x1b\[J")
        assert re.search(r"\x1b\[\d+F", shown)
        screen.press("\x03")
        assert screen.end() == 0


def test_following_until_the_daemon_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulated(tmp_path, "--paused") as (served, _):
        monkeypatch.setenv(client.VARIABLE, str(served.socket))
        words = [*SHOECTL, "events", "--follow", "--after", "0", "--kind", "table", "--json"]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(words, **pipes) as following:
            assert following.stdout is not None
            assert following.stderr is not None
            assert json.loads(following.stdout.readline())["kind"] == "table.configured"
            done("do", "open_table")
            assert json.loads(following.stdout.readline())["kind"] == "table.opened"
            assert served.end(signal.SIGKILL) < 0
            assert following.wait(LIMIT_S) == 1
            (line,) = following.stderr.read().splitlines()
            assert line.startswith("shoectl: ")
            assert "the daemon closed the connection" in line
            assert following.stdout.read() == ""
        assert "is not running" in complaint(shoectl("status"))


# --- a played round, and what was written of it -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A table at which the robot has played a round, and the shoe has named its hands, which it may do later."""
    with simulated(tmp_path_factory.mktemp("played"), "--speed", "50") as (served, _):
        asked = Client(served.socket)
        asked.post("simulation", {"do": "speed", "speed": 50})
        until(lambda: "round.completed" in {event["kind"] for event in asked.get("events", kind="round")["events"]})
        asked.post("simulation", {"do": "pause"})
        until(lambda: all(dealt["seen"] == "known" for dealt in asked.get("rounds/1")["stacks"]))
        yield served


def test_rounds(played: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(client.VARIABLE, str(played.socket))
    first = json.loads(done("rounds", "--json"))["rounds"][-1]
    assert (first["round"], first["ended"]) == (1, "completed")
    assert re.search(r"^ +1  .* completed +\d+$", done("rounds"), re.MULTILINE)
    output = json.loads(done("round", "1", "--json"))  # from the journal, which the daemon names
    assert output == {name: value for name, value in played.get("/api/v1/rounds/1").items() if name in output}
    events = json_lines(done("events", "--round", "1", "-n", "500", "--json"))
    assert {event["data"].get("round") for event in events} <= {1, None}
    kinds = [event["kind"] for event in events if event["kind"] != "hand.recognised"]  # which may come late
    assert (kinds[0], kinds[-1]) == ("round.started", "round.completed")
    assert "chain intact" in done("journal", "verify")
    assert f"deck {first['deck']}: " in done("impact", first["deck"])


def test_an_unknown_device_is_named_with_the_known_ones(played: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(client.VARIABLE, str(played.socket))
    for words in (["counters", "sho"], ["frames", "sho"], ["events", "--device", "sho"], ["sim", "mend", "sho", "jam"]):
        result = shoectl(*words)
        assert result.exit_code != 0
        assert "unknown device 'sho'" in result.stderr
        assert "shuffler, shoe" in result.stderr


def test_a_round_for_somebody_who_may_not_read_the_journal(played: Served, tmp_path: Path, mocker: Any) -> None:
    forbidden = tmp_path / "journal.db"
    forbidden.touch()
    mocker.patch.object(journal_option, "DEFAULT", forbidden)
    mocker.patch("controller.journal.reader.os.access", return_value=False)
    mocker.patch.dict(os.environ, {client.VARIABLE: str(played.socket)})
    result = shoectl("round", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("round 1: completed, deck ")
    assert "its chain was not checked" in result.stderr
    assert "no round 99" in complaint(shoectl("round", "99"))
    assert "may not read it" in complaint(shoectl("round", "1", "--journal", str(forbidden)))
    mocker.patch.dict(os.environ, {client.VARIABLE: str(tmp_path / "nothing")})
    assert "may not read it" in complaint(shoectl("round", "1"))


def test_doctor_and_bundle(played: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(client.VARIABLE, str(played.socket))
    played.wait(lambda seen: all(device["state"] in ("ready", "working") for device in seen["devices"]))
    text = done("doctor")
    assert "nothing is wrong" in text
    assert "chain intact" in text
    file = tmp_path / "support.zip"
    output = json.loads(done("bundle", str(file), "--json"))
    assert [problem for problem in output["problems"] if not problem.startswith(("log", "kernel"))] == []
    with zipfile.ZipFile(file) as packed:
        parts = {name.removeprefix("support/"): packed.read(name) for name in packed.namelist()}
    assert json.loads(parts["journal/verification.json"])["ok"] is True
    assert b"shoed_" in parts["daemon/metrics.txt"]
    assert json.loads(parts["daemon/devices.json"])["devices"][1]["counters"]["frames_in"] > 0
    assert b"scrypt" not in b"".join(parts.values())
    assert b"session" in parts["daemon/frames-shoe.txt"]


# --- the simulation ---------------------------------------------------------------------------------------------------


def test_playing_with_the_simulation(table: Served) -> None:
    assert done("sim", "status").startswith("robot dealer: paused, ")
    names = {fault["name"] for fault in json.loads(done("sim", "status", "--json"))["faults"]}
    assert {"jam", "unplug", "noise"} <= names
    assert "foo" in complaint(shoectl("sim", "inject", "shoe", "foo"), 2)
    done("sim", "inject", "shoe", "unplug")
    until(lambda: re.search(r"^shoe: \w+, not connected.*\n +problem +", shoectl("devices").stdout, re.MULTILINE))
    assert shoectl("devices").exit_code == 1
    found = json.loads(shoectl("doctor", "--json").stdout)
    assert [one["text"] for one in found if one["verdict"] == "wrong" and one["text"].startswith("shoe: not connected")]
    assert "shoe: " in done("sim", "status")
    done("sim", "mend", "shoe", "unplug")
    until(lambda: shoectl("devices").exit_code == 0)
    done("sim", "speed", "2")
    done("sim", "resume", "--json")
    assert json.loads(done("sim", "status", "--json"))["robot"]["running"] is True
    done("sim", "pause")


# --- as it is installed -----------------------------------------------------------------------------------------------


@pytest.fixture
def installed(shared_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A daemon with a configuration, without its devices."""
    (shared_path / "run").mkdir()
    text = EXAMPLE.replace("/run/shoed/", f"{shared_path}/run/").replace("/var/lib/shoed/", f"{shared_path}/")
    text = text.replace("/dev/shoed/", f"{shared_path}/dev/").split("[screen]")[0]
    config = shared_path / "table.toml"
    config.write_text(text)
    served = Served(shared_path, "--config", str(config))
    try:
        served.until("ready")
        monkeypatch.setenv(client.VARIABLE, str(served.socket))
        yield served
    finally:
        served.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_who_one_is_decides(installed: Served) -> None:
    output = complaint(shoectl("do", "open_table"))
    assert "root is not" in output
    assert "dealer" in output
    output = complaint(shoectl("sim", "pause"))
    assert "simulat" in output

    def ask() -> tuple[int, str, str]:
        try:
            Client(installed.socket).get("table")
        except RequestRefused as error:
            return error.status, error.code, str(error)
        return 200, "", ""

    status, code, text = as_nobody(ask)
    assert (status, code) == (403, "not_your_part")
    assert "shoed-technician" in text


def test_devices_that_are_not_there(installed: Served) -> None:
    until(lambda: "problem" in shoectl("devices").stdout)
    result = shoectl("devices")
    assert result.exit_code == 1
    assert re.search(r"problem +.*/dev/shoe: not found", result.stdout)
    found = json.loads(shoectl("doctor", "--config", str(installed.folder / "table.toml"), "--json").stdout)
    wrong = {one["topic"]: one for one in found if one["verdict"] == "wrong"}
    assert "is missing" in wrong["ports"]["text"]
    assert "not connected" in wrong["devices"]["text"]
    assert all(one["mend"] for one in wrong.values())
