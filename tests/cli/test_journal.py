"""`shoectl journal` as an auditor uses it: the real command with real journals and exports."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import Result

from controller.cli import progress
from controller.daemon.live_table import CODE_VERSION
from controller.journal import Checkpoint, Journal, NewEvent, StoredEvent
from tests.journal.test_chain import TS
from tests.journal.test_store import by_hand, filled, forge, new
from tests.support import shoectl as command
from tests.support import terminal
from tests.support.jammed import journal_of_a_jam
from tests.support.snapshots import save_state


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def shoectl(*words: str | Path, **more: Any) -> Result:
    return command.shoectl("journal", *map(str, words), **more)


def done(*words: str | Path, **more: Any) -> str:
    result = shoectl(*words, **more)
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(*words: str | Path, code: int = 1, **more: Any) -> str:
    return command.complaint(shoectl(*words, **more), code)


def closed(path: Path, count: int) -> list[StoredEvent]:
    """A journal with this many events, closed as the daemon does it."""
    events = filled(path, count)
    with Journal(path) as journal:
        journal.mark_verified(journal.head)
    return events


def change(path: Path, statement: str) -> None:
    with by_hand(path) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("verb", ["verify", "tail", "show", "export"])
def test_help(verb: str) -> None:
    assert re.search(rf"^  {verb}  ", done("--help"), re.MULTILINE)
    page = done(verb, "--help")
    assert f"shoectl journal {verb}" in page.split("Example", 1)[1]
    assert "--json" in page
    assert "/var/lib/shoed/journal.db" in page.replace("\n", "")


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify(path: Path) -> None:
    events = filled(path, 5)
    said = f"5 events, chain intact, head {events[-1].hash}\njournal id {events[0].hash[:16]}\n"
    assert done("verify", path) == done("verify", "--journal", path) == said
    assert json.loads(done("verify", path, "--json")) == {
        "ok": True,
        "events": 5,
        "id": events[0].hash[:16],
        "first": 1,
        "last": 5,
        "prev": "0" * 64,
        "head": events[-1].hash,
    }
    with Journal(path) as journal:  # also while the journal is open for writing
        journal.append([new(6)])
        assert done("verify", path).startswith(f"6 events, chain intact, head {journal.head.hash}\n")


def test_verify_names_the_first_bad_event(path: Path) -> None:
    filled(path, 5)
    change(path, "UPDATE events SET kind = 'round.voided' WHERE seq IN (3, 4)")
    result = shoectl("verify", path)
    assert result.exit_code == 1
    assert result.stdout == f"{path}: event 3: its content does not match its hash\n"
    result = shoectl("verify", path, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"ok": False, "bad": 3, "reason": "its content does not match its hash"}


def test_verify_reports_a_forged_saved_state_although_the_chain_is_intact(path: Path) -> None:
    filled(path, 4)
    with Journal(path) as journal:
        save_state(journal, 4, b"7 rounds", CODE_VERSION)
    assert "5 events, chain intact" in done("verify", path)
    forge(path, 4, b"777 rounds", CODE_VERSION)
    result = shoectl("verify", path, "--json")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert (said["ok"], said["bad"]) == (False, 4)
    assert "its digest is not the one that event 5 records" in said["reason"]


def test_verify_finds_an_end_that_was_cut_off_by_the_mark_of_the_journal(path: Path) -> None:
    events = filled(path, 5)
    with Journal(path) as journal:
        journal.mark_verified(Checkpoint(4, events[3].hash))
    change(path, "DELETE FROM events WHERE seq > 3")
    result = shoectl("verify", path, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["bad"] == 4


def test_verify_against_a_head_that_was_written_down(path: Path) -> None:
    events = filled(path, 5)
    head = f"5:{events[4].hash}"
    assert "chain intact" in done("verify", path, "--expect", head)
    assert "chain intact" in done("verify", path, "--expect", f"2:{events[1].hash.upper()}")
    other = shoectl("verify", path, "--expect", f"4:{events[4].hash}")
    assert other.exit_code == 1
    assert "event 4: its hash is" in other.stdout
    change(path, "DELETE FROM events WHERE seq > 3")
    assert "3 events, chain intact" in done("verify", path)  # nothing in the file shows it
    cut = shoectl("verify", path, "--expect", head)
    assert cut.exit_code == 1
    assert "event 5: expected, but the last event is 3: the end was cut off" in cut.stdout
    assert "64 hexadecimal digits" in complaint("verify", path, "--expect", "5:abc", code=2)


def test_what_is_no_journal(tmp_path: Path) -> None:
    assert "there is no journal here" in complaint("verify", tmp_path / "none.db")
    text = tmp_path / "diary.txt"
    text.write_text("dear diary\n" * 100)
    assert "neither a journal nor an export" in complaint("verify", text)
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
    assert "neither a journal nor an export" in complaint("verify", tmp_path / "other.db")
    for verb in (["tail"], ["show", "1"], ["export", "-"]):
        assert "there is no journal here" in complaint(*verb, "--journal", tmp_path / "none.db")
        assert "not a Dragonshoe journal" in complaint(*verb, "--journal", tmp_path / "other.db")
        assert str(tmp_path) in complaint(*verb, "--journal", tmp_path)


def test_progress_goes_to_standard_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, 2100)
    monkeypatch.setattr(progress, "SHOW_AFTER_S", float("inf"))
    with Journal(path) as journal:
        journal.mark_verified(journal.head)  # as a daemon does when it ends
    assert shoectl("verify", path).stderr == ""
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0.0)
    result = shoectl("verify", path, "--json")
    assert json.loads(result.stdout)["events"] == 2100
    assert "verified 1000 of 2100 events" in result.stderr
    assert "verified 2000 of 2100 events" in result.stderr
    result = shoectl("export", path.with_name("all.jsonl"), "--journal", path)
    assert result.exit_code == 0
    assert "wrote 2000 of 2100 events" in result.stderr
    assert "verified 1000 events" in shoectl("verify", path.with_name("all.jsonl")).stderr


def test_progress_is_a_bar_on_a_terminal(path: Path) -> None:
    filled(path, 2100)
    program = f"from controller.cli import progress; progress.SHOW_AFTER_S = 0.0; {terminal.SHOECTL}"
    with terminal.Terminal("journal", "verify", str(path), program=program) as screen:
        assert screen.end() == 0
    assert re.search(r"verified events +\[#+-+\] +(1000|2000)/2100", screen.shown)
    assert re.search(r"verified events +\[#+\] +2100/2100", screen.shown)
    assert "2100 events, chain intact" in screen.shown.splitlines()[-2]


# --- tail and show ----------------------------------------------------------------------------------------------------


def test_tail(path: Path) -> None:
    events = filled(path, 12)
    lines = done("tail", "--journal", path).splitlines()
    assert len(lines) == 10
    assert lines[-1] == f'    12  {TS}  round.started  13.G  {{"round":11,"text":""}}'
    assert [json.loads(line)["seq"] for line in done("tail", "-n", "3", "--json", "--journal", path).splitlines()] == [
        10,
        11,
        12,
    ]
    last = json.loads(done("tail", "-n", "1", "--json", "--journal", path))
    assert last == json.loads(json.dumps({name: getattr(events[-1], name) for name in StoredEvent.__struct_fields__}))
    assert done("tail", "-n", "0", "--journal", path) == ""
    with Journal(path) as journal:
        journal.append([NewEvent(TS, "round.voided"), new(14, text="\x1b[31m")])
    assert done("tail", "-n", "5", "--kind", "round.voided", "--journal", path) == f"    13  {TS}  round.voided\n"
    assert "\x1b" not in done("tail", "--journal", path)


def test_tail_tells_damage(path: Path) -> None:
    filled(path, 3)
    change(path, "UPDATE events SET data = '{' WHERE seq = 3")
    assert f"{path}: event 3: it is unreadable" in complaint("tail", "--journal", path)


def test_tail_follows(path: Path) -> None:
    filled(path, 2)
    words = [*command.SHOECTL, "journal", "tail", "-n", "1", "--follow", "--json", "--journal", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        assert tail.stderr is not None
        assert json.loads(tail.stdout.readline())["seq"] == 2
        with Journal(path) as journal:  # starts after it
            for number in (3, 4):
                journal.append([new(number)])
                assert json.loads(tail.stdout.readline())["seq"] == number
            tail.send_signal(signal.SIGINT)
            assert tail.wait() == 0
        assert (tail.stdout.read(), tail.stderr.read()) == ("", "")


def test_show(path: Path) -> None:
    events = closed(path, 3)
    text = done("show", "2", "--journal", path)
    assert f"hash    {events[1].hash}" in text
    assert f"prev    {events[0].hash}" in text
    assert '"round": 1' in text
    assert json.loads(done("show", "2", "--json", "--journal", path))["hash"] == events[1].hash
    assert "no event 4; the last event is 3" in complaint("show", "4", "--journal", path)
    assert "0" in complaint("show", "0", "--journal", path, code=2)
    change(path, "UPDATE events SET kind = 'round.voided' WHERE seq = 2")
    result = shoectl("show", "2", "--journal", path)
    assert result.exit_code == 1
    assert "event 2: its content does not match its hash" in result.stderr


# --- export -----------------------------------------------------------------------------------------------------------


def test_an_export_is_checked_elsewhere_without_the_journal(path: Path, tmp_path: Path) -> None:
    events = filled(path, 9)
    file = tmp_path / "out.jsonl"
    assert done("export", "--journal", path, file) == f"9 events from 1 to 9, head {events[8].hash}\n"
    path.unlink()
    assert done("verify", file).startswith(f"9 events, chain intact, head {events[8].hash}\n")
    assert done("verify", "-", input=file.read_bytes()) == done("verify", file)
    assert "chain intact" in done("verify", file, "--expect", f"9:{events[8].hash}")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[3:6]))
    said = f"3 events from 4 to 6, after {events[2].hash}, chain intact, head {events[5].hash}\n"
    assert done("verify", file) == said
    assert "event 2: expected, but the first event is 4" in shoectl("verify", file, "--expect", f"2:{'0' * 64}").stdout


def test_a_proof(path: Path, tmp_path: Path) -> None:
    events = filled(path, 9)
    file = tmp_path / "out.jsonl"
    output = json.loads(done("export", "--proof", "--from", "3", "--to", "7", "--json", "--journal", path, file))
    part = {"first": 3, "last": 7, "prev": events[1].hash, "head": events[6].hash}
    assert output == {"file": str(file), "events": 5, **part}
    header, *lines = file.read_bytes().splitlines(keepends=True)
    assert json.loads(header) == {"format": "dragonshoe-journal", "version": 1, **part}
    assert len(lines) == 5
    assert f"5 events from 3 to 7, after {events[1].hash}, chain intact, head {events[6].hash}" in done("verify", file)

    def verdict(*content: bytes) -> str:
        file.write_bytes(b"".join(content))
        result = shoectl("verify", file)
        assert result.exit_code == 1
        return result.stdout

    assert "event 7: the file ends before it" in verdict(header, *lines[:-1])
    assert "event 3: the file ends before it" in verdict(header)
    assert "line 6 is not an event" in verdict(header, *lines[:-1], lines[-1][:-20])
    assert "event 3: it is missing" in verdict(header, *lines[1:])
    assert "event 8: event 7 is in its place" in verdict(header, *lines, lines[-1])
    assert "event 5: its content does not match" in verdict(
        header, *lines[:2], lines[2].replace(b'd":4', b'd":5'), *lines[3:]
    )
    assert "event 3: its prev" in verdict(
        header.replace(b'"prev":"', b'"prev":"0').replace(b'0","head', b'","head'), *lines
    )
    assert "event 7: its hash is not the head" in verdict(header.replace(events[6].hash.encode(), b"0" * 64), *lines)
    assert "format dragonshoe-journal 2" in verdict(header.replace(b'"version":1', b'"version":2'), *lines)
    assert "line 1 is not an event" in verdict(header[:-2], b"\n", *lines)
    assert "line 2 is not in canonical form" in verdict(header, lines[0].replace(b":", b": ", 1), *lines[1:])
    assert "not an event" in verdict(b'{"seq":' + b"1" * 200_000)


def test_a_proof_of_the_start_begins_with_zeros(path: Path, tmp_path: Path) -> None:
    filled(path, 2)
    file = tmp_path / "out.jsonl"
    done("export", "--proof", "--journal", path, file)
    assert done("verify", file).startswith("2 events, chain intact")
    file.write_bytes(file.read_bytes().replace(b'"prev":"0', b'"prev":"1', 1))
    assert "before event 1" in shoectl("verify", file).stdout


def test_an_empty_journal(path: Path, tmp_path: Path) -> None:
    filled(path, 0)
    assert done("verify", path) == "0 events: there is nothing to verify\n"
    assert done("tail", "--journal", path) == ""
    assert "no event 1; there are no events in this file" in complaint("show", "1", "--journal", path)
    done("export", "--proof", "--journal", path, tmp_path / "out.jsonl")
    assert done("verify", tmp_path / "out.jsonl") == "0 events: there is nothing to verify\n"
    (tmp_path / "none.jsonl").touch()
    assert "neither" in complaint("verify", tmp_path / "none.jsonl")
    assert "the file is empty" in shoectl("verify", "-", input=b"").stdout


def test_a_broken_journal_gives_no_proof_but_its_events(path: Path, tmp_path: Path) -> None:
    filled(path, 5)
    change(path, "UPDATE events SET kind = 'round.voided' WHERE seq = 3")
    file = tmp_path / "out.jsonl"
    before = sorted(tmp_path.iterdir())
    assert f"{path}: event 3: its content does not match its hash" in complaint(
        "export", "--proof", "--journal", path, file
    )
    assert sorted(tmp_path.iterdir()) == before
    done("export", "--journal", path, file)
    assert len(file.read_text().splitlines()) == 5
    assert "event 3" in shoectl("verify", file).stdout


def test_export_to_standard_output(path: Path) -> None:
    events = closed(path, 3)
    result = shoectl("export", "--from", "2", "--journal", path, "-")
    assert [json.loads(line)["seq"] for line in result.stdout.splitlines()] == [2, 3]
    assert result.stderr == f"shoectl: 2 events from 2 to 3, head {events[2].hash}\n"
    assert shoectl("export", "--from", "2", "--json", "--journal", path, "-").stdout == result.stdout


def test_export_refuses(path: Path, tmp_path: Path) -> None:
    filled(path, 3)
    file = tmp_path / "out.jsonl"
    file.write_text("mine")
    assert "--force" in complaint("export", "--journal", path, file)
    assert file.read_text() == "mine"
    done("export", "--force", "--journal", path, file)
    assert "the journal ends at event 3" in complaint("export", "--from", "4", "--journal", path, "-")
    assert "no events in this range" in complaint("export", "--from", "3", "--to", "2", "--journal", path, "-")
    assert "--format jsonl" in complaint("export", "--proof", "--format", "csv", "--journal", path, "-", code=2)
    assert "CSV on standard output" in complaint("export", "--json", "--format", "csv", "--journal", path, "-", code=2)
    assert "No such file" in complaint("export", "--journal", path, tmp_path / "none" / "out.jsonl")


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names of their columns."""
    return list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))


def test_csv(path: Path, tmp_path: Path) -> None:
    raised: dict[str, Any] = {"warning": "shoe.jam", "text": "=HYPERLINK(1)", "why": [], "needs": "floor"}
    raised |= {"by_device": "shoe", "of_deck": "red-1", "gone": False}
    with Journal(path, create=True) as journal:
        journal.append(
            [
                NewEvent(TS, "round.started", ["13.F", "13.G"], {"note": 'a "b", c\nd', "=1": 1}),
                *(NewEvent(TS, "round.started", [cell]) for cell in ("=1+1", "+1", "-1", "@a", "\t=1", " =1", "fine")),
                NewEvent(TS, "deck.verified", ["4.B"], {"who": "-Flo", "deck": "=red", "origin": "screen", "at_ms": 1}),
                NewEvent(TS, "warning.raised", ["13.G"], raised),
            ]
        )
        first_hash = next(journal.events()).hash
    file = tmp_path / "out.csv"
    done("export", "--format", "csv", "--journal", path, file)
    assert file.read_bytes().startswith(b"\xef\xbb\xbfseq,date,time,text,round,")  # so that Excel reads UTF-8
    first, *others, verified, warned = rows_of(file)
    assert first == {
        "seq": "1",
        "date": "2026-01-31",
        "time": "23:59:59.123",
        "text": "Round started.",  # of this kind, but with other fields
        "round": "",
        "deck": "",
        "device": "",
        "person": "",
        "origin": "",
        "clause": "13.F 13.G",
        "kind": "round.started",
        "ts": TS,
        "data": '{"=1":1,"note":"a \\"b\\", c\\nd"}',
        "prev": "0" * 64,
        "hash": first_hash,
    }
    assert [row["clause"] for row in others] == ["'=1+1", "'+1", "'-1", "'@a", "'\t=1", "' =1", "fine"]
    assert verified["text"].startswith("'-Flo ")
    assert (verified["person"], verified["deck"], verified["origin"]) == ("'-Flo", "'=red", "screen")
    assert (warned["device"], warned["deck"], warned["clause"]) == ("shoe", "red-1", "13.G")


def test_the_name_of_the_file_chooses_the_format(path: Path, tmp_path: Path) -> None:
    filled(path, 3)
    done("export", "--journal", path, tmp_path / "night.CSV")
    assert [row["seq"] for row in rows_of(tmp_path / "night.CSV")] == ["1", "2", "3"]
    done("export", "--format", "jsonl", "--journal", path, tmp_path / "lines.csv")
    assert json.loads((tmp_path / "lines.csv").read_text().splitlines()[0])["seq"] == 1
    assert "--format jsonl" in complaint("export", "--proof", "--journal", path, tmp_path / "x.csv", code=2)


def test_csv_names_the_round_of_every_event(path: Path, tmp_path: Path) -> None:
    """Also of those that are not about a round, such as a jam; and in an export that begins in the middle of it."""
    journal_of_a_jam(path)
    file = tmp_path / "out.csv"
    done("export", "--format", "csv", "--journal", path, file)
    rows = rows_of(file)
    rounds = {row["kind"]: row["round"] for row in rows}
    assert (rounds["device.jammed"], rounds["warning.raised"], rounds["round.voided"]) == ("1", "1", "1")
    assert (rounds["table.opened"], rounds["void.completed"], rounds["round.completed"]) == ("", "1", "2")
    assert all(datetime.fromisoformat(f"{row['date']}T{row['time']}").microsecond % 1000 == 0 for row in rows)
    jam = next(row["seq"] for row in rows if row["kind"] == "device.jammed")
    done("export", "--format", "csv", "--from", jam, "--force", "--journal", path, file)
    assert rows_of(file) == rows[int(jam) - 1 :]


@pytest.mark.parametrize("verb", ["export", "copy"])
def test_no_file_is_written_through_a_link(path: Path, tmp_path: Path, verb: str) -> None:
    filled(path, 3)
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_text("keep")
    (tmp_path / "out.part").symlink_to(precious)
    done(verb, out, "--journal", path)
    assert precious.read_text() == "keep"
    out.unlink()
    out.symlink_to(precious)
    assert "out is a symbolic link" in complaint(verb, out, "--force", "--journal", path)
    assert precious.read_text() == "keep"
    assert {file.name for file in tmp_path.iterdir()} >= {"precious", "out", "out.part"}
    assert not list(tmp_path.glob(".out*"))
