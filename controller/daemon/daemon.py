"""The daemon: a live table with real time, real connections and a journal on disk.

Everything runs in one event loop. A report is decided, stored and acted upon before the next one is processed. When
the journal fails, the table stops: no command is sent, no device event counts as stored, and the daemon starts again
from what is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from controller.core.actions import Configure, Role
from controller.core.events.event import Entry
from controller.core.machines import DeviceState, TableState
from controller.core.reports import HostBoot, Report, Tick
from controller.core.setup import devices_of
from controller.core.state import State
from controller.daemon.config import Config
from controller.daemon.journal_identity import journal_replaced
from controller.daemon.live_table import LiveTable, report_of
from controller.daemon.systemd import notify
from controller.daemon.table_clock import TableClock, boot_id, time_away_ms, up_s
from controller.daemon.verification import Verification
from controller.daemon.version import VERSION
from controller.games import is_installed
from controller.journal import START, Checkpoint, Journal, JournalError, timestamp, was_made
from firmware_bridge.connection import Connection, Stage
from firmware_bridge.ports.hotplug import Hotplug
from firmware_bridge.ports.transport import PortSettings
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import AnyCommand, AskCards
from firmware_bridge.wire.session import EventMark, Flooding, Happening, HostSession, Ready

if TYPE_CHECKING:
    from controller.daemon.simulate import TableSimulation

RETRY_S = 5.0  # how soon a stopped table tries to start again
SAMPLE_S = 10.0  # how often the health of the links is recorded
KEPT_SAMPLES = 2160  # six hours
WRITES_KEPT = 512
ROLES = {"shuffler": wire.DeviceRole.SHUFFLER, "shoe": wire.DeviceRole.SHOE}

Listener = Callable[[str, list[Entry]], None]


class TableStopped(Exception):
    """The table is stopped; the text says why."""


@dataclass
class DeviceLine:
    """A device's connection and the history of its health."""

    connection: Connection
    running: asyncio.Task[None]
    version: int = 0
    trouble: str = ""  # why it cannot be reached
    suspect: str = ""  # what is wrong with what it sends
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=KEPT_SAMPLES))
    sampled: tuple[int, int] = (0, 0)  # resends and bad frames at the last sample

    @property
    def health(self) -> str:
        """The health of the link: ok, degraded or down."""
        if self.connection.stage is not Stage.READY:
            return "down"
        counters = self.connection.session.link.counters
        return "degraded" if (counters.resends, counters.bad_frames) != self.sampled else "ok"


class Daemon:
    """One table, its journal and its devices. Everything that happens goes through `take`."""

    def __init__(self, config: Config, *, new_journal: bool = False) -> None:
        self.config = config
        self.setup = config.setup()
        self.live: LiveTable | None = None
        self.stopped = "the table is starting"
        self.clock = TableClock(0)
        self.lines: dict[str, DeviceLine] = {}
        self.write_s: deque[float] = deque(maxlen=WRITES_KEPT)
        self.counted: dict[str, int] = {}
        self.simulation: TableSimulation | None = None
        self._new_journal = new_journal
        self._had_journal = False
        self._journal: Journal | None = None
        self._verification: Verification | None = None
        self._verifying: list[asyncio.Task[None]] = []
        self._listeners: list[Listener] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._hotplug = Hotplug()
        self._started = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._log = structlog.get_logger()

    # --- what others see --------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The state of the table; TableStopped if it is stopped."""
        if self.live is None:
            raise TableStopped(self.stopped)
        return self.live.state

    @property
    def journal_file(self) -> Path:
        """The journal's file."""
        return Path(self.config.journal.file)

    @property
    def verified(self) -> Checkpoint:
        """Up to where the journal has been verified."""
        return self._verification.verified if self._verification else START

    @property
    def now_ms(self) -> int:
        """The table's time in milliseconds."""
        return round(self.clock.now() * 1000)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a listener with every batch of stored events; returns a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def take(self, report: Report) -> list[Entry]:
        """Decide, store, act. TableStopped if the journal cannot be written; then nothing was done."""
        if self.live is None:
            raise TableStopped(self.stopped)
        ts = timestamp(datetime.now(UTC))
        begun = time.perf_counter()
        try:
            events = self.live.take(report, self.clock.now(), ts)
        except JournalError as error:
            self._halt(str(error))
            raise TableStopped(self.stopped) from None
        except Exception as error:  # a bug: the journal is right, the state in memory may not be
            self._log.exception("decision failed", report=type(report).__name__)
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} in {Path(where.filename).name}, line {where.lineno}"
            self._halt(f"internal error ({what}); report it with the output of `shoectl bundle`")
            raise TableStopped(self.stopped) from None
        if events:
            self.write_s.append(time.perf_counter() - begun)
            for event in events:
                self.counted[event.kind] = self.counted.get(event.kind, 0) + 1
            for listener in self._listeners:
                listener(ts, events)
        self._arm()
        return events

    # --- starting and stopping --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the table and keep it running. Returns once it runs for the first time."""
        await self._hotplug.start()
        self._tasks = [
            asyncio.create_task(self._keep_running(), name="table"),
            asyncio.create_task(self._keep_sampling(), name="link health"),
        ]
        started = asyncio.create_task(self._started.wait())
        await asyncio.wait([started, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
            self.raise_failure()

    def raise_failure(self) -> None:
        """Raise the exception that has ended one of the background tasks, if any has."""
        for task in [*self._tasks, *self._verifying, *(line.running for line in self.lines.values())]:
            if task.done() and not task.cancelled() and task.exception():
                raise task.exception()  # type: ignore[misc]

    async def close(self) -> None:
        """Close the connections to the devices and the journal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._verification and self.live:
            with contextlib.suppress(JournalError):  # the next start reports it
                self._verification.verify_new()  # so that a missing end is noticed
        self._shut_down("the daemon has ended")
        await self._hotplug.close()

    async def _keep_running(self) -> None:
        while True:
            if self.live is None:
                try:
                    self._start_table()
                    self._started.set()
                except (JournalError, TableStopped) as error:
                    first = self.stopped != str(error)
                    self._shut_down(str(error))
                    log = self._log.error if first else self._log.debug
                    log("table stopped", reason=self.stopped, retry_in_s=RETRY_S)
                    notify(f"STATUS=stopped: {self.stopped}", "EXTEND_TIMEOUT_USEC=60000000")
            await asyncio.sleep(RETRY_S)

    def _start_table(self) -> None:
        """Start the table from the journal alone."""
        journal = self._journal = Journal(self.journal_file, create=self._may_create())
        accept = self._new_journal and not self._had_journal
        replaces = journal_replaced(journal, self.config.journal.id, accept=accept)
        self._had_journal = True
        seen = 0

        def checked(event: object) -> None:
            nonlocal seen
            seen += 1
            if seen % 100_000 == 0:
                notify(f"STATUS=verified {seen} journal events", "EXTEND_TIMEOUT_USEC=60000000", "WATCHDOG=1")

        verified = journal.verify(journal.verified(), checked)
        if verified != START:
            journal.mark_verified(verified)
        verification = self._verification = Verification(journal, verified, self._halt)
        self.live = LiveTable(
            journal,
            self._send,
            self._forget,
            self._withdraw,
            self._ask,
            on_ignored=lambda reason: self._log.warning("saved state not used", reason=reason),
        )
        if self.state.table is not TableState.CLOSED and not is_installed(self.state.setup.game):
            name = self.state.setup.game.name
            raise TableStopped(f"{name} is being played, which is not installed; put its module back (docs/games.md)")
        newest = journal.last(1)
        boot, up_ms, wall_ms = boot_id(), round(up_s() * 1000), round(time.time() * 1000)
        away_ms = time_away_ms(self.state, boot, up_ms, wall_ms, newest[0].ts if newest else "")
        self.clock = TableClock(self.state.now_ms + away_ms)
        self.stopped = ""
        self.take(HostBoot(boot, up_ms, away_ms, VERSION, wall_ms, replaces))
        journal.claim_path()
        self._configure()
        for name in self.state.devices:
            self.lines[name] = self._connect(name)
        self._verifying = [
            asyncio.create_task(verification.keep_verifying(), name="verification"),
            asyncio.create_task(verification.keep_rechecking(), name="verification again"),
        ]
        self._log.info("table started", events=self.state.seq, away_ms=away_ms, table=str(self.state.table))
        notify("STATUS=the table is up")

    def _may_create(self) -> bool:
        """Whether a new journal may be created where there is none.

        A journal that existed must not be replaced silently, or its event numbers would be used twice: its disk, with
        the lock file, may only be unavailable for a moment.
        """
        if self._had_journal:
            return False
        return self._new_journal or not (self.config.journal.id or was_made(self.journal_file))

    def _configure(self) -> None:
        """Apply the configuration if the table is closed."""
        if self.state.configured and self.state.setup == self.setup:
            return
        if self.state.table is not TableState.CLOSED:
            self._log.warning(
                "the configuration has changed, but the table is open: close it and restart shoed to apply it"
            )
            self.setup = self.state.setup
            return
        self.take(Configure(who="configuration", role=Role.TECHNICIAN, setup=self.setup, origin="configuration"))

    def _connect(self, name: str) -> DeviceLine:
        assert self.live is not None
        section = self.config.port(name)
        session = HostSession(
            host_boot=secrets.randbelow(2**32 - 1) + 1,
            stored=self.live.mark(name),
            software=f"dragonshoe {VERSION}",
            expects=ROLES[name],
            events_per_s=section.events_per_s,
        )
        connection = Connection(
            section.port,
            session,
            settings=PortSettings(baud=section.baud),
            hotplug=self._hotplug,
            on_happening=lambda happening: self._happened(name, happening),
            on_trouble=lambda why: self._trouble(name, why),
            log=self._log.bind(device=name),
        )
        for command in self.live.unanswered(name):
            connection.give(command)
        for question in self.live.questions(name):
            connection.put(question)
        return DeviceLine(connection, asyncio.create_task(connection.run(), name=name))

    def _halt(self, why: str) -> None:
        """Stop the table until the journal can be opened again."""
        self._log.error("table stopped", reason=why)
        notify(f"STATUS=stopped: {why}")
        self._shut_down(why)

    def _shut_down(self, why: str) -> None:
        self.live = None
        self.stopped = why
        if self._timer:
            self._timer.cancel()
            self._timer, self._timer_at = None, math.inf
        verifying, self._verifying = self._verifying, []
        for task in verifying:
            task.cancel()
        lines, self.lines = self.lines, {}
        for line in lines.values():
            line.connection.close()
        if self._journal:
            self._journal.close()
            self._journal = None
        for listener in self._listeners:
            listener("", [])

    # --- between the table and its devices --------------------------------------------------------------------------

    def _send(self, device: str, command: AnyCommand) -> None:
        line = self.lines.get(device)
        if line:  # if not, the command is unanswered and is sent when the device connects
            line.connection.give(command)

    def _forget(self, device: str, mark: EventMark) -> None:
        self.lines[device].connection.stored(mark)

    def _withdraw(self, device: str, command: int) -> None:
        line = self.lines.get(device)
        if line:
            line.connection.session.withdraw(command)

    def _ask(self, device: str, question: AskCards) -> None:
        line = self.lines.get(device)
        if line:
            line.connection.put(question)

    def _happened(self, name: str, happening: Happening) -> None:
        line = self.lines.get(name)
        if self.live is None or line is None:
            return  # the table has just stopped: the device keeps its events
        if isinstance(happening, Ready):
            line.trouble, line.suspect, line.version = "", "", happening.version
        elif isinstance(happening, wire.MalformedEvent):
            line.suspect = f"it sent an event that cannot be read (message {happening.message_number})"
        elif isinstance(happening, wire.UnknownEvent):
            line.suspect = (
                f"it sent an event of an unknown kind (message {happening.message_number}), which has no effect"
            )
        elif isinstance(happening, Flooding):
            line.suspect = str(happening)
        report = report_of(name, line.connection.session.boot, happening)
        if report:
            try:
                self.take(report)
            except TableStopped:
                return

    def _trouble(self, name: str, why: str) -> None:
        if name in self.lines:
            self.lines[name].trouble = why

    # --- time -------------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Process the passing of time. The watchdog is only notified if this works."""
        self.raise_failure()
        if self.live is not None:
            self.take(Tick())

    def _arm(self) -> None:
        """Set the timer for the next deadline."""
        deadline = self.live.deadline if self.live else math.inf
        if deadline == self._timer_at:
            return
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._timer_at = deadline
        if deadline < math.inf:
            delay = max(0.0, deadline - self.clock.now())
            self._timer = self._loop.call_later(delay, self._due)

    def _due(self) -> None:
        self._timer, self._timer_at = None, math.inf
        if self.live is not None:
            try:
                self.take(Tick())
            except TableStopped:
                return

    async def _keep_sampling(self) -> None:
        """Record the health of every link at intervals."""
        while True:
            await asyncio.sleep(SAMPLE_S)
            for line in self.lines.values():
                counters = line.connection.session.link.counters
                trip = line.connection.session.link.round_trips.summary()
                resends, bad = line.sampled
                sample = {
                    "at_ms": self.now_ms,
                    "state": line.health,
                    "rtt_ms": trip.median_ms if trip else None,
                    "resends": counters.resends - resends,
                    "bad_frames": counters.bad_frames - bad,
                }
                line.history.append(sample)
                line.sampled = (counters.resends, counters.bad_frames)

    # --- for the technician -----------------------------------------------------------------------------------------

    def suspects(self) -> list[str]:
        """The devices in service that do not follow the protocol, or cannot be used at this table."""
        found = self.state.devices.items()
        return [name for name, device in found if device.state is not DeviceState.OUT_OF_SERVICE and self._wrong(name)]

    def _wrong(self, name: str) -> str:
        """What is wrong with what a device sends, or why it cannot be used at this table."""
        line, known = self.lines.get(name), self.live.state.devices.get(name) if self.live else None
        return (line.suspect if line else "") or (known.refused if known else "")

    def devices(self) -> list[dict[str, Any]]:
        """Identity, state, counters and history of every device and its link."""
        found = []
        for name in devices_of(self.setup):
            line, section = self.lines.get(name), self.config.port(name)
            known = self.live.state.devices.get(name) if self.live else None
            session = line.connection.session if line else None
            identity = session.identity if session else None
            trip = session.link.round_trips.summary() if session else None
            found.append(
                {
                    "name": name,
                    "port": section.port,
                    "stage": line.connection.stage.value if line else Stage.CLOSED.value,
                    "link": line.health if line else "down",
                    "state": str(known.state) if known else "unknown",
                    "online": bool(known and known.online),
                    "identity": identity
                    and {
                        "maker": identity.maker,
                        "model": identity.model,
                        "serial": identity.serial,
                        "firmware": identity.firmware,
                        "firmware_digest": identity.firmware_digest,
                        "protocol": line.version if line else 0,
                        "capabilities": sorted(capability.name.lower() for capability in identity.capabilities),
                    },
                    "boot": known.boot if known else 0,
                    "last_event": known.last_event if known else 0,
                    "counters": session.link.counters if session else {},
                    "round_trip": trip,
                    "trouble": (line.trouble or self._wrong(name)) if line else self.stopped,
                    "history": list(line.history) if line else [],
                }
            )
        return found

    def frames(self, name: str) -> list[str]:
        """The latest frames on a link, without their contents."""
        line = self.lines.get(name)
        return list(line.connection.session.link.ring.lines()) if line else []
