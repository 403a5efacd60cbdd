"""A watched table behind the real API: its answers, stream, log and metrics, `shoectl`, the bundle, and exports."""

from __future__ import annotations

import asyncio
import contextlib
import re
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import structlog

from controller.api.app import Api
from controller.api.event_stream import Reader
from controller.api.server import api_server, tcp_socket, unix_socket
from controller.cli.shoed import log_events
from controller.core.events.event import Entry
from controller.core.reports import Report
from controller.daemon.config import Config, ControlConfig, JournalConfig, ScreenConfig, ShoeConfig, ShufflerConfig
from controller.daemon.daemon import Daemon, DeviceLine
from controller.daemon.table_clock import TableClock
from controller.games.game import Method
from firmware_bridge.connection import Stage
from tests.secrecy.table import SecretTable
from tests.support.served import Answer, Page, UnixConnection
from tests.support.shoectl import shoectl

Result = TypeVar("Result")
LIMIT_S = 120.0
TS = "2026-01-01T00:00:00.000000Z"
EVENTS = "events?newest=1&limit=500"
PATHS = ("table", EVENTS, "actions", "rounds", "rounds/1", "devices", "devices/shuffler/frames", "journal", "flows",
         "flows/close", "session", "people")  # fmt: skip
STATIC = ("rules", "openapi.json")  # the rules of a game name its cards


class HouseDaemon(Daemon):
    """A daemon whose table is in virtual time."""

    def __init__(self, config: Config, table: SecretTable) -> None:
        super().__init__(config)
        house = table.house
        self._table = table
        self.setup, self.live, self.stopped = house.setup, house.live, ""
        self.clock = TableClock(0, lambda: house.now)
        for name, wired in house.wired.items():
            connection: Any = type("Connected", (), {"stage": Stage.READY, "session": wired.session})()
            self.lines[name] = DeviceLine(connection, cast("asyncio.Task[None]", None))

    def take(self, report: Report) -> list[Entry]:
        """What came over the API."""
        return self._table.people_report(report, self._table.house.report)  # type: ignore[arg-type]

    def tell(self, made: list[Entry]) -> None:
        """Pass on what was decided, as the daemon does after each decision."""
        for listener in self._listeners if made else ():
            listener(TS, made)


class ServedTable:
    """A table, its API, and everybody who can read it."""

    def __init__(self, folder: Path, name: str, method: Method) -> None:
        (folder / "run").mkdir()
        self.folder, self.socket = folder, folder / "run/control.sock"
        self.table = SecretTable(name, method, file=folder / "run/journal.db")
        self.log: list[str] = []
        self.stream: list[str] = []
        self._listed = _lists_of(self.table)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._call(self._serve())

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    async def _serve(self) -> None:
        run = self.folder / "run"
        config = Config(
            shuffler=ShufflerConfig(port=str(run / "shuffler")),
            shoe=ShoeConfig(port=str(run / "shoe")),
            journal=JournalConfig(file=str(run / "journal.db")),
            control=ControlConfig(socket=str(self.socket)),
            screen=ScreenConfig(people=str(self.folder / "people.toml")),
        )
        self.daemon = HouseDaemon(config, self.table)
        self.daemon.listen(log_events)
        self.api = Api(self.daemon)
        reader = Reader("", lambda data: 0, lambda: None)
        reader.put = lambda kind, data: self.stream.append(data.decode())  # type: ignore[method-assign]
        self.api.stream.readers.add(reader)
        happened = self.table.house.on_made

        def on_made(report: Report, made: list[Entry]) -> None:
            happened(report, made)
            self.daemon.tell(made)

        self.table.house.on_made = on_made
        screen = tcp_socket("127.0.0.1", 0)
        self.address = f"127.0.0.1:{screen.getsockname()[1]}"
        self._doors = [api_server(self.api.app, self.api.queue) for _ in range(2)]
        sockets = (unix_socket(self.socket), screen)
        self._serving = [
            asyncio.create_task(door.serve([sock])) for door, sock in zip(self._doors, sockets, strict=True)
        ]
        await asyncio.gather(*(door.listening.wait() for door in self._doors))

    def do(self, work: Callable[[SecretTable], Result]) -> Result:
        """Something happens at the table, in the daemon's loop."""

        async def done() -> Result:
            return work(self.table)

        found: Result = self._call(done())
        return found

    def get(self, path: str) -> Answer:
        """What somebody with every right reads."""
        connection = UnixConnection(self.socket)
        try:
            connection.request("GET", path if path.startswith("/") else f"/api/v1/{path}")
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def static(self) -> dict[str, bytes]:
        """The answers that name cards, because they are about the rules, and do not change."""
        return {path: self.get(path).body for path in STATIC}

    def close(self) -> None:
        """End it all."""

        async def end() -> None:
            for door in self._doors:
                door.should_exit = True
            await asyncio.gather(*self._serving)
            await self.api.close()

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)
        self._loop.close()
        self.table.house.close()

    # --- what leaves the table --------------------------------------------------------------------------------------

    def read(self) -> Iterator[tuple[str, str]]:
        """Every answer of the API, the stream and the log."""
        for path in PATHS:
            yield path, self.get(path).body.decode()
        for path in ("/metrics", "/healthz"):
            yield path, self.get(path).body.decode()
        page = Page(self.address)
        for path in PATHS:
            yield f"bystander {path}", page.ask("GET", f"/api/v1/{path}").body.decode()
        yield "stream", "\n".join(self.stream)
        yield "log", "\n".join(self.log)

    def take_away(self) -> Iterator[tuple[str, str]]:
        """What `shoectl` prints and writes."""
        there = ("--socket", str(self.socket))
        stored = ("--journal", str(self.folder / "run/journal.db"))
        shown: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
            (words, there) for words in (("status",), ("events", "-n", "500"))
        ]
        shown += [(words, stored) for words in (("rounds",), ("round", "1"))]
        for words, where in shown:
            for form in ((), ("--json",)):
                done = shoectl(*words, *form, *where)
                assert done.exit_code == 0, (words, done.output)
                yield f"shoectl {' '.join((*words, *form))}", done.output
        journal = ("--force", *stored)
        for name, more in (("export.csv", ("--format", "csv")), ("export.jsonl", ())):
            done = shoectl("journal", "export", *more, str(self.folder / name), *journal)
            assert done.exit_code == 0, done.output
            yield name, (self.folder / name).read_text()
        file = self.folder / "bundle.tar.gz"
        done = shoectl("bundle", str(file), "--force", *there, "--config", str(self.folder / "table.toml"))
        assert done.exit_code == 0, done.output
        with tarfile.open(file) as archive:
            for part in archive.getmembers():
                content = archive.extractfile(part)
                yield f"bundle {part.name}", content.read().decode() if content else ""

    def leaks(self, outputs: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
        """The outputs that name a card which is hidden now. A list with all of them says nothing: they are not told
        apart in it. Such are the game's own list of its cards, and the choices for entering one."""
        deck = self.do(lambda table: table.deck)
        hidden = self.do(lambda table: table.witness.hidden_kinds(deck))
        assert hidden

        def without(listed: re.Match[str]) -> str:
            return "" if all(f'"{kind}"' in listed[0] for kind in hidden) else listed[0]

        found: dict[str, list[str]] = {}
        for channel, text in outputs:
            if named := self.table.witness.named(self._listed.sub(without, text), deck):
                found[channel] = named
        return found


def _lists_of(table: SecretTable) -> re.Pattern[str]:
    """Several cards in a row, each perhaps with its number of copies. CSV doubles quotation marks."""
    kinds = "|".join(map(re.escape, table.house.setup.game.kinds))
    return re.compile(rf'(?:"{{1,2}}(?:{kinds})"{{1,2}}(?:\s*:\s*\d+)?\s*,?\s*){{2,}}')


@contextlib.contextmanager
def served_table(folder: Path, name: str, method: Method) -> Iterator[ServedTable]:
    """A served table that is always closed, and whose log is kept."""
    before = structlog.get_config()
    found: list[str] = []

    def keep(logger: Any, level: str, event: Any) -> Any:
        found.append(repr(event))
        raise structlog.DropEvent

    structlog.configure(processors=[keep], wrapper_class=structlog.make_filtering_bound_logger(0))
    served = ServedTable(folder, name, method)
    served.log = found
    try:
        yield served
    finally:
        served.close()
        structlog.configure(**before)
