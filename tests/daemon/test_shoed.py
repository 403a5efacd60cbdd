"""`shoed` as a process: it simulates a whole table, and is started, stopped, killed and misconfigured."""

from __future__ import annotations

import asyncio
import grp
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from controller.core.actions import OpenTable, Role
from controller.core.state import encode
from controller.daemon.config import parse_config
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.simulate import put_journal_aside
from controller.games import GAMES
from controller.journal import Journal, JournalBusy, JournalReader, NewEvent
from tests.support.plugged import Plugged
from tests.support.served import LIMIT_S, SHOED, Served, simulated


def refused(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and error message of a shoed that does not start."""
    done = subprocess.run([SHOED, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def config_file(folder: Path, *, shuffler: str = "", shoe: str = "", more: str = "", events_per_s: int = 10_000) -> str:
    """A configuration with everything in one folder. By default the devices may be as fast as simulated ones are."""
    (folder / "run").mkdir(exist_ok=True)
    group = grp.getgrgid(os.getgid()).gr_name  # the user who runs the tests has all roles
    groups = "".join(f'{role} = ["{group}"]\n' for role in Role)
    text = f'[journal]\nfile = "{folder}/run/journal.db"\n[control]\nsocket = "{folder}/run/control.sock"\n{groups}'
    for name, port in (("shuffler", shuffler), ("shoe", shoe)):
        text += f'[{name}]\nport = "{port or folder / name}"\nevents_per_s = {events_per_s}\n'
    (folder / "table.toml").write_text(text + more)
    return "table.toml"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_robot_plays_rounds_and_it_ends_cleanly(tmp_path: Path, ending: signal.Signals) -> None:
    with simulated(tmp_path, "--speed", "40") as (served, _):
        assert served.ask("POST", "/api/v1/simulation", {"do": "speed", "speed": 50}).status == 200
        seen = served.wait(lambda table: table["rounds"] >= 2)  # the first one has ended
        assert seen["simulated"] is True
        assert served.get("/healthz") == {"status": "ok"}
        for line in served.lines:
            assert {"event", "level", "timestamp"} <= line.keys()
        assert served.end(ending) == 0
        served.until("stopped")
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {"journal.db", "journal.db.lock", "screen.token"}
    with JournalReader(tmp_path / "run/journal.db") as reader:
        kinds = {event.kind for event in reader.events()}
        assert reader.verify().seq > 50
        assert "round.completed" in kinds
        assert not {"round.voided", "device.lost"} & kinds


@pytest.mark.parametrize("game", list(GAMES))
def test_the_robot_plays_a_round_of_every_game(tmp_path: Path, game: str) -> None:
    with simulated(tmp_path, "--speed", "60", "--game", game) as (served, _):
        assert served.ask("POST", "/api/v1/simulation", {"do": "speed", "speed": 50}).status == 200
        seen = served.wait(lambda table: table["rounds"] >= 1 and table["table"] == "betting")
        assert seen["game"] == GAMES[game].game.name
        assert not GAMES[game].must_settle or seen["settled"]["round"] == seen["rounds"]
        assert served.get("/healthz") == {"status": "ok"}


@pytest.mark.parametrize("words", [("--speed", "4"), ("--paused",), ("--listen", "127.0.0.1:1")])
def test_what_is_only_for_a_simulation_is_not_ignored_elsewhere(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, said = refused(tmp_path, "--config", config_file(tmp_path), *words)
    assert (code, f"{words[0]} is only possible with --simulate" in said) == (2, True)


def test_a_second_simulation_begins_a_new_journal_and_keeps_the_old(tmp_path: Path) -> None:
    for _ in range(2):
        with simulated(tmp_path, "--paused") as (served, _):
            assert served.table()["seq"] > 0
            assert served.end() == 0
    assert (tmp_path / "run/journal-1.db").exists()


def test_every_journal_of_a_simulation_is_kept(tmp_path: Path) -> None:
    """Also what a killed daemon left in the log. Nothing is deleted: who wants the room deletes it."""
    assert put_journal_aside(tmp_path) is None
    for number in range(1, 9):
        with Journal(tmp_path / "journal.db", create=True) as journal:
            journal.append([NewEvent("2026-01-31T23:59:59.123456Z", "table.opened", (), {"who": str(number)})])
            shutil.copy(journal.path, tmp_path / "killed.db")
            shutil.copy(f"{journal.path}-wal", tmp_path / "killed.db-wal")
        (tmp_path / "killed.db").rename(tmp_path / "journal.db")
        (tmp_path / "killed.db-wal").rename(tmp_path / "journal.db-wal")
        assert put_journal_aside(tmp_path) == tmp_path / f"journal-{number}.db"
    for number in range(1, 9):
        with JournalReader(tmp_path / f"journal-{number}.db") as reader:
            assert [event.data["who"] for event in reader.events()] == [str(number)]
    assert not (tmp_path / "journal.db").exists()


def test_the_journal_of_a_running_simulation_is_not_put_aside(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db", create=True), pytest.raises(JournalBusy, match="already writing it"):
        put_journal_aside(tmp_path)
    assert (tmp_path / "journal.db").exists()


def test_make_run_says_where_the_last_journal_is(tmp_path: Path) -> None:
    assert "--announce" in (Path(__file__).parents[2] / "Makefile").read_text().split("\nrun:")[1].split("\n\n")[0]
    with Journal(tmp_path / "run.db", create=True):
        pass
    (tmp_path / "run").mkdir()
    (tmp_path / "run.db").rename(tmp_path / "run/journal.db")
    words = [SHOED, "--simulate", "--announce", "--folder", "run", "--listen", "nowhere"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert "The journal of the last run is now run/journal-1.db" in done.stdout


def test_a_second_daemon_in_the_same_place_is_refused(tmp_path: Path) -> None:
    with simulated(tmp_path, "--paused") as (served, listen):
        code, text = refused(tmp_path, "--simulate", "--folder", "run", "--listen", listen)
        assert code == 1
        assert "is already writing it; stop that process first" in text
        assert served.get("/healthz") == {"status": "ok"}  # the first is unaffected


def test_devices_are_picked_up_when_they_come(tmp_path: Path) -> None:
    served = Served(tmp_path, "--config", config_file(tmp_path))
    try:
        served.until("ready")
        assert "not found" in served.until("device not reached")["reason"]
        assert {device["state"] for device in served.table()["devices"]} == {"unknown"}
        plugged = Plugged(tmp_path, speed=20.0)
        try:
            served.wait(lambda table: all(device["state"] == "ready" for device in table["devices"]))
            assert served.end() == 0
        finally:
            plugged.close()
    finally:
        served.close()


def test_a_wrong_device_at_a_port_is_named(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path, speed=20.0)
    served = Served(tmp_path, "--config", config_file(tmp_path, shuffler=plugged.shoe, shoe=str(tmp_path / "none")))
    try:
        assert "expected a shuffler, found a shoe" in served.until("device not reached", device="shuffler")["reason"]
        devices = {device["name"]: device for device in served.get("/api/v1/devices")["devices"]}
        assert "expected a shuffler, found a shoe" in devices["shuffler"]["trouble"]
    finally:
        served.close()
        plugged.close()


def test_a_journal_that_is_gone_is_not_replaced_in_silence(tmp_path: Path) -> None:
    file = config_file(tmp_path)
    served = Served(tmp_path, "--config", file)
    served.until("ready")
    assert served.end() == 0
    served.close()
    (tmp_path / "run/journal.db").unlink()
    served = Served(tmp_path, "--config", file)
    try:
        assert "there is no journal here" in served.until("table stopped")["reason"]
        assert served.ask("GET", "/healthz").status == 503
        assert served.do("open_table").status == 503
        assert served.table()["step"]["text"] == "The table has stopped."
        assert served.end() == 0
    finally:
        served.close()
    served = Served(tmp_path, "--config", file, "--new-journal")
    served.until("ready")
    served.close()


def test_another_journal_is_refused_until_a_person_says_that_it_is_right(tmp_path: Path) -> None:
    """Another table's journal, or a copy from another machine, by mistake in this one's place."""
    file, journal = config_file(tmp_path), tmp_path / "run/journal.db"
    ids = []
    for _ in range(2):
        served = Served(tmp_path, "--config", file)
        served.until("ready")
        assert served.end() == 0
        served.close()
        with JournalReader(journal) as reader:
            ids.append(reader.id)
        journal.rename(tmp_path / "other.db")
        (tmp_path / "run/journal.db.lock").rename(tmp_path / "other.lock")
    (tmp_path / "other.db").rename(journal)  # the second one, in the place of the first
    (tmp_path / "run/journal.db.lock").write_text(f"{os.getpid():<10}\n{ids[0]}\n")
    before = journal.read_bytes()
    served = Served(tmp_path, "--config", file)
    try:
        reason = served.until("table stopped")["reason"]
        assert f"this is journal {ids[1]}, and the table's own is {ids[0]}, which was last used here" in reason
        assert "start `shoed --new-journal` once" in reason
        assert served.ask("GET", "/healthz").status == 503
        assert served.end() == 0
    finally:
        served.close()
    assert journal.read_bytes() == before
    for words, replaced in ((("--new-journal",), ids[0]), ((), None)):
        served = Served(tmp_path, "--config", file, *words)
        served.until("ready")
        assert served.end() == 0
        served.close()
        with JournalReader(journal) as reader:
            (started,) = reader.last(1, kinds=("host.started",))
            assert started.data.get("replaces") == replaced


def test_the_configuration_can_name_the_only_journal(tmp_path: Path) -> None:
    """Also if nothing is left of the folder where it was: a disk that is not mounted does not justify a new journal."""
    pinned = '[journal]\nid = "0123456789abcdef"\n'
    file = config_file(tmp_path)
    (tmp_path / file).write_text((tmp_path / file).read_text().replace("[journal]\n", pinned))
    served = Served(tmp_path, "--config", file)
    try:
        assert "there is no journal here" in served.until("table stopped")["reason"]
        assert list((tmp_path / "run").glob("journal*")) == []
        assert served.end() == 0
    finally:
        served.close()
    with Journal(tmp_path / "run/journal.db", create=True):
        pass
    served = Served(tmp_path, "--config", file)
    try:
        reason = served.until("table stopped")["reason"]
        assert "this journal is empty, and the table's own is 0123456789abcdef, according to journal.id" in reason
        assert served.end() == 0
    finally:
        served.close()


def test_a_wrong_path_of_the_socket_costs_nobody_a_file(tmp_path: Path) -> None:
    file = config_file(tmp_path)
    text = (tmp_path / file).read_text()
    (tmp_path / "night.jsonl").write_text("events")
    (tmp_path / file).write_text(text.replace("run/control.sock", "night.jsonl"))
    code, error = refused(tmp_path, "--config", file)
    assert (code, "night.jsonl: this file exists and is not a socket; move it" in error) == (1, True)
    assert (tmp_path / "night.jsonl").read_text() == "events"
    (tmp_path / file).write_text(text.replace("run/control.sock", "run/journal.db"))
    assert "control.socket" in refused(tmp_path, "--config", file)[1]


def test_an_event_that_is_impossible_stops_the_table_with_its_number(tmp_path: Path) -> None:
    """The chain is right, so whoever wrote it knew how; the table still cannot be where it says."""
    file = config_file(tmp_path)
    served = Served(tmp_path, "--config", file)
    served.until("ready")
    assert served.end() == 0
    served.close()
    with Journal(tmp_path / "run/journal.db") as journal:
        data = {"round": 1, "deck": "red-1", "at_ms": 1}
        last = journal.append([NewEvent("2026-03-14T15:09:26.000000Z", "round.completed", (), data)])
    served = Served(tmp_path, "--config", file)
    try:
        reason = served.until("table stopped")["reason"]
        assert reason.startswith(f"event {last}: round.completed is impossible after the events before it (")
        assert served.ask("GET", "/healthz").status == 503
        assert served.end() == 0
        assert "Traceback" not in served.log
    finally:
        served.close()


def test_a_table_set_up_anew_only_when_it_is_closed(tmp_path: Path) -> None:
    for more, seats in (("[table]\nseats = 6\n", 6), ("[table]\nseats = 4\n", 4)):
        served = Served(tmp_path, "--config", config_file(tmp_path, more=more))
        served.until("ready")
        assert served.table()["seats"] == seats
        served.end()
        served.close()


@pytest.mark.parametrize("words", [["--simulate", "--config", "table.toml"], ["--levitate"]])
def test_wrong_usage(tmp_path: Path, words: list[str]) -> None:
    code, error = refused(tmp_path, *words)
    assert code == 2
    assert error.splitlines()[-1].startswith("Error: ")
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize(
    ("text", "about"), [("[shoe\n", "not valid TOML"), ('[table]\nseats = 9\n[shoe]\nport = "/dev/x"', "2.A")]
)
def test_mistakes_in_the_file_end_the_process_without_a_traceback(tmp_path: Path, text: str, about: str) -> None:
    (tmp_path / "table.toml").write_text(text)
    code, error = refused(tmp_path, "--config", "table.toml")
    assert code == 1
    assert error.startswith("Error: table.toml: ")
    assert about in error


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path, "--config", "shoe.toml") == (1, "Error: shoe.toml: No such file or directory\n")
    assert refused(tmp_path, "--config", ".") == (1, "Error: .: Is a directory\n")


def test_an_error_of_ours_stops_the_table_and_it_starts_again_from_the_disk(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    """The state in memory may be inconsistent afterwards; the journal is not."""
    mocker.patch("controller.daemon.daemon.RETRY_S", 0.01)

    async def run() -> None:
        daemon = Daemon(parse_config((tmp_path / config_file(tmp_path)).read_text(), "table.toml"))
        await daemon.start()
        before = encode(daemon.state)
        mocker.patch.object(daemon.live.table, "handle", side_effect=ZeroDivisionError)  # type: ignore[union-attr]
        with pytest.raises(TableStopped, match=r"internal error \(ZeroDivisionError in \S+\.py, line \d+\)"):
            daemon.take(OpenTable(who="dana", role=Role.DEALER))
        again = asyncio.Event()
        daemon.listen(lambda ts, events: again.set() if events else None)
        await again.wait()
        with JournalReader(tmp_path / "run/journal.db") as reader:
            assert [event.kind for event in reader.events()].count("host.started") == 2
        assert daemon.take(OpenTable(who="dana", role=Role.DEALER))[0].kind == "table.opened"
        assert encode(daemon.state) != before
        await daemon.close()

    asyncio.run(run())


def test_a_table_whose_game_is_no_longer_installed_stops(tmp_path: Path, mocker: MockerFixture) -> None:
    """It would be played by the rules of another game."""
    name = "dragon-baccarat-tournament"

    async def opened() -> None:
        text = (tmp_path / config_file(tmp_path, more=f'[table]\ngame = "{name}"\n')).read_text()
        daemon = Daemon(parse_config(text, "table.toml"))
        await daemon.start()
        assert daemon.take(OpenTable(who="dana", role=Role.DEALER))[0].kind == "table.opened"
        await daemon.close()

    async def stopped() -> str:
        daemon = Daemon(parse_config((tmp_path / config_file(tmp_path)).read_text(), "table.toml"))
        halted = asyncio.Event()
        daemon.listen(lambda ts, events: halted.set())
        starting = asyncio.create_task(daemon.start())
        await halted.wait()
        why = daemon.stopped
        starting.cancel()
        await daemon.close()
        return why

    asyncio.run(opened())
    mocker.patch.dict("controller.games._DESCRIPTIONS").pop(GAMES[name].game.name)
    assert "Dragon Baccarat Tournament is being played, which is not installed" in asyncio.run(stopped())
