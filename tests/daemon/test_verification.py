"""The journal is verified while the table runs, in virtual time: new events soon, old ones within a day."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from controller.daemon.verification import NEW_S, PASS_S, PIECE_S, Verification
from controller.journal import START, Checkpoint, Journal
from tests.journal.test_store import by_hand, filled, new

DAY_S = 86_400.0


class DayOver(Exception):
    """The virtual day has ended."""


class VirtualTime:
    """Sleeps at once, and counts the seconds of one day."""

    def __init__(self) -> None:
        self.now_s = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        if self.now_s > DAY_S:
            raise DayOver


def rechecked(journal: Journal, verified: Checkpoint) -> tuple[float, list[str]]:
    """When re-verification reported something within a day, and what."""
    time, failures = VirtualTime(), list[str]()
    verification = Verification(journal, verified, failures.append)
    try:
        asyncio.run(verification.keep_rechecking(time.sleep))
    except DayOver:
        assert failures == []
    return time.now_s, failures


@pytest.mark.parametrize("seq", [1, 30, 59])
def test_a_row_changed_before_the_mark_is_found_within_a_day(
    tmp_path: Path, seq: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.journal.recheck.LEAST", 1)
    monkeypatch.setattr("controller.daemon.verification.PIECE_S", 600.0)
    path = tmp_path / "journal.db"
    events = filled(path, 60)
    mark = Checkpoint(60, events[-1].hash)
    with Journal(path) as journal:
        journal.mark_verified(mark)
        assert rechecked(journal, mark)[0] > DAY_S  # nothing is reported
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET kind = 'round.voided' WHERE seq = ?", (seq,))
    with Journal(path) as journal:
        assert journal.verify(journal.verified()) == mark  # a start does not look before the mark
        at_s, failures = rechecked(journal, mark)
        assert failures == [f"event {seq}: its content does not match its hash"]
        assert at_s <= DAY_S / 2
        assert journal.verified() == START  # so the next start verifies everything, and stops


def test_a_pass_takes_less_than_a_day_however_long_the_journal_is() -> None:
    assert PASS_S + PIECE_S < DAY_S / 2


def test_new_events_are_verified_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path, 3)
    with Journal(path) as journal:
        time, failures = VirtualTime(), list[str]()
        verification = Verification(journal, START, failures.append)

        async def sleep(seconds: float) -> None:
            assert seconds == NEW_S
            journal.append([new(4)])
            await time.sleep(DAY_S / 3 + 1)

        with pytest.raises(DayOver):
            asyncio.run(verification.keep_verifying(sleep))
        assert failures == []
        assert verification.verified == journal.verified()
        assert verification.verified.seq == 5
        verification.verify_new()
        assert journal.verified() == journal.head


def test_a_damaged_new_event_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path, 3)
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET data = '{}' WHERE seq = 2")
    with Journal(path) as journal:
        failures: list[str] = []
        asyncio.run(Verification(journal, START, failures.append).keep_verifying(VirtualTime().sleep))
        assert failures == ["event 2: its content does not match its hash"]
        assert journal.verified() == START
