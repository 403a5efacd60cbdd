"""A device kept connected: the real connection over ptys, TCP and a software USB bus, through losses of every kind."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pty
import socket
import tty
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import structlog
from structlog.testing import capture_logs
from transitions import MachineError

from firmware_bridge import connection as module
from firmware_bridge.connection import (
    STAGES,
    CommandRefused,
    Connection,
    DeviceError,
    NotReady,
    OutcomeUnknown,
    Stage,
)
from firmware_bridge.ports import serial_port
from firmware_bridge.ports.hotplug import Backoff, Hotplug
from firmware_bridge.ports.transport import PortSettings
from firmware_bridge.wire.link import LinkTiming, LossReason, Lost
from firmware_bridge.wire.messages import (
    AskCounters,
    AskStatus,
    Button,
    ButtonName,
    CardsPresent,
    Counters,
    CycleDone,
    DeviceRole,
    Dispense,
    Done,
    EventMessage,
    Identify,
    Identity,
    Lock,
    Reason,
    Refused,
    Status,
)
from firmware_bridge.wire.session import Ahead, EventMark, HostSession, Ready, Untrusted, WrongRole
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SimulatedDevice, SimulatedTable
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Firmware
from simulators.pipes.endpoints import Endpoint, PtyEndpoint, TcpEndpoint, UsbEndpoint
from simulators.pipes.usb_backend import SoftwareUsb
from tests.support.connected import Happenings

LIMIT_S = 120.0  # generous: only a hang runs into it
LONG_S = 600.0  # a pause that no test can sit out
SPEED = 50.0
HOST_BOOT = 0x1234ABCD
KINDS = ("pty", "tcp", "usb")
EXIT, SHOE, DECK = Spot(CardPlace.EXIT), Spot(CardPlace.SHOE), Spot(CardPlace.TABLE)
QUICK = LinkTiming().scaled(0.1)  # for losses that only a timeout detects

Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def _logs_as_they_come() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in a loop of its own; an error that only the loop notices is an error too."""
    unheard: list[dict[str, Any]] = []

    async def limited() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        async with asyncio.timeout(LIMIT_S):
            await work

    asyncio.run(limited())
    assert unheard == []


def pauses(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(module, "Backoff", lambda: Backoff(first_s=seconds, cap_s=seconds))


async def until(test: Callable[[], bool]) -> None:
    """Let the loop go round until this is so; the test's own limit ends it."""
    while not test():  # noqa: ASYNC110 - what it waits for has no event
        await asyncio.sleep(0)


class Rig:
    """A simulated shoe on a pipe, and a connection to it, in one loop."""

    def __init__(
        self,
        kind: str,
        folder: Path,
        *,
        expects: DeviceRole | None = DeviceRole.SHOE,
        stored: EventMark = EventMark(),  # noqa: B008 - frozen
        timing: LinkTiming | None = None,
        hotplug: Hotplug | None = None,
        **more: Any,
    ) -> None:
        timing = timing or LinkTiming()
        now = asyncio.get_running_loop().time()
        self.table = SimulatedTable(1, timing=timing.scaled(SPEED), now=now, **more)
        self.shoe = self.table.shoe
        bus = SoftwareUsb()
        self.endpoint: Endpoint
        if kind == "pty":
            self.endpoint = PtyEndpoint(self.shoe, folder / "shoe", speed=SPEED)
        elif kind == "tcp":
            self.endpoint = TcpEndpoint(self.shoe, speed=SPEED)
        else:
            self.endpoint = UsbEndpoint(self.shoe, bus, serial="shoe", speed=SPEED)
        self._session = HostSession(host_boot=HOST_BOOT, stored=stored, timing=timing, expects=expects)
        self._settings = PortSettings(usb_backend=bus)
        self._hotplug = hotplug
        self.happenings = Happenings()
        self.until, self.all = self.happenings.until, self.happenings.of
        self.troubles: list[str] = []
        self.host: Connection
        self.running: asyncio.Task[None]

    async def plug_in(self) -> None:
        """Start the device; its address is known from here on."""
        await self.endpoint.start()

    def connect(self, address: str = "") -> None:
        """Let the host begin."""
        self.host = Connection(
            address or self.endpoint.address,
            self._session,
            settings=self._settings,
            hotplug=self._hotplug,
            on_happening=self.happenings.add,
            on_trouble=self.troubles.append,
        )
        self.running = asyncio.create_task(self.host.run())

    def hand(self, *work: Callable[[SimulatedDevice, float], object]) -> None:
        """Do something to the device by hand, all in one moment."""
        for one in work:
            one(self.shoe, self.endpoint.driver.now())
        self.endpoint.poke()

    def load(self) -> None:
        self.hand(lambda shoe, now: shoe.load(DECK, now))

    def begins(self) -> asyncio.Event:
        """Set when the device begins a cycle."""
        begun, before = asyncio.Event(), self.shoe.mechanics.cycle_started

        def cycle_started() -> None:
            begun.set()
            before()

        self.shoe.mechanics.cycle_started = cycle_started
        return begun

    def reports(self, kind: type[EventMessage]) -> asyncio.Event:
        """Set when the device makes such an event, whether anyone hears of it or not."""
        made, before = asyncio.Event(), self.shoe.mechanics.report

        def report(made_kind: type[EventMessage], /, **fields: object) -> None:
            before(made_kind, **fields)
            if made_kind is kind:
                made.set()

        self.shoe.mechanics.report = report
        return made

    async def close(self) -> None:
        if hasattr(self, "host"):
            self.host.close()
            await asyncio.wait_for(self.running, LIMIT_S)
        await self.endpoint.close()


@contextlib.asynccontextmanager
async def rigged(kind: str, folder: Path, **more: Any) -> AsyncIterator[Rig]:
    """A rig, plugged in and ready."""
    rig = Rig(kind, folder, **more)
    try:
        await rig.plug_in()
        rig.connect()
        await rig.until(Ready)
        yield rig
    finally:
        await rig.close()


def inject(fault: FaultName) -> Callable[[SimulatedDevice, float], object]:
    return lambda device, now: device.inject(fault, now)


def mend(fault: FaultName) -> Callable[[SimulatedDevice, float], object]:
    return lambda device, now: device.mend(fault, now)


def press(device: SimulatedDevice, now: float) -> None:
    device.press(ButtonName.RED, now)


PULL, PLUG = inject(FaultName.UNPLUG), mend(FaultName.UNPLUG)
HUSH, SPEAK = inject(FaultName.SILENCE), mend(FaultName.SILENCE)


def numbers(rig: Rig) -> list[int]:
    return [event.number for event in rig.all(EventMessage)]


def is_counted(rig: Rig) -> None:
    """Events have come once, in order and without a gap."""
    assert numbers(rig) == list(range(1, len(numbers(rig)) + 1))


# --- in good times ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_greeting_command_questions_and_events(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged(kind, tmp_path) as rig:
            assert rig.host.stage is Stage.READY
            (ready,) = rig.all(Ready)
            assert (ready.identity.serial, ready.restarted) == ("SE-0001", False)
            rig.load()
            await rig.host.command(Dispense(1, ready.boot, 3))
            assert (await rig.until(CycleDone)).cards == 3
            assert rig.table.cards.count(EXIT) == 3
            answers = await asyncio.gather(*(rig.host.ask(q) for q in (AskStatus, AskCounters, Identify)))
            status, counters, identity = answers
            assert isinstance(status, Status)
            assert status.exit_cards == 3
            assert isinstance(counters, Counters)
            assert counters.effects == 1
            assert isinstance(identity, Identity)
            assert identity.serial == "SE-0001"
            assert rig.all(Done) == [Done(1)]
            is_counted(rig)
            assert rig.troubles == []

    run(work())


def test_a_refused_command_says_why(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            with pytest.raises(CommandRefused, match="refused, no cards") as refused:
                await rig.host.command(Dispense(1, rig.host.session.boot, 3))
            assert refused.value.reason is Reason.NO_CARDS

    run(work())


def test_an_answer_has_one_who_waits_for_it(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            lock = Lock(1, rig.host.session.boot)
            rig.hand(HUSH)
            first = asyncio.create_task(rig.host.command(lock))
            await until(lambda: lock in rig.host.session.unanswered)
            with pytest.raises(DeviceError, match="already waiting for the answer to command 1"):
                await rig.host.command(lock)
            rig.hand(SPEAK)
            await first

    run(work())


def test_giving_up_the_wait_does_not_take_the_command_back(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            rig.load()
            dispense = Dispense(1, rig.host.session.boot, 3)
            begun = rig.begins()
            rig.hand(HUSH)
            waiting = asyncio.create_task(rig.host.command(dispense))
            await begun.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with pytest.raises(ValueError, match="in use"):
                await rig.host.command(Dispense(1, rig.host.session.boot, 4))
            again = asyncio.create_task(rig.host.command(dispense))
            rig.hand(SPEAK)
            await again
            await rig.host.command(dispense)  # answered before: the device says the same once more
            await rig.until(CycleDone)
            assert rig.table.cards.count(EXIT) == 3

    run(work())


async def events_kept(rig: Rig) -> int:
    status = await rig.host.ask(AskStatus)
    assert isinstance(status, Status)
    return status.events_kept


def test_what_is_stored_the_device_forgets(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            boot = rig.host.session.boot
            rig.hand(press, press, press)
            events = [await rig.until(EventMessage) for _ in range(4)]
            assert [event.number for event in events] == [1, 2, 3, 4]
            assert await events_kept(rig) == 4
            for stored, kept in ((2, 2), (1, 2), (4, 0)):  # a mark that goes back changes nothing
                rig.host.stored(EventMark(boot, stored))
                assert await events_kept(rig) == kept

    run(work())


# --- a cable that comes and goes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_unplugged_in_the_middle_of_a_command(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged(kind, tmp_path) as rig:
            rig.load()
            begun, ended = rig.begins(), rig.reports(CycleDone)
            rig.hand(HUSH)  # so that the answer is lost
            command = asyncio.create_task(rig.host.command(Dispense(1, rig.host.session.boot, 3)))
            await begun.wait()
            with capture_logs() as logs:
                rig.hand(PULL, SPEAK)
                lost = await rig.until(Lost)
            assert lost.reason is LossReason.UNPLUGGED
            (logged,) = [entry for entry in logs if entry["event"] == "port lost"]
            assert (logged["log_level"], logged["reason"]) == ("warning", lost.detail)
            assert any("DATA" in frame for frame in logged["frames"])
            await ended.wait()  # with nobody listening
            rig.hand(press, press)
            assert not command.done()
            rig.hand(PLUG)
            assert (await rig.until(Ready)).restarted is False
            await command
            await rig.until(Button)
            await rig.until(Button)
            counters = await rig.host.ask(AskCounters)
            assert isinstance(counters, Counters)
            assert counters.effects == 1
            assert rig.all(Done) == [Done(1)]
            assert (rig.table.cards.count(EXIT), rig.table.cards.count(SHOE)) == (3, 50)
            rig.table.cards.check()
            is_counted(rig)

    run(work())


def test_a_command_given_while_unplugged_waits_for_the_device(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            rig.load()
            rig.hand(PULL)
            await rig.until(Lost)
            command = asyncio.create_task(rig.host.command(Dispense(1, rig.host.session.boot, 2)))
            question = asyncio.create_task(rig.host.ask(AskStatus))
            rig.hand(PLUG)
            await command
            assert isinstance(await question, Status)
            await rig.until(CycleDone)
            assert rig.table.cards.count(EXIT) == 2

    run(work())


def test_a_device_that_comes_later_is_found_at_its_plugging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(monkeypatch, LONG_S)
    plugged: set[str] = set()

    async def work() -> None:
        hotplug = Hotplug(poll_s=0.001, lister=lambda: frozenset(plugged), udev_control=tmp_path / "no udev")
        await hotplug.start()
        rig = Rig("pty", tmp_path, hotplug=hotplug)
        rig.connect()
        await until(lambda: rig.host.stage is Stage.WAITING)
        assert "not found" in rig.troubles[0]
        await rig.plug_in()
        plugged.add("shoe")
        await rig.until(Ready)
        await rig.close()
        await hotplug.close()

    run(work())


def test_only_the_first_failure_of_a_kind_is_loud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(monkeypatch, 0.001)

    async def work() -> None:
        rig = Rig("pty", tmp_path)
        with capture_logs() as logs:
            rig.connect()
            await until(lambda: len(logs) >= 4)
        assert {entry["event"] for entry in logs} == {"device not reached"}
        assert [entry["log_level"] for entry in logs[:4]] == ["warning", "debug", "debug", "debug"]
        assert rig.troubles == [logs[0]["reason"]]
        (tmp_path / "shoe").touch()  # another failure
        await until(lambda: len(rig.troubles) == 2)
        assert "not a working serial port" in rig.troubles[1]
        (tmp_path / "shoe").unlink()
        await rig.plug_in()
        await rig.until(Ready)
        await rig.close()

    run(work())


# --- restarts and faults ----------------------------------------------------------------------------------------------


def test_a_restart_leaves_the_fate_of_a_command_open(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            rig.load()
            boot, begun = rig.host.session.boot, rig.begins()
            rig.hand(HUSH)
            command = asyncio.create_task(rig.host.command(Dispense(1, boot, 3)))
            await begun.wait()
            rig.hand(SPEAK, inject(FaultName.REBOOT))
            assert (await rig.until(Lost)).reason is LossReason.PEER_RESTARTED
            ready = await rig.until(Ready)
            assert ready.restarted
            assert ready.boot != boot
            with pytest.raises(OutcomeUnknown, match="it has restarted") as unknown:
                await command
            assert unknown.value.reason is Reason.OTHER_BOOT
            assert rig.all(Refused) == [Refused(1, Reason.OTHER_BOOT)]
            await rig.until(EventMessage)
            rig.table.cards.check()

    run(work())


def test_storing_events_of_an_earlier_life_touches_none_of_this_one(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            boot = rig.host.session.boot
            rig.hand(press)
            pressed = await rig.until(Button)
            rig.hand(inject(FaultName.REBOOT))
            await rig.until(Lost)
            ready = await rig.until(Ready)
            rig.hand(press)
            assert (await rig.until(Button)).number == pressed.number
            rig.host.stored(EventMark(boot, pressed.number))
            assert await events_kept(rig) == 2
            rig.host.stored(EventMark(ready.boot, pressed.number))
            assert await events_kept(rig) == 0

    run(work())


def test_a_command_of_an_earlier_life(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            rig.load()
            boot = rig.host.session.boot
            rig.hand(inject(FaultName.REBOOT))
            await rig.until(Lost)
            ready = await rig.until(Ready)
            with pytest.raises(OutcomeUnknown):
                await rig.host.command(Dispense(1, boot, 3))
            assert rig.table.cards.count(EXIT) == 0
            await rig.host.command(Dispense(2, ready.boot, 3))
            await rig.until(CycleDone)
            assert rig.table.cards.count(EXIT) == 3

    run(work())


def test_a_fault_of_the_connection_itself_is_not_kept_quiet(mocker: Any) -> None:
    mocker.patch("firmware_bridge.connection.open_port", side_effect=ZeroDivisionError)

    async def work() -> None:
        host = Connection("/nonexistent/port", HostSession(host_boot=HOST_BOOT))
        waiting = asyncio.create_task(host.command(Lock(1, 7)))
        await until(lambda: bool(host.session.unanswered))
        with pytest.raises(ZeroDivisionError):
            await host.run()
        with pytest.raises(NotReady):
            await waiting
        assert host.stage is Stage.CLOSED

    run(work())


def test_after_a_good_session_the_same_port_is_greeted_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(monkeypatch, LONG_S)
    monkeypatch.setattr(module, "STEADY_S", 0.0)

    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            for _ in range(3):
                rig.hand(inject(FaultName.REBOOT))
                await rig.until(Lost)
                assert rig.host.stage is Stage.GREETING
                assert (await rig.until(Ready)).restarted

    run(work())


def test_a_device_that_breaks_off_right_after_its_welcome_is_given_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(monkeypatch, 0.001)
    monkeypatch.setattr(module, "STEADY_S", math.inf)

    async def work() -> None:
        with capture_logs() as logs:
            async with rigged("pty", tmp_path, build=Gappy) as rig:
                rig.hand(press)
                for _ in range(2):
                    lost = await rig.until(Lost)
                    assert (lost.reason, lost.detail) == (LossReason.PROTOCOL, "event 2 was sent instead of event 1")
                    await until(lambda: rig.host.stage is Stage.WAITING)
                    await rig.until(Ready)
                untrusted = await rig.until(Untrusted)
                await until(lambda: bool(rig.troubles))
        loud = [entry for entry in logs if entry["log_level"] in ("warning", "error")]
        assert [entry["event"] for entry in loud] == ["link lost", "device not trusted", "device not reached"]
        assert any("NAK" in frame or "DATA" in frame for frame in loud[0]["frames"])
        assert rig.troubles == [f"{rig.host.address}: {untrusted}"]

    run(work())


def test_a_device_that_is_not_trusted_is_tried_again_when_something_is_plugged_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise after a long time, which does not pass here."""
    pauses(monkeypatch, 0.001)
    monkeypatch.setattr(module, "DISTRUST_S", LONG_S)

    async def work() -> None:
        plugged = {"other"}
        hotplug = Hotplug(poll_s=0.001, lister=lambda: frozenset(plugged), udev_control=tmp_path / "no udev")
        await hotplug.start()
        async with rigged("pty", tmp_path, build=Gappy, hotplug=hotplug) as rig:
            rig.hand(press)
            await rig.until(Untrusted)
            await until(lambda: rig.host.stage is Stage.WAITING)
            before = len(rig.all(Ready))
            monkeypatch.setattr(Gappy, "_send_event", Firmware._send_event)
            plugged.add("shoe")
            await until(lambda: len(rig.all(Ready)) > before)
            assert rig.host.stage is Stage.READY
        await hotplug.close()

    run(work())


class Gappy(Firmware):
    """Never reports its first event."""

    def _send_event(self, number: int, event: bytes) -> None:
        if number > 1:
            super()._send_event(number, event)


def test_a_silent_link_is_told_once_with_its_last_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(monkeypatch, 0.001)

    async def work() -> None:
        with capture_logs() as logs:
            async with rigged("pty", tmp_path, timing=QUICK) as rig:
                rig.hand(HUSH)
                assert (await rig.until(Lost)).reason is LossReason.SILENT
                for _ in range(3):
                    assert (await rig.until(Lost)).reason is LossReason.NO_ANSWER
                rig.hand(SPEAK)
                assert (await rig.until(Ready)).restarted is False
        (logged,) = [entry for entry in logs if "frames" in entry]
        assert (logged["event"], logged["log_level"]) == ("link lost", "warning")
        assert any("Welcome" in frame or "OPENED" in frame for frame in logged["frames"])
        reached = [entry["log_level"] for entry in logs if entry["event"] == "device not reached"]
        assert reached.count("warning") <= 1  # none if the silence came so soon that it was reported already
        assert "debug" in reached

    run(work())


# --- the wrong device -------------------------------------------------------------------------------------------------


def test_a_device_that_is_ahead_of_the_host_is_asked_again_until_that_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(monkeypatch, 0.01)

    async def work() -> None:
        rig = Rig("pty", tmp_path)
        assert rig.shoe.firmware is not None
        boot = rig.shoe.firmware.boot
        rig._session = HostSession(host_boot=HOST_BOOT, stored=EventMark(boot, 0), expects=DeviceRole.SHOE)
        await rig.plug_in()
        rig.shoe.firmware._forget_events(1)
        rig.connect()
        for _ in range(2):
            assert await rig.until(Ahead) == Ahead(boot, stored=0, last_forgotten=1)
        assert len(rig.troubles) == 1
        assert "no longer has its event 1, which this host has not stored" in rig.troubles[0]
        rig.host.stored(EventMark(boot, 1))
        assert not (await rig.until(Ready)).restarted
        rig.load()
        assert (await rig.until(CardsPresent)).number == 2
        await rig.close()

    run(work())


def test_another_kind_of_device_is_named_and_told_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        known = EventMark(boot=77, number=9)
        rig = Rig("pty", tmp_path, expects=DeviceRole.SHUFFLER, stored=known)
        await rig.plug_in()
        rig.connect()
        command = asyncio.create_task(rig.host.command(Lock(5, 77)))
        for _ in range(2):
            assert (await rig.until(WrongRole)).identity.role is DeviceRole.SHOE
        (trouble,) = rig.troubles
        assert "expected a shuffler, found a shoe" in trouble
        assert "SE-0001" in trouble
        assert rig.host.session.boot == 77
        assert not command.done()
        assert rig.shoe.firmware is not None
        assert rig.shoe.firmware.effects == 0
        await rig.close()
        with pytest.raises(NotReady):
            await command
        assert rig.all(Ready) == []
        assert rig.all(Refused) == []

    run(work())


def test_cables_that_were_swapped_and_swapped_back(tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged("pty", tmp_path) as rig:
            rig.hand(press)
            event = await rig.until(Button)
            rig.host.stored(EventMark(rig.host.session.boot, event.number))
            await rig.host.ask(AskStatus)  # behind it: the device has forgotten them
            shuffler = PtyEndpoint(rig.table.shuffler, tmp_path / "shoe", speed=SPEED)
            rig.hand(PULL)
            await shuffler.start()
            assert (await rig.until(WrongRole)).identity.role is DeviceRole.SHUFFLER
            await shuffler.close()
            rig.hand(PLUG)
            assert (await rig.until(Ready)).restarted is False
            rig.hand(press)
            assert (await rig.until(Button)).number == event.number + 1
            is_counted(rig)

    run(work())


# --- closing ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def full_house() -> Iterator[str]:
    """A TCP port that accepts no more connections: connecting to it never ends. Gives its address."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        where = listener.getsockname()
        for _ in range(4):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(where)
        yield f"socket://127.0.0.1:{where[1]}"


@contextlib.contextmanager
def mute() -> Iterator[str]:
    """A pty with nobody behind it."""
    far, near = pty.openpty()
    tty.setraw(near)
    yield os.ttyname(near)
    os.close(near)
    os.close(far)


@contextlib.contextmanager
def absent() -> Iterator[str]:
    yield "/nonexistent/port"


@pytest.mark.parametrize(
    ("where", "stage"), [(full_house, Stage.OPENING), (mute, Stage.GREETING), (absent, Stage.WAITING)]
)
@pytest.mark.parametrize("cancelled", [False, True])
def test_closing_ends_it_at_once(
    where: Callable[[], contextlib.AbstractContextManager[str]],
    stage: Stage,
    cancelled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses(monkeypatch, LONG_S)
    monkeypatch.setattr(serial_port, "OPEN_LIMIT_S", LONG_S)

    async def work() -> None:
        with where() as address:
            host = Connection(address, HostSession(host_boot=HOST_BOOT, timing=LinkTiming().scaled(100)))
            waiting = [
                asyncio.create_task(one)
                for one in (host.command(Lock(1, 7)), host.ask(AskStatus))
            ]  # fmt: skip
            running = asyncio.create_task(host.run())
            await until(lambda: host.stage is stage and len(host.session.unanswered) == 1)
            if cancelled:
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
            else:
                host.close()
                await running
            for one in waiting:
                with pytest.raises(NotReady, match="closed"):
                    await one
            assert host.stage is Stage.CLOSED
            host.close()

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_closing_a_ready_connection(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged(kind, tmp_path) as rig:
            rig.hand(HUSH)
            command = asyncio.create_task(rig.host.command(Lock(1, rig.host.session.boot)))
            await until(lambda: len(rig.host.session.unanswered) == 1)
            rig.host.close()
            await rig.running
            with pytest.raises(NotReady):
                await command
            with pytest.raises(NotReady):
                await rig.host.ask(AskStatus)
            with pytest.raises(NotReady):
                await rig.host.command(Lock(2, 1))

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_the_device_hears_goodbye(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with rigged(kind, tmp_path) as rig:
            assert rig.shoe.firmware is not None
            link = rig.shoe.firmware.link
            rig.host.close()
            await until(lambda: link.counters.resets_in == 1)

    run(work())


def test_closed_before_it_began(tmp_path: Path) -> None:
    async def work() -> None:
        host = Connection(str(tmp_path / "shoe"), HostSession(host_boot=HOST_BOOT))
        early = asyncio.create_task(host.command(Lock(1, 7)))
        await until(lambda: bool(host.session.unanswered))
        host.close()
        await host.run()
        assert host.stage is Stage.CLOSED
        with pytest.raises(NotReady):
            await early

    run(work())


# --- the table of stages ----------------------------------------------------------------------------------------------


def test_the_table_is_the_one_that_was_meant() -> None:
    every = "CLOSED OPENING GREETING READY WAITING"
    meant = {
        "begin": ("CLOSED", "OPENING"),
        "opened": ("OPENING", "GREETING"),
        "welcomed": ("GREETING", "READY"),
        "link_lost": ("READY", "GREETING"),
        "failed": ("OPENING GREETING READY", "WAITING"),
        "again": ("WAITING", "OPENING"),
        "close": (every, "CLOSED"),
    }
    assert {row["trigger"]: (" ".join(s.name for s in sources(row)), row["dest"].name) for row in STAGES} == meant


def sources(row: dict[str, Any]) -> list[Stage]:
    return row["source"] if isinstance(row["source"], list) else [row["source"]]


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("row", STAGES, ids=lambda row: str(row["trigger"]))
def test_every_trigger_in_every_stage(row: dict[str, Any], stage: Stage) -> None:
    async def work() -> None:
        stages = Connection("/dev/null", HostSession(host_boot=HOST_BOOT))._stages
        stages.state = stage
        if stage in sources(row):
            assert stages.trigger(row["trigger"])
            assert stages.state is row["dest"]
        else:
            with pytest.raises(MachineError):
                stages.trigger(row["trigger"])
            assert stages.state is stage

    run(work())


def test_no_stage_is_reached_but_by_the_table() -> None:
    async def work() -> None:
        stages = Connection("/dev/null", HostSession(host_boot=HOST_BOOT))._stages
        assert not [name for name in dir(stages) if name.startswith("to_")]
        names = {row["trigger"] for row in STAGES}
        assert len(names) == len(STAGES)
        with pytest.raises((MachineError, AttributeError)):
            stages.trigger("to_READY")

    run(work())
