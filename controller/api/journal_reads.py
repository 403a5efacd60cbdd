"""Reads the journal for clients, in threads of their own: few at a time, none for long, and few that wait.

The threads are shared with nothing else: however many searches there are, PINs are checked and ports opened at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from controller.api.clients import ApiClient
from controller.api.requests import ApiError, stopping
from controller.journal import JournalReader, JournalReadTooLong, SearchIndex
from controller.journal.search_index import index_path

THREADS = 2
MAX_READS = 24  # under way and waiting
MAX_READS_EACH = 8  # per client
READ_S = 5.0  # the longest that one may take
WAIT_S = 4.0  # the longest that one waits its turn; `shoectl` gives up after 10 s
INDEX_S = 2.0  # the longest that one works on the index before it searches

Found = TypeVar("Found")


class JournalReads:
    """The reads of one journal."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._index = SearchIndex(journal)
        self._searching = ThreadPoolExecutor(THREADS, "journal search")
        self._catching_up = ThreadPoolExecutor(1, "journal stream")
        self._reads: Counter[ApiClient] = Counter()
        self._turns: dict[ApiClient, asyncio.Lock] = {}  # one read at a time per client, so that others get a turn
        self._closed = False

    def close(self) -> None:
        """End the reads."""
        self._closed = True
        for pool in (self._searching, self._catching_up):
            pool.shutdown(wait=False, cancel_futures=True)

    async def search(self, client: ApiClient, work: Callable[[JournalReader], Found]) -> Found:
        """What `work` finds, with the index. ApiError 503 if too many are waiting, or if it takes too long."""
        return await self.run(client, lambda: self._with_reader(work, indexed=True))

    async def missed(self, work: Callable[[JournalReader], Found]) -> Found:
        """What a stream has missed: some events in a row, which searches do not delay."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._catching_up, lambda: self._with_reader(work, indexed=False))

    async def run(self, client: ApiClient, work: Callable[[], Found]) -> Found:
        """Do this in one of the threads, when it is the client's turn."""
        if self._reads.total() >= MAX_READS or self._reads[client] >= MAX_READS_EACH:
            raise _busy()
        self._reads[client] += 1
        turn = self._turns.setdefault(client, asyncio.Lock())
        try:
            async with asyncio.timeout(WAIT_S + READ_S), turn:
                if self._closed:
                    raise stopping()
                return await asyncio.get_running_loop().run_in_executor(self._searching, work)
        except TimeoutError:
            raise _busy() from None
        except JournalReadTooLong:
            text = f"the search took longer than {READ_S:.0f} s and was ended"
            hint = "search for less: a round, a kind, a person, or a time (since, until)"
            raise ApiError(503, "search_too_long", text, hint) from None
        finally:
            self._reads[client] -= 1
            if not self._reads[client]:
                del self._reads[client], self._turns[client]

    def _with_reader(self, work: Callable[[JournalReader], Any], indexed: bool) -> Any:
        begun = time.monotonic()

        def over(limit_s: float = READ_S) -> bool:
            return self._closed or time.monotonic() - begun > limit_s

        if indexed:
            self._index.catch_up(lambda: over(INDEX_S))
        with JournalReader(self._journal) as reader:
            reader.end_when(over)
            if indexed:
                reader.use_index(index_path(self._journal))
            return work(reader)


def _busy() -> ApiError:
    return ApiError(503, "busy", "too many searches at the same time", "try again in a moment", retry_after_ms=2000)
