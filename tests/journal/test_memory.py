"""The journal in memory: the same chain as on the disk, in which every change is found."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.actions import CloseBets, Configure, Role
from controller.core.setup import Setup
from controller.core.state import encode
from controller.daemon.live_table import LiveTable, restore
from controller.journal import (
    START,
    BadEvent,
    Checkpoint,
    Journal,
    JournalDamaged,
    JournalStopped,
    MemoryJournal,
    NewEvent,
)
from tests.support.snapshots import save_state

TS = "2026-01-31T23:59:59.123456Z"


def new(number: int) -> NewEvent:
    return NewEvent(TS, "stack.taken" if number % 2 else "round.started", ("13.G",), {"round": number, "note": "♠"})


def filled(count: int, keep: int | None = None) -> MemoryJournal:
    journal = MemoryJournal(keep)
    for number in range(count):
        journal.append([new(number)])
        if number % 50 == 49:
            journal.save_snapshot(number + 1, b"", "1")
    return journal


def change(journal: MemoryJournal, seq: int) -> None:
    """Change the round number in an event."""
    at = seq - journal.begin.seq - 1
    row = journal._rows[at]
    journal._rows[at] = row._replace(data=row.data.replace('"round":', '"round":1'))


def test_it_is_chained_as_on_the_disk(tmp_path: Path) -> None:
    memory = MemoryJournal()
    with Journal(tmp_path / "journal.db", create=True) as disk:
        for group in ([new(1)], [new(2), new(3), new(4)], []):
            assert memory.append(group) == disk.append(group) == disk.head.seq
            assert memory.head == disk.head
        assert list(memory.events()) == list(disk.events())
        assert memory.verify() == disk.verify() == memory.head


@given(
    st.integers(0, 9), st.none() | st.integers(0, 9), st.sampled_from([(), ("stack.taken",)]),
    st.none() | st.integers(0, 4),
)  # fmt: skip
def test_it_is_read_by_number_kind_and_limit(
    after: int, upto: int | None, kinds: tuple[str, ...], limit: int | None
) -> None:
    found = filled(7).events(after, upto, kinds, limit)
    wanted = [n + 1 for n in range(7) if after < n + 1 <= (upto if upto is not None else 9) and (not kinds or n % 2)]
    assert [event.seq for event in found] == wanted[:limit]


def test_the_newest_events() -> None:
    journal = filled(7)
    assert [event.seq for event in journal.last(3)] == [5, 6, 7]
    assert [event.seq for event in journal.last(2, ["stack.taken"])] == [4, 6]
    assert MemoryJournal().last(1) == []
    assert journal.event(8) is None


def test_all_or_none() -> None:
    journal = filled(2)
    with pytest.raises(BadEvent):
        journal.append([new(3), NewEvent(TS, "round.started", (), {"share": 0.5})])
    assert journal.head.seq == 2
    assert journal.append([new(3)]) == 3


@pytest.mark.parametrize("seq", [1, 5, 9])
def test_a_change_is_found(seq: int) -> None:
    journal = filled(9)
    change(journal, seq)
    with pytest.raises(JournalDamaged) as caught:
        journal.verify()
    assert caught.value.seq == seq


def test_an_event_taken_out_is_found() -> None:
    journal = filled(9)
    del journal._rows[4]
    with pytest.raises(JournalDamaged, match="5"):
        journal.verify()


def test_verified_before() -> None:
    journal = filled(9)
    assert journal.verified() == START
    journal.mark_verified(journal.verify())
    journal.append([new(10)])
    seen: list[int] = []
    assert journal.verify(journal.verified(), lambda event: seen.append(event.seq)) == journal.head
    assert seen == [10]
    with pytest.raises(JournalDamaged):
        journal.mark_verified(Checkpoint(3, "0" * 64))
    with pytest.raises(JournalDamaged):
        journal.verify(Checkpoint(3, "0" * 64))


def test_old_events_are_let_go_and_the_chain_goes_on() -> None:
    journal, whole = filled(520, keep=200), filled(520)
    assert journal.head == whole.head
    assert journal.begin.seq == 300  # the last snapshot was at 500
    assert journal.event(300) is None
    assert [event.seq for event in journal.events()] == list(range(301, 521))
    assert journal.verify() == journal.verify(journal.begin) == whole.head
    first = next(whole.events())
    with pytest.raises(JournalDamaged, match="discarded"):
        journal.verify(Checkpoint(first.seq, first.hash))


def test_what_a_snapshot_needs_is_not_let_go() -> None:
    assert filled(149, keep=0).begin.seq == 49  # the snapshots at 50 and 100 need what follows


def test_a_new_program_finds_the_events() -> None:
    journal = filled(3)
    with journal:
        pass
    with pytest.raises(JournalStopped):
        journal.append([new(4)])
    assert journal.reopen().append([new(4)]) == 4
    assert MemoryJournal().reopen().head == START
    change(journal, 4)
    with pytest.raises(JournalDamaged):
        journal.reopen()


def test_snapshots() -> None:
    journal = filled(9)
    for seq in (2, 4, 6, 8):
        save_state(journal, seq, b"state %d" % seq, "2" if seq == 8 else "1")
    ignored: list[str] = []
    found = journal.latest_snapshot("1", ignored.append)
    assert found is not None
    assert (found.seq, found.state) == (6, b"state 6")
    assert len(ignored) == 1
    newest = journal.latest_snapshot()
    assert newest is not None
    assert newest.seq == 8
    with pytest.raises(ValueError, match="no event 14"):
        journal.save_snapshot(14, b"", "1")


def test_a_table_lives_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.daemon.live_table.SNAPSHOT_EVERY", 2)
    journal = MemoryJournal(keep=10)
    never = Mock(side_effect=AssertionError)  # no device is connected
    live = LiveTable(journal, never, never, never, never)
    live.take(Configure(setup=Setup(), who="tess", role=Role.TECHNICIAN), 0.0, TS)
    for _ in range(50):
        live.take(CloseBets(seats=(1,), who="dana", role=Role.DEALER), 1.0, TS)
    assert journal.begin.seq > 0
    assert encode(restore(journal)) == encode(live.state)
