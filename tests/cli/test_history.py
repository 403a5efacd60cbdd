"""`shoectl events`, `rounds`, `round` and `impact` on a journal of real rounds, without a daemon."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import Result

from controller.api.history import find_round
from controller.cli import client, journal_option
from controller.core.actions import CloseBets, ReportDealerExposed, RequestHands, Role
from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind
from controller.journal import Journal, JournalReader, NewEvent
from simulators.table.house import House
from simulators.table.people import People
from tests.journal.test_chain import TS
from tests.support.jammed import journal_of_a_jam
from tests.support.recognising import RecognisingHouse
from tests.support.shoectl import complaint, json_lines, shoectl

OPENED = NewEvent(TS, "table.opened", (), {"who": "dana"})


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


@pytest.fixture(scope="module")
def void(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A round that a jam of the shoe makes void, and another one."""
    file = tmp_path_factory.mktemp("journal") / "journal.db"
    journal_of_a_jam(file)
    return str(file)


def lines_of(result: Result) -> list[str]:
    """What was printed, with all times replaced, and gaps shortened."""
    assert result.exit_code == 0, result.output
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC", "TIME", result.stdout)
    return [re.sub(r"(\S) +", r"\1 ", line) for line in text.splitlines()]


def test_a_round_is_rebuilt(journal: str) -> None:
    events = seen("--journal", journal, "--round", "2")
    assert lines_of(shoectl("round", "2", "--journal", journal)) == [
        "round 2: completed, deck blue-1, automated shoe",
        "  started TIME, seats 1, 3",
        "  dealt TIME, seat 1, 3 cards",
        "  dealt TIME, seat 3, 3 cards",
        "  dealt TIME, the dealer, 3 cards",
        "  collected seat 3, seat 1, the dealer",
        "  completed TIME",
        f"  events {events[0]} to {events[-1]}",
    ]
    found = json.loads(shoectl("round", "2", "--journal", journal, "--json").stdout)
    assert (found["deck"], found["ended"], found["hands"]["seat1"]["cards"]) == ("blue-1", "round.completed", 3)
    times = [found["started_ts"], *(stack["ts"] for stack in found["stacks"]), found["ended_ts"]]
    assert times == sorted(times)
    assert times[0] < times[-1]


def test_a_void_round_is_explained(void: str) -> None:
    lines = lines_of(shoectl("round", "1", "--journal", void))
    assert lines[0] == "round 1: void, deck red-1, automated shoe"
    assert any(re.fullmatch(r"  void TIME, .+ \(13\.G\)", line) for line in lines)
    assert "  wagers returned TIME by dealer 1" in lines
    assert "  settled TIME" in lines
    (warning,) = [line for line in lines if line.startswith("  warning")]
    assert re.fullmatch(r"  warning TIME, .+ \(13\.G\); cleared by .+ \((dealer|floorperson)\), TIME", warning)
    found = json.loads(shoectl("round", "1", "--journal", void, "--json").stdout)
    assert found["void"]["clause"] == ["13.G"]
    assert found["started_ts"] < found["ended_ts"] < found["void"]["wagers"]["ts"] <= found["void"]["settled_ts"]
    assert found["warnings"][0]["ts"] <= found["ended_ts"] < found["warnings"][0]["cleared_ts"]
    assert lines_of(shoectl("round", "2", "--journal", void))[0].startswith("round 2: completed")


def test_the_cards_of_a_hand_are_shown_once_they_are_turned_over(tmp_path: Path) -> None:
    house = RecognisingHouse(file := tmp_path / "journal.db")
    people = People(house)
    assert people.open()
    house.report(CloseBets(seats=(2,), who="dealer 1", role=Role.DEALER))
    people.enough = lambda: house.state.table is TableState.ACTING
    assert people.work()
    people.enough = None
    hidden = lines_of(shoectl("round", "1", "--journal", str(file)))
    assert "  dealt TIME, seat 2, 3 cards: hidden" in hidden
    house.report(ReportDealerExposed(who="dealer 1", role=Role.DEALER))
    assert people.work()
    assert people.play((1,))
    cards = [event.data for event in house.events if event.kind == "hand.recognised"]
    assert [(data["round"], data["target"]) for data in cards] == [(2, "seat1"), (2, "dealer")]
    shown = lines_of(shoectl("round", "2", "--journal", str(file)))
    assert f"  dealt TIME, seat 1, 3 cards: {', '.join(cards[0]['kinds'])}" in shown
    house.report(RequestHands(round=1, reason="a dispute", who="floor 1", role=Role.FLOOR))
    house.rest(1)
    void = lines_of(shoectl("round", "1", "--journal", str(file)))
    kinds = [event.data["kinds"] for event in house.events if event.kind == "hand.recognised"][2]
    assert f"  dealt TIME, seat 2, 3 cards: {', '.join(kinds)}" in void
    assert "  requested TIME, the cards of the hands, by floor 1: a dispute" in void
    with JournalReader(file) as reader:
        found = find_round(reader, 1)
    assert [event["kind"] for event in found["events"]][-3:] == ["hands.requested", *2 * ["hand.recognised"]]
    assert found["hands"]["seat2"]["seen"] == "known"
    house.close()


# --- from a file ------------------------------------------------------------------------------------------------------


def seen(*words: str) -> list[int]:
    """The numbers of the events that were found."""
    return [event["seq"] for event in json_lines(shoectl("events", "-n", "5000", "--json", *words).stdout)]


def test_events_are_read_from_a_file(void: str) -> None:
    with JournalReader(void) as reader:
        stored = list(reader.events())
    assert seen("--journal", void) == [event.seq for event in stored]
    assert seen("--journal", void, "--after", "3") == [event.seq for event in stored][3:]
    assert "only with --journal PATH" in complaint(shoectl("events", "-n", "501"), 2)
    assert seen("--journal", void, "--who", "Floor 1") == [e.seq for e in stored if e.data.get("who") == "floor 1"]
    assert seen("--journal", void, "--kind", "round") == [e.seq for e in stored if e.kind.startswith("round.")]
    assert seen("--journal", void, "--device", "shoe", "--kind", "device.jammed") != []
    third, ninth = stored[2].ts, stored[8].ts
    between = [event.seq for event in stored if third <= event.ts <= ninth]
    assert seen("--journal", void, "--since", third, "--until", ninth) == between
    assert seen("--journal", void, "--since", "2025-12-31", "--until", "2026-01-01")[0] > 0
    assert seen("--journal", void, "--until", "2025-12-31") == []
    of_round = seen("--journal", void, "--round", "1")
    assert of_round == list(range(of_round[0], of_round[-1] + 1)), "everything that happened during the round"
    kinds = [stored[seq - 1].kind for seq in of_round]
    assert (kinds[0], kinds[-1]) == ("round.started", "void.completed")
    assert {"device.jammed", "warning.raised", "round.voided"} <= set(kinds)
    text = shoectl("events", "--journal", void, "--kind", "round.voided").stdout
    assert re.search(r"round\.voided +Round 1 is void: .* \(13\.G\)$", text.rstrip())
    nothing = shoectl("events", "--journal", void, "--who", "nobody")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "there are no such events" in nothing.stderr


def test_events_that_are_not_shown_are_mentioned(void: str) -> None:
    result = shoectl("events", "--journal", void)
    assert len(result.stdout.splitlines()) == 20
    assert "only the newest 20 events are shown; -n N shows up to N of them" in result.stderr
    result = shoectl("events", "--journal", void, "--after", "3", "-n", "2")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["4", "5"]
    assert "only the first 2 events are shown" in result.stderr
    result = shoectl("events", "--journal", void, "--round", "1")
    assert [int(line.split()[0]) for line in result.stdout.splitlines()] == seen("--journal", void, "--round", "1")
    assert "are shown" not in result.stderr
    assert "there was no round 9" in shoectl("events", "--journal", void, "--round", "9").stderr


def test_every_action_shows_its_person_and_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    returned = {"round": 1, "seats": [1], "who": "dana", "origin": "screen"}
    with Journal(file, create=True) as journal:
        journal.append(
            [
                NewEvent(TS, "wagers.returned", (), returned),
                NewEvent(TS, "table.opened", (), {"who": "dana", "origin": "socket"}),
                NewEvent(TS, "table.resumed", (), {}),
            ]
        )
    lines = shoectl("events", "--journal", str(file)).stdout.splitlines()
    assert lines[0].endswith("All wagers are returned. [dana, screen]")
    assert lines[1].endswith("opened the table. [socket]")
    assert lines[2].endswith("The table resumed.")
    assert seen("--journal", str(file), "--origin", "screen") == [1]


def test_rounds_are_read_from_a_file(journal: str, void: str) -> None:
    result = shoectl("rounds", "--journal", journal)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["ROUND", "3", "2", "1"]
    found = json.loads(shoectl("rounds", "--journal", void, "--json").stdout)["rounds"]
    assert [(one["round"], one["ended"]) for one in found] == [(2, "completed"), (1, "voided")]

    def numbers(*words: str) -> list[int]:
        return [one["round"] for one in json.loads(shoectl("rounds", "--json", *words).stdout)["rounds"]]

    assert numbers("--journal", journal, "-n", "1") == [3]
    assert numbers("--journal", journal, "--before", "3") == [2, 1]
    assert numbers("--journal", journal, "--round", "2") == [2]
    assert numbers("--journal", void, "--since", found[0]["started_ts"]) == [2]
    assert numbers("--journal", void, "--until", found[1]["started_ts"]) == [1]
    assert numbers("--journal", void, "--who", "dealer 1") == [2, 1]
    assert numbers("--journal", void, "--who", "nobody") == []
    assert "there are no such rounds" in shoectl("rounds", "--journal", void, "--round", "9").stderr


def test_with_the_daemon_down_its_journal_is_read(
    journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(client.VARIABLE, raising=False)
    monkeypatch.setattr(client, "SOCKETS", (tmp_path / "a", tmp_path / "b"))
    monkeypatch.setattr(journal_option, "SIMULATED", tmp_path / "none")
    monkeypatch.setattr(journal_option, "DEFAULT", tmp_path / "none")
    monkeypatch.setattr(journal_option, "DEFAULT", Path(journal))
    assert lines_of(shoectl("round", "2"))[0] == "round 2: completed, deck blue-1, automated shoe"
    monkeypatch.setattr(journal_option, "DEFAULT", tmp_path / "none")
    for verb in ("events", "rounds"):
        assert "no daemon is running" in complaint(shoectl(verb))
        monkeypatch.setattr(journal_option, "DEFAULT", Path(journal))
        result = shoectl(verb)
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) > 3
        assert f"no daemon is running: neither {tmp_path}" in result.stderr
        assert f"this is from {journal}" in result.stderr
        monkeypatch.setattr(journal_option, "DEFAULT", tmp_path / "none")


def test_a_lone_copy_of_a_live_journal_says_what_is_missing(tmp_path: Path) -> None:
    live, copy = tmp_path / "journal.db", tmp_path / "copy.db"
    with Journal(live, create=True) as journal:
        journal.append([OPENED])
        shutil.copy(live, copy)  # everything is still in the log
        verified = shoectl("journal", "verify", str(copy))
        assert verified.exit_code == 0
        verbs = ["rounds"], ["events"], ["round", "1"], ["impact", "red-1"], ["journal", "show", "1"]
        said = [complaint(shoectl(*verb, "--journal", str(copy))) for verb in verbs]
        tail = shoectl("journal", "tail", "--journal", str(copy))
        exported = shoectl("journal", "export", str(tmp_path / "none.jsonl"), "--journal", str(copy))
        for text in (verified.stderr, tail.stderr, exported.stderr, *said):
            assert "there are no events in this file" in text
            assert "journal.db-wal, which was not copied with it" in text
            assert "`shoectl journal copy FILE` makes a complete copy" in text
        journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        journal.append([OPENED])
        shutil.copy(live, copy)  # the first event is in the file, the second is not
        again = str(tmp_path / "again")
        for verb in (
            ["rounds"],
            ["events"],
            ["journal", "verify"],
            ["journal", "tail"],
            ["journal", "export", f"{again}.csv"],
            ["journal", "export", "--proof", f"{again}.jsonl"],
            ["journal", "copy", f"{again}.db"],
        ):
            result = shoectl(*verb, "--journal", str(copy))
            assert result.exit_code == 0
            assert "it ends with event 1, and the daemon had not closed it" in result.stderr
            assert "journal.db-wal, which is missing here" in result.stderr
        assert "there was no round 9; it ends with event 1" in complaint(shoectl("round", "9", "--journal", str(copy)))
        show = complaint(shoectl("journal", "show", "2", "--journal", str(copy)))
        assert "no event 2; it ends with event 1, and the daemon had not closed it" in show
        impact = complaint(shoectl("impact", "red-1", "--journal", str(copy)))
        assert "deck red-1 was never at the table; these were: none; it ends with event 1" in impact
        copy.unlink()
        made = shoectl("journal", "copy", str(copy), "--journal", str(live))
        assert (made.exit_code, made.stdout) == (0, f"2 events, head {journal.head.hash}\n")
    assert "already exists; --force overwrites it" in complaint(
        shoectl("journal", "copy", str(copy), "--journal", str(live))
    )
    nowhere = tmp_path / "none" / "copy.db"
    missing = complaint(shoectl("journal", "copy", str(nowhere), "--journal", str(live)))
    assert missing.endswith(f"{nowhere}: No such file or directory")
    alone = tmp_path / "elsewhere" / "copy.db"
    alone.parent.mkdir()
    copy.rename(alone)
    result = shoectl("journal", "verify", str(alone))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("2 events, chain intact")
    with Journal(alone) as restored:  # it is a journal like any other
        restored.append([OPENED])
    assert sorted(path.name for path in tmp_path.iterdir() if "part" in path.name) == []


# --- what does not exist ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["events", "--kind", "rond"],
            r"unknown kind of event 'rond' \(did you mean round\?\); expected one of access, ",
        ),
        (["events", "--kind", "round.void"], r"'round\.void' \(did you mean round\.voided\?\); .* round\.started"),
        (
            ["events", "--device", "sho"],
            r"unknown device 'sho' \(did you mean shoe\?\); expected one of shuffler, shoe",
        ),
        (["journal", "tail", "--kind", "rond"], r"unknown kind of event 'rond'"),
        (["events", "--since", "yesterday"], r"'yesterday' is not a time; write it in UTC"),
        (["rounds", "--until", "2026-02-30"], r"'2026-02-30' is not a time"),
        (["events", "--since", "2026-02-01", "--until", "2026-01-01"], r"since is after the one given with until"),
        (["rounds", "--since", "2026-02-01", "--until", "2026-01-01"], r"since is after the one given with until"),
        (
            ["events", "--origin", "scren"],
            r"unknown origin 'scren' \(did you mean screen\?\); expected one of screen, ",
        ),
        (["events", "--follow"], r"--follow can only be combined with --kind and --after"),
    ],
)
def test_what_does_not_exist_is_an_error(journal: str, words: list[str], expected: str) -> None:
    assert re.search(expected, complaint(shoectl(*words, "--journal", journal), 2))


def test_what_a_wrong_count_may_have_touched_is_told(journal: str) -> None:
    result = shoectl("impact", "red-1", "--journal", journal)
    assert result.stdout.splitlines() == [
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
