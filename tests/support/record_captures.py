"""Records tests/captures/ again from the simulators, over a real pty: `python -m tests.support.record_captures`.

The capture of an Angel Eye II-EX is written from a story of its reports.

Run it when the protocol has changed, and review the difference: the tests compare the decoder with these captures.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

from click.testing import CliRunner

from controller.cli.shoectl import cli
from firmware_bridge.connection import Connection
from firmware_bridge.drivers.angel_eye.telegram import (
    Acknowledged,
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    encode,
)
from firmware_bridge.tools.capture import (
    Header,
    LineEvent,
    Piece,
    Record,
    Remark,
    end_line,
    header_line,
    record_line,
    utc_now,
)
from firmware_bridge.tools.listening import ConnectionReporter, LineListener
from firmware_bridge.wire.health import Direction
from firmware_bridge.wire.messages import AskCounters, AskStatus, Dispense, StackPresented
from firmware_bridge.wire.messages import EventMessage as DeviceEvent
from firmware_bridge.wire.session import EventMark, Happening, HostSession, Ready
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SimulatedDevice, SimulatedTable
from simulators.devices.faults import FaultName
from simulators.pipes.endpoints import PtyEndpoint

CAPTURES = Path(__file__).parents[1] / "captures"
PORT = Path("run/shoe")  # relative, so that captures contain no path of this machine
STORY_STARTED = "2026-11-19T12:00:00.000Z"
DECK, HAND = Spot(CardPlace.TABLE, 0), Spot(CardPlace.HAND, 1)


class Shoe:
    """A simulated shoe on a pty, and the person who handles its cards."""

    def __init__(self) -> None:
        self.clock = asyncio.get_running_loop().time
        self.device: SimulatedDevice = SimulatedTable(7, now=self.clock()).shoe
        self.endpoint = PtyEndpoint(self.device, PORT)

    def do(self, work: Callable[[float], object]) -> None:
        work(self.clock())
        self.endpoint.poke()


@contextlib.asynccontextmanager
async def shoe_at_the_port() -> AsyncIterator[Shoe]:
    shoe = Shoe()
    await shoe.endpoint.start()
    yield shoe
    await shoe.endpoint.close()


async def greeting() -> list[Record]:
    """A monitor greets a shoe that has just started, and leaves."""
    async with shoe_at_the_port():
        return await _listened(lambda records, stop: stop() if len(records) > 8 else None)


async def unplug() -> list[Record]:
    """The cable comes out and goes in again, then the shoe restarts."""
    async with shoe_at_the_port() as shoe:
        readies = 0

        def act(records: list[Record], stop: Callable[[], None]) -> None:
            nonlocal readies
            if isinstance(records[-1], Remark) and records[-1].event is LineEvent.READY:
                readies += 1
                if readies == 1:
                    shoe.do(lambda now: shoe.device.inject(FaultName.UNPLUG, now, for_s=1.0))
                elif readies == 2:
                    shoe.do(lambda now: shoe.device.inject(FaultName.REBOOT, now))
                else:
                    stop()

        return await _listened(act)


async def _listened(act: Callable[[list[Record], Callable[[], None]], None]) -> list[Record]:
    listening = LineListener(str(PORT))
    records: list[Record] = []
    async for record in listening.records():
        records.append(record)
        act(records, listening.stop)
    return records


async def dispense() -> list[Record]:
    """A controller lets the shoe dispense four cards, the player takes them, every event is stored."""

    async def play(shoe: Shoe, host: Connection, seen: asyncio.Queue[DeviceEvent]) -> None:
        shoe.do(lambda now: shoe.device.load(DECK, now))
        await host.command(Dispense(41, host.session.boot, 4))
        while not isinstance(await seen.get(), StackPresented):
            pass
        await seen.get()  # the cycle is done
        shoe.do(lambda now: shoe.device.take(HAND, now))
        await seen.get()
        await host.ask(AskStatus)

    return await _hosted(play)


async def noise() -> list[Record]:
    """Bits are flipped on the wire while a controller asks; the link brings every answer nevertheless."""

    async def play(shoe: Shoe, host: Connection, seen: asyncio.Queue[DeviceEvent]) -> None:
        shoe.do(lambda now: shoe.device.inject(FaultName.NOISE, now))
        for _ in range(12):
            await asyncio.gather(*(host.ask(question) for question in (AskStatus, AskCounters, AskStatus)))

    return await _hosted(play)


async def _hosted(play: Callable[[Shoe, Connection, asyncio.Queue[DeviceEvent]], Awaitable[None]]) -> list[Record]:
    """Let a host that stores every event talk to the shoe."""
    loop = asyncio.get_running_loop()
    start, records, seen = loop.time(), list[Record](), asyncio.Queue[DeviceEvent]()

    def on_wire(direction: Direction, data: bytes) -> None:
        records.append(Piece(round(loop.time() - start, 6), direction, data))

    def on_event(event: LineEvent, text: str) -> None:
        records.append(Remark(round(loop.time() - start, 6), event, text))

    reporter = ConnectionReporter(on_event)

    def on_happening(happening: Happening) -> None:
        reporter.happened(happening)
        if isinstance(happening, DeviceEvent):
            host.stored(EventMark(host.session.boot, happening.number))
            seen.put_nowait(happening)
        elif isinstance(happening, Ready):
            ready.set()

    async with shoe_at_the_port() as shoe:
        ready = asyncio.Event()
        session = HostSession(host_boot=0x0A0B0C0D, software="recorder")
        host = Connection(str(PORT), session, on_happening=on_happening, on_trouble=reporter.trouble, on_wire=on_wire)
        running = asyncio.create_task(host.run())
        await ready.wait()
        await play(shoe, host, seen)
        host.close()
        await running
    return records


def angel_eye() -> list[Record]:
    """A round at an Angel Eye: reports sent up to three times, one with a flipped bit, an error, an unknown report."""
    story: list[tuple[str, bytes, int]] = [
        ("1", b"S", 1),
        ("2", b"P", 3),
        ("3", b"D\x80\xb9", 3),
        ("4", b"D\x90\xc2", 2),
        ("5", b"D\x81\x9a", 3),
        ("6", b"E\xc1", 3),
        ("7", b"e\x81", 3),
        ("8", b"R\x91\xa6", 3),
        ("9", b"G\x90", 3),
        ("0", b"C", 1),
        ("1", b"L\x81", 2),
        ("2", b"M120030", 1),
        ("3", b"Q!", 1),
    ]
    records: list[Record] = [Remark(0.0, LineEvent.OPENED, "listening on socket://10.0.0.7:4001, sending nothing")]
    at_s = 0.5
    for sequence, content, times in story:
        wire = encode(ReportTelegram(ord(sequence), content))
        for number in range(times):
            flipped = bytes((*wire[:3], wire[3] ^ 4, *wire[4:])) if (sequence, number) == ("5", 0) else wire
            records += [Piece(round(at_s, 3), "in", flipped[:4]), Piece(round(at_s + 0.01, 3), "in", flipped[4:])]
            at_s += 0.05
        at_s += 1.0
    locked = encode(CommandTelegram("LK", "02"))
    busy, accepted = encode(NotAcknowledged(0x21)), encode(Acknowledged())
    for direction, wire in (("out", locked), ("in", busy), ("out", locked), ("in", accepted)):
        records.append(Piece(round(at_s, 3), cast(Direction, direction), wire))
        at_s += 0.1
    return records


def main() -> None:
    """Record them all, each with what `shoectl replay` prints for it."""
    for scene in (greeting, dispense, noise, unplug):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            started = utc_now()
            records = asyncio.run(scene())
        write(scene.__name__, Header(port=os.fspath(PORT), started=started, baud=115200), records)
    foreign = Header(port="socket://10.0.0.7:4001", started=STORY_STARTED, baud=4800, passive=True, driver="angel-eye")
    write("angel_eye", foreign, angel_eye())


def write(name: str, header: Header, records: list[Record]) -> None:
    """Write a capture, and what `shoectl replay` prints for it."""
    lines = [header_line(header), *map(record_line, records), end_line(records[-1].at_s, len(records))]
    file = CAPTURES / f"{name}.jsonl"
    file.write_bytes(b"".join(lines))
    replayed = CliRunner().invoke(cli, ["replay", str(file)])
    file.with_suffix(".txt").write_text(replayed.stdout)
    print(f"{file.name}: {len(records)} records, exit {replayed.exit_code}")


if __name__ == "__main__":
    main()
