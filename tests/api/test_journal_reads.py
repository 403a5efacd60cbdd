"""Searches in the journal: few at a time, none for long, and never delaying a sign-in or a reconnection."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controller.api import journal_reads, pins
from controller.api.clients import BYSTANDERS, ApiClient
from controller.api.journal_reads import MAX_READS, MAX_READS_EACH, JournalReads
from controller.api.pins import Pins
from controller.api.requests import ApiError, error_response
from controller.core.actions import Role
from controller.core.state import State
from controller.daemon.daemon import Daemon
from controller.daemon.people import PeopleFile, Person
from controller.journal import Journal, JournalReader, NewEvent
from controller.journal.search_index import index_path
from firmware_bridge.ports.transport import open_in_thread

LIMIT_S = 20.0  # generous: only a hang runs into it
FLO = Person("Flo", [Role.FLOOR], "hash")
USERS = [ApiClient("user", str(number)) for number in range(9)]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Path]:
    with Journal(tmp_path / "journal.db", create=True) as found:
        yield found.path


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, LIMIT_S))


def test_a_client_has_few_searches_at_a_time_and_all_together_have_some(journal: Path) -> None:
    async def ask() -> None:
        reads, go = JournalReads(journal), threading.Event()

        def wait(reader: JournalReader) -> bool:
            return go.wait(3 * LIMIT_S)

        first = [asyncio.create_task(reads.search(USERS[0], wait)) for _ in range(MAX_READS_EACH)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await reads.search(USERS[0], wait)
        assert (refused.value.status, refused.value.body["error"]["code"]) == (503, "busy")
        assert error_response(refused.value).headers["Retry-After"] == "2"
        others = [
            asyncio.create_task(reads.search(USERS[1 + number // MAX_READS_EACH], wait))
            for number in range(MAX_READS - MAX_READS_EACH)
        ]
        await asyncio.sleep(0)
        with pytest.raises(ApiError):
            await reads.search(USERS[8], wait)
        go.set()
        await asyncio.gather(*first, *others)
        assert await reads.search(USERS[0], lambda reader: 7) == 7
        reads.close()

    run(ask())


def test_a_search_uses_the_index(tmp_path: Path) -> None:
    """What is missing from the index is not found, so it is the index that was searched."""
    journal = tmp_path / "journal.db"
    started = {"round": 1, "deck": "red-1", "seats": [1], "at_ms": 1}
    with Journal(journal, create=True) as found:
        found.append([NewEvent("2026-03-14T15:09:26.000000Z", "round.started", (), started)] * 2)

    async def ask() -> list[int]:
        reads = JournalReads(journal)
        numbers = []
        for _ in range(2):
            numbers.append(len(await reads.search(USERS[0], lambda reader: reader.search(kind="round.started"))))
            with contextlib.closing(sqlite3.connect(index_path(journal))) as index, index:
                index.execute("DELETE FROM fields WHERE seq = 1")
        reads.close()
        return numbers

    assert run(ask()) == [2, 1]


def test_a_search_that_takes_too_long_is_ended_and_says_so(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_reads, "READ_S", 0.0)
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    async def ask() -> None:
        reads = JournalReads(journal)
        with pytest.raises(ApiError) as ended:
            await reads.search(USERS[0], lambda reader: reader._read(forever))
        reads.close()
        assert (ended.value.status, ended.value.body["error"]["code"]) == (503, "search_too_long")
        assert "search for less" in ended.value.body["error"]["hint"]

    run(ask())


def test_a_search_whose_turn_does_not_come_is_refused(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WAIT_S", "READ_S"):
        monkeypatch.setattr(journal_reads, name, 0.01)

    async def ask() -> None:
        reads, go = JournalReads(journal), threading.Event()
        running = [asyncio.create_task(reads.run(user, lambda: go.wait(3 * LIMIT_S))) for user in USERS[1:3]]
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await reads.search(USERS[0], lambda reader: 7)
        assert refused.value.body["error"]["code"] == "busy"
        go.set()
        await asyncio.gather(*running, return_exceptions=True)
        reads.close()

    run(ask())


def test_what_is_asked_while_the_controller_stops_is_no_internal_error(journal: Path) -> None:
    async def ask() -> None:
        reads = JournalReads(journal)
        reads.close()
        with pytest.raises(ApiError) as refused:
            await reads.search(USERS[0], lambda reader: 7)
        assert (refused.value.status, refused.value.body["error"]["code"]) == (503, "stopping")
        checks = Pins(cast(Daemon, SimpleNamespace()), lambda: PeopleFile([FLO]), lambda: None)
        checks.close()
        with pytest.raises(ApiError, match="the controller is stopping"):
            await checks.check("Flo", "271828", "screen", BYSTANDERS)

    run(ask())


def test_a_client_does_not_wait_for_all_searches_of_another(journal: Path) -> None:
    async def ask() -> int:
        reads, go = JournalReads(journal), threading.Event()
        running = [
            asyncio.create_task(reads.run(USERS[0], lambda: go.wait(3 * LIMIT_S))) for _ in range(MAX_READS_EACH)
        ]
        await asyncio.sleep(0)
        found = await reads.search(USERS[1], lambda reader: 7)
        go.set()
        await asyncio.gather(*running)
        reads.close()
        return found

    assert run(ask()) == 7


def test_what_a_stream_has_missed_does_not_wait_for_searches(journal: Path) -> None:
    async def ask() -> int:
        reads, go = JournalReads(journal), threading.Event()
        running = [
            asyncio.create_task(reads.run(USERS[0], lambda: go.wait(3 * LIMIT_S))) for _ in range(MAX_READS_EACH)
        ]
        await asyncio.sleep(0)
        found = await reads.missed(lambda reader: 7)
        go.set()
        await asyncio.gather(*running)
        reads.close()
        return found

    assert run(ask()) == 7


class OccupiedLoop:
    """The threads that asyncio shares among all who ask are all busy."""

    async def __aenter__(self) -> None:
        self._go = threading.Event()
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        self._busy = loop.run_in_executor(None, self._go.wait, 3 * LIMIT_S)

    async def __aexit__(self, *_: object) -> None:
        self._go.set()
        await self._busy


def test_a_pin_is_checked_while_all_shared_threads_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "check_pin", lambda people, name, pin: (FLO, True))
    daemon: Any = SimpleNamespace(now_ms=0, state=State(), take=lambda report: [])

    async def check() -> Person:
        found = Pins(daemon, lambda: PeopleFile([FLO]), lambda: None)
        async with OccupiedLoop():
            return await found.check("Flo", "271828", "screen", BYSTANDERS)

    assert run(check()) is FLO


def test_a_port_is_opened_while_all_shared_threads_are_busy() -> None:
    async def opened() -> int:
        async with OccupiedLoop():
            return await open_in_thread(lambda: 7, lambda port: None, "shoe")

    assert run(opened()) == 7


# --- wrong PINs of one client ---------------------------------------------------------------------------------------


class GuessingClient:
    """A client that enters wrong PINs, at a table whose time does not pass by itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.daemon = SimpleNamespace(now_ms=0, state=State(), take=lambda report: [])
        self.pins = Pins(cast(Daemon, self.daemon), lambda: PeopleFile([FLO]), lambda: None)
        self.right = False
        monkeypatch.setattr(pins, "check_pin", lambda people, name, pin: (FLO, self.right))

    async def code(self, client: ApiClient = BYSTANDERS) -> str:
        try:
            await self.pins.check("Flo", "1", "local port", client)
        except ApiError as error:
            return str(error.body["error"]["code"])
        return "done"


def test_a_client_that_guesses_has_to_wait_and_others_have_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async def guess() -> None:
        table = GuessingClient(monkeypatch)
        assert [await table.code() for _ in range(pins.BURST)] == ["wrong_pin"] * pins.BURST
        table.right = True
        assert await table.code() == "too_many_pins"
        assert await table.code(USERS[0]) == "done"
        table.daemon.now_ms += pins.EACH_MS
        table.right = False
        assert [await table.code() for _ in range(2)] == ["wrong_pin", "too_many_pins"]
        table.daemon.now_ms += pins.BURST * pins.EACH_MS
        table.right = True
        assert await table.code() == "done"

    run(guess())


def test_the_pins_of_one_client_do_not_queue_up_before_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def guess() -> None:
        table, go = GuessingClient(monkeypatch), threading.Event()

        def slow(go: threading.Event, people: PeopleFile, name: str, pin: str) -> tuple[Person, bool]:
            go.wait(3 * LIMIT_S)
            return FLO, True

        monkeypatch.setattr(pins, "check_pin", functools.partial(slow, go))
        waiting = [asyncio.create_task(table.code()) for _ in range(50)]
        await asyncio.sleep(0)
        mine = asyncio.create_task(table.code(USERS[0]))
        await asyncio.sleep(0)
        assert sum(task.done() for task in waiting) == 50 - pins.WAITING
        go.set()
        assert await mine == "done"
        codes = await asyncio.gather(*waiting)
        assert (codes.count("done"), codes.count("too_many_pins")) == (pins.WAITING, 50 - pins.WAITING)

    run(guess())
