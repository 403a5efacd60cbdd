"""A daemon whose disk fails in the middle of a round: it stops, says why, and continues from what is on the disk."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.core.apply import apply
from controller.core.events import read
from controller.core.machines import TableState
from controller.core.setup import Setup
from controller.core.state import State
from controller.journal import JournalReader
from simulators.devices.device import SimulatedTable
from simulators.devices.firmware import Firmware
from simulators.table.house import deck_names
from tests.crash.outside import Outside
from tests.daemon.test_shoed import config_file
from tests.support.plugged import Plugged
from tests.support.served import LIMIT_S, Served

# The real daemon, which retries sooner than in operation.
IMPATIENT = (
    "from controller.cli import shoed; from controller.daemon import daemon, verification; "
    "from controller.journal import reader; reader.LOCK_TIMEOUT_S = 0.5; daemon.RETRY_S = 0.2; "
    "verification.NEW_S = {}; verification.PIECE_S = {}; shoed.main()"
)


class Disk:
    """A separate file system that can be full, broken or detached. Needs root."""

    def __init__(self, folder: Path, image: Path) -> None:
        self.folder = folder
        with image.open("wb") as file:
            file.truncate(8 << 20)
        _run("mkfs.ext4", "-q", str(image))
        self._device = _run("losetup", "--find", "--show", str(image)).strip()
        self.attach()

    def attach(self) -> None:
        """Attach it, checked first, as an administrator would."""
        subprocess.run(["e2fsck", "-fy", self._device], capture_output=True, check=False)
        _run("mount", "-o", "errors=remount-ro", self._device, str(self.folder))

    def detach(self) -> None:
        """Detach it while the daemon has no file open on it."""
        end = time.monotonic() + LIMIT_S
        while subprocess.run(["umount", str(self.folder)], capture_output=True, check=False).returncode:
            assert time.monotonic() < end, "somebody holds a file on the disk"

    def fail(self) -> None:
        """Let the file system find an error, which makes it read-only."""
        Path(f"/sys/fs/ext4/{Path(self._device).name}/trigger_fs_error").write_text("for a test")

    def fill(self) -> None:
        """Use up all space."""
        with contextlib.suppress(OSError), (self.folder / "film").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def make_room(self) -> None:
        """Free the space again."""
        (self.folder / "film").unlink()

    def close(self) -> None:
        """Release everything, whatever has happened."""
        subprocess.run(["umount", str(self.folder)], capture_output=True, check=False)
        _run("losetup", "-d", self._device)


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout


def _disks_can_be_made() -> bool:
    tools = all(shutil.which(tool) for tool in ("mkfs.ext4", "losetup", "e2fsck", "mount"))
    return os.geteuid() == 0 and tools and Path("/dev/loop-control").exists() and Path("/sys/fs/ext4").exists()


needs_disk = pytest.mark.skipif(not _disks_can_be_made(), reason="needs root and a loop device")


class Table:
    """A daemon with real ptys, people who play, and the state of the devices."""

    def __init__(self, folder: Path, *, verify_s: float = 600.0, piece_s: float = 600.0) -> None:
        self.folder = folder
        self.journal = folder / "disk/journal.db"
        self.journal.parent.mkdir(exist_ok=True)
        self.plugged = Plugged(folder, speed=100.0, decks=deck_names(Setup(), 4))
        self._command = (sys.executable, "-c", IMPATIENT.format(verify_s, piece_s))
        self.begin()
        self.outside = Outside(folder, self.plugged)
        self.outside._journal = self.journal
        self.stored = State()  # what was on the disk when it stopped, and the commands in it
        self.commands: set[int] = set()
        self.reported = 0  # the last event that anyone has seen

    def begin(self) -> None:
        """Start the daemon."""
        file = self.folder / config_file(self.folder)
        file.write_text(file.read_text().replace(f"{self.folder}/run/journal.db", str(self.journal)))
        self.served = Served(self.folder, "--config", file.name, command=self._command)

    def play(self, *, until_midst: bool = False) -> None:
        """Play to the end of a round, or until the second stack of a round is taken."""
        wanted = self.outside.state.rounds + 1
        limit = time.monotonic() + 2 * LIMIT_S
        while True:
            state = self.outside.state
            if until_midst and state.round and state.table is TableState.DEALING and state.round.number == wanted:
                if sum(deck.cards.get(f"seat{seat}", 0) for deck in state.decks.values() for seat in range(7)) >= 6:
                    return
            elif not until_midst and state.rounds >= wanted and state.table is TableState.BETTING and not state.round:
                return
            self.outside.work()
            assert time.monotonic() < limit, (state.table, state.warnings, state.devices)

    def rest(self) -> None:
        """Wait until a stack is at the shoe's exit and everything is reported, so that no write is under way.

        If ext4 (Linux 6.18) finds an error during a flush, it may report data as written that is lost later: seen with
        bare fdatasync too, 12 times in 90. Then the shoe has dropped an event that the journal lacks; the event numbers
        show it, the shoe is refused, and the round is void (13.G).
        """
        limit = time.monotonic() + LIMIT_S
        while (shoe := self.outside.state.devices["shoe"]).doing is not None or shoe.at_exit is None:
            assert time.monotonic() < limit, shoe
            time.sleep(0.01)

    def stops(self, why: str) -> None:
        """People continue, but the table has stopped and reports why everywhere."""
        limit = time.monotonic() + LIMIT_S
        while (health := self.served.ask("GET", "/healthz")).status == 200 or why not in health.json["why"]:
            self._hands()
            assert time.monotonic() < limit, health.body
        assert health.status == 503
        picture = self.served.table()
        assert picture["stopped"] == picture["step"]["why"]
        assert why in picture["stopped"]
        assert picture["journal"]["ok"] is False
        assert "shoed_up 0" in self.served.ask("GET", "/metrics").body.decode()
        answer = self.served.do("collect_all")
        assert (answer.status, answer.code) == (503, "journal_stopped")
        assert why in answer.json["error"]["message"]
        self.served.until("table stopped", reason=why)

    def _hands(self) -> None:
        """Take what is at an exit: the devices have something to report."""
        self.plugged.do(lambda table, now: self.outside.robot.hands.take("shoe"))

    def wrote_all_that_happened(self, repair: Callable[[Path], None] = lambda journal: None) -> None:
        """Every command sent and every event confirmed as stored is on the disk; nothing more is sent."""
        self.stored = State()
        self.commands = set()
        copy = self.folder / "copy.db"
        for suffix in ("", "-wal"):  # a copy: reading a journal that needs recovery takes a disk that works
            if Path(f"{self.kept}{suffix}").exists():
                _run("cp", f"{self.kept}{suffix}", f"{copy}{suffix}")  # closing it in this process would drop its locks
        repair(copy)
        with JournalReader(copy) as reader:
            for event in reader.events():
                apply(self.stored, read(event.seq, event.kind, event.clause, event.data))
                if event.kind == "command.given":
                    self.commands.add(event.seq)
        before = self.plugged.do(self._compare)
        for _ in range(10):
            self._hands()
            assert self.served.do("collect_all").status == 503
        assert self.plugged.do(self._compare) == before

    @property
    def kept(self) -> Path:
        """Where the journal's files are."""
        return self.journal if self.journal.exists() else self.folder / "moved/journal.db"

    def _compare(self, table: SimulatedTable, now: float) -> list[tuple[int, int]]:
        seen = []
        for name in ("shuffler", "shoe"):
            firmware = getattr(table, name).firmware
            assert isinstance(firmware, Firmware)
            assert set(firmware._answers) <= self.commands, name
            forgotten = (firmware._events[0][0] if firmware._events else firmware._next_event) - 1
            assert forgotten <= self.stored.devices[name].last_event, name
            seen.append((firmware.effects, firmware._last_command))
        return seen

    def continues(self) -> None:
        """The table restarts by itself, and nothing is lost."""
        limit = time.monotonic() + LIMIT_S
        while self.served.ask("GET", "/healthz").status != 200:
            assert time.monotonic() < limit, self.served.log[-2000:]
            time.sleep(0.02)
        self.play()
        self.play()
        self.outside.check_truth()
        self.outside.verify()
        # It starts with what was on the disk: every event that was reported, and nothing that was not written. A
        # write that failed may be there or not.
        begun = [event.seq for event in self.outside.events if event.kind == "host.started"][-1]
        assert self.reported < begun <= self.stored.seq + 1
        self.commands = {event.seq for event in self.outside.events if event.kind == "command.given"}
        self.stored = self.outside.state
        self.plugged.do(self._compare)

    def close(self) -> None:
        """Release everything, whatever has happened."""
        self.served.close()
        self.plugged.close()


@contextlib.contextmanager
def table(folder: Path, *, verify_s: float = 600.0, piece_s: float = 600.0) -> Iterator[Table]:
    """A table that has played a round and is in the middle of the next."""
    found = Table(folder, verify_s=verify_s, piece_s=piece_s)
    try:
        found.served.until("ready")
        found.play()
        found.play(until_midst=True)
        found.rest()
        found.reported = found.served.table()["seq"]
        yield found
    finally:
        print(found.served.log)
        found.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk for the journal."""
    (tmp_path / "disk").mkdir()
    found = Disk(tmp_path / "disk", tmp_path / "image")
    try:
        yield found
    finally:
        found.close()


@needs_disk
def test_a_full_disk(tmp_path: Path, disk: Disk) -> None:
    with table(tmp_path) as at:
        disk.fill()
        at.stops("the disk is full; free some space")
        at.wrote_all_that_happened()
        disk.make_room()
        at.continues()
        at.served.end()


@needs_disk
def test_a_disk_that_becomes_read_only_and_is_away_for_a_while(tmp_path: Path, disk: Disk) -> None:
    with table(tmp_path) as at:
        disk.fail()
        at.stops("how the disk is mounted (Read-only file system)")
        at.wrote_all_that_happened()
        disk.detach()  # leaves an empty folder, in which no new journal must be created
        at.stops("there is no journal here")
        assert list((tmp_path / "disk").iterdir()) == []
        disk.attach()
        at.continues()
        at.served.end()


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    with table(tmp_path) as at:
        pid, hard = at.served.process.pid, resource.prlimit(at.served.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, hard))
        at.stops(f"{at.journal}: ")
        at.wrote_all_that_happened()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        at.continues()


def test_a_folder_that_is_taken_away_and_brought_back(tmp_path: Path) -> None:
    with table(tmp_path) as at:
        at.journal.parent.rename(tmp_path / "moved")
        at.stops("its folder does not exist")
        at.wrote_all_that_happened()
        at.journal.parent.mkdir()
        at.stops("there is no journal here")
        assert list(at.journal.parent.iterdir()) == []  # no new journal was created
        at.journal.parent.rmdir()
        (tmp_path / "moved").rename(at.journal.parent)
        at.continues()


def test_another_program_that_holds_the_journal(tmp_path: Path) -> None:
    with table(tmp_path) as at:
        with contextlib.closing(sqlite3.connect(at.journal, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            at.stops("another program has locked it")
            at.wrote_all_that_happened()
        at.continues()


def write_data(journal: Path, seq: int, data: bytes) -> None:
    """Change the data of an event, as somebody who drops the triggers and restores them."""
    with contextlib.closing(sqlite3.connect(journal, isolation_level=None)) as hand:
        hand.execute("BEGIN IMMEDIATE")
        guard = hand.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in guard:
            hand.execute(f"DROP TRIGGER {name}")
        hand.execute("UPDATE events SET data = ? WHERE seq = ?", (data, seq))
        for _, sql in guard:
            hand.execute(sql)
        hand.execute("COMMIT")


@pytest.mark.parametrize("old", [False, True], ids=["new", "verified before"])
def test_a_damaged_row_is_found_while_the_table_runs_and_at_the_next_start(tmp_path: Path, old: bool) -> None:
    with table(tmp_path, **({"piece_s": 0.3} if old else {"verify_s": 0.3})) as at:
        if not old:
            at.served.wait(lambda view: view["journal"]["verified_to"] > 20)
        else:  # a start marks everything as verified
            at.served.end()
            at.served.close()
            at.begin()
            at.served.until("ready")
            at.served.wait(lambda view: view["journal"]["verified_to"] > 20)
        order = "ASC" if old else "DESC"
        with contextlib.closing(sqlite3.connect(at.journal, isolation_level=None)) as hand:
            (row,) = hand.execute(f"SELECT seq, data FROM events ORDER BY seq {order} LIMIT 1").fetchall()
        write_data(at.journal, row[0], b'{"who": "a forger"}')
        at.stops(f"event {row[0]}: ")
        at.served.end()  # a start from it stops at the same event
        at.served.close()
        at.begin()
        at.served.until("table stopped")
        at.stops(f"event {row[0]}: ")
        at.wrote_all_that_happened(lambda journal: write_data(journal, *row))
        write_data(at.journal, *row)
        at.continues()
