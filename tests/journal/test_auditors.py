"""An auditor, who shares only a group with the daemon, reads its journal: while it runs, after a kill, after exit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.cli.shoectl import cli
from controller.journal import JournalForbidden, JournalReader
from tests.support.other_user import NOBODY, as_nobody

if os.geteuid() != 0:
    pytest.skip("only root can be somebody else", allow_module_level=True)

DAEMON = 65533  # its user; like the unit, it has the auditors' group and the mask 0027
WRITER = """
import os, sys
from controller.journal import Journal, NewEvent
os.umask(0o027)
with Journal(sys.argv[1], create=True) as journal:
    for line in sys.stdin:
        journal.append([NewEvent("2026-01-31T23:59:59.123456Z", "table.opened", (), {"who": "dana"})])
        journal.mark_verified(journal.head)
        print(journal.head.seq, flush=True)
"""


@pytest.fixture
def folder(shared_path: Path) -> Iterator[Path]:
    """A folder as the unit makes it."""
    found = shared_path / "shoed"
    found.mkdir()
    os.chown(found, DAEMON, NOBODY)
    found.chmod(0o750)
    yield found
    found.chmod(0o755)


def started(folder: Path) -> subprocess.Popen[str]:
    """A daemon that has written two events."""
    words = [sys.executable, "-c", WRITER, str(folder / "journal.db")]
    daemon = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=DAEMON, group=NOBODY, extra_groups=[]
    )
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    for _ in range(2):
        daemon.stdin.write("\n")
        daemon.stdin.flush()
        assert daemon.stdout.readline()
    return daemon


def read(folder: Path, out: Path) -> tuple[int, list[int]]:
    """What an auditor reads, verifies, exports and copies; also whether that changed the folder."""

    def work() -> tuple[int, list[int]]:
        os.chdir(out)
        codes = []
        for words in (
            ["verify", str(folder / "journal.db")],
            ["export", "--proof", "--force", "night.jsonl", "--journal", str(folder / "journal.db")],
            ["verify", "night.jsonl"],
            ["copy", "--force", "copy.db", "--journal", str(folder / "journal.db")],
            ["verify", "copy.db"],
        ):
            try:
                cli.main(["journal", *words])
            except SystemExit as end:
                codes.append(int(end.code or 0))
        with JournalReader(folder / "journal.db") as reader:
            return reader.verify().seq, codes

    before = sorted(path.name for path in folder.iterdir())
    found: tuple[int, list[int]] = as_nobody(work)
    assert sorted(path.name for path in folder.iterdir()) == before
    return found


def test_an_auditor_reads_verifies_exports_and_copies(folder: Path, shared_path: Path) -> None:
    out = shared_path / "home"
    out.mkdir()
    os.chown(out, NOBODY, NOBODY)
    with started(folder) as daemon:
        modes = {path.name: (path.stat().st_gid, path.stat().st_mode & 0o777) for path in folder.iterdir()}
        names = ("journal.db", "journal.db-shm", "journal.db-wal", "journal.db.lock")
        assert modes == dict.fromkeys(names, (NOBODY, 0o640))
        assert read(folder, out) == (2, [0] * 5)  # while the daemon runs
        daemon.send_signal(signal.SIGKILL)
    assert (folder / "journal.db-wal").exists()
    assert read(folder, out) == (2, [0] * 5)  # from what a killed daemon left behind
    with started(folder) as daemon:
        assert daemon.stdin is not None
        daemon.stdin.close()
        assert daemon.wait() == 0
    assert not (folder / "journal.db-wal").exists()
    assert read(folder, out) == (4, [0] * 5)  # after it ended properly

    def write() -> None:
        (folder / "journal.db").open("r+b")

    with pytest.raises(PermissionError):
        as_nobody(write)


def test_somebody_outside_the_group_reads_nothing(folder: Path) -> None:
    with started(folder) as daemon:
        os.chown(folder, DAEMON, DAEMON)
        with pytest.raises(JournalForbidden, match="may not read it"):
            as_nobody(lambda: JournalReader(folder / "journal.db"))
        assert daemon.stdin is not None
        daemon.stdin.close()
