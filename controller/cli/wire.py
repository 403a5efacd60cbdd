"""The verbs that show the traffic on a line, as it goes or as it was recorded: monitor, capture, replay."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import click

from controller.cli import terminal
from controller.cli.options import Address, baud_option, lines_option
from firmware_bridge.ports.transport import PortError, PortSettings
from firmware_bridge.tools.capture import (
    LONGEST_LINE,
    BadCapture,
    DecodedLine,
    Header,
    Record,
    Remark,
    Traffic,
    end_line,
    header_line,
    read_capture,
    record_line,
    utc_now,
)
from firmware_bridge.tools.listening import LineListener
from firmware_bridge.tools.probe import guess

HANGING = 16  # where a line that is broken goes on: under the packet

hex_option = click.option("--hex", "with_hex", is_flag=True, help="Also show the bytes of every frame.")
passive_option = click.option("--passive", is_flag=True, help="Send not one byte, only listen.")
for_option = click.option(
    "--for", "for_s", type=click.FloatRange(min=0), metavar="SECONDS", help="End after this time."
)
count_option = click.option(
    "--count", type=click.IntRange(min=1), metavar="N", help="End once this many frames have been seen."
)


@click.command()
@click.argument("address", metavar="PORT", type=Address())
@baud_option
@passive_option
@for_option
@count_option
@hex_option
@lines_option
def monitor(
    address: str,
    settings: PortSettings,
    passive: bool,
    for_s: float | None,
    count: int | None,
    with_hex: bool,
    as_json: bool,
) -> None:
    """Show the traffic at PORT, decoded.

    One line a frame, until Ctrl-C: seconds, direction (out is to the device), packet, numbers,
    message. Acts as a host that opens a session and keeps it, commands nothing and stores no event;
    with --passive it sends nothing at all. Waits for a device that is unplugged.

    \b
    Examples:
      shoectl monitor /dev/ttyUSB0
      shoectl monitor /dev/ttyUSB0 --for 10 --hex
      shoectl monitor /dev/ttyUSB0 --passive --json
    """
    viewer = Viewer(with_hex, as_json)
    asyncio.run(_listen(address, settings, passive, for_s, count, viewer.take, viewer.traffic))
    viewer.finish()


@click.command()
@click.argument("address", metavar="PORT", type=Address())
@click.argument("file", type=click.Path(path_type=Path))
@baud_option
@passive_option
@for_option
@count_option
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there.")
@lines_option
def capture(
    address: str,
    file: Path,
    settings: PortSettings,
    passive: bool,
    for_s: float | None,
    count: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Record every byte at PORT into FILE.

    Shows the traffic as `monitor` does; `shoectl replay FILE` shows it again. FILE is JSON Lines,
    written as it goes: what came before this program was killed is there.

    \b
    Examples:
      shoectl capture /dev/ttyUSB0 jam.jsonl
      shoectl capture /dev/ttyUSB0 night.jsonl --passive --for 3600
    """
    viewer = Viewer(False, as_json)
    with _output(file, force) as out:

        def write(line: bytes) -> None:
            try:
                out.write(line)
                out.flush()
            except OSError as error:
                raise click.ClickException(f"{file}: {error.strerror}") from None

        write(header_line(Header(port=address, started=utc_now(), baud=settings.baud, passive=passive)))
        records = 0

        def take(record: Record) -> None:
            nonlocal records
            write(record_line(record))
            records += 1
            viewer.take(record)

        asyncio.run(_listen(address, settings, passive, for_s, count, take, viewer.traffic))
        write(end_line(viewer.traffic.seconds, records))
    viewer.finish()


@contextlib.contextmanager
def _output(file: Path, force: bool) -> Iterator[IO[bytes]]:
    try:
        out = file.open("wb" if force else "xb", buffering=0)
    except FileExistsError:
        raise click.ClickException(f"{file} is there already; --force overwrites it") from None
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
    with out:
        yield out


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@hex_option
@lines_option
def replay(file: Path, with_hex: bool, as_json: bool) -> None:
    """Show the capture FILE, decoded.

    The lines are those that `monitor` would have shown, then come the sums.

    \b
    Example:
      shoectl replay jam.jsonl
    """
    viewer = Viewer(with_hex, as_json)
    try:
        with file.open("rb") as lines:
            for record in read_capture(iter(lambda: lines.readline(LONGEST_LINE + 1), b"")):
                if isinstance(record, Header):
                    passive = ", passive" if record.passive else ""
                    terminal.tell(f"{file}: {record.port} at {record.baud} baud, from {record.started}{passive}")
                else:
                    viewer.take(record)
    except BadCapture as error:
        viewer.finish()
        raise click.ClickException(f"{file}: {error}") from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise click.ClickException(f"{file}: {error.strerror}") from None
    viewer.finish()


class Viewer:
    """Shows records as they come, then what they add up to."""

    def __init__(self, with_hex: bool, as_json: bool) -> None:
        self.traffic = Traffic()
        self._with_hex = with_hex
        self._as_json = as_json

    def take(self, record: Record) -> None:
        """Show what this record completes."""
        for line in self.traffic.feed(record):
            if self._as_json:
                terminal.say_json(line.plain())
            else:
                self._show(line)

    def _show(self, line: DecodedLine) -> None:
        colour = "red" if line.bad else "cyan" if isinstance(line.what, Remark) else "yellow" if line.notes else None
        for part in terminal.fold(terminal.plain(str(line)), HANGING):
            terminal.say(part, colour)
        if self._with_hex:
            for at in range(0, len(line.raw), 24):
                terminal.say(f"{' ' * HANGING}{line.raw[at : at + 24].hex(' ')}")

    def finish(self) -> None:
        """Show the sums."""
        traffic = self.traffic
        sides = [(direction, traffic.tallies[direction]) for direction in ("in", "out")]
        if self._as_json:
            tallies = {direction: dataclasses.asdict(tally) for direction, tally in sides}
            terminal.say_json({"summary": {"seconds": traffic.seconds, **tallies, "round_trip": traffic.round_trip}})
            return
        terminal.say()
        heads = ("", "frames", "bad", "messages", "resends", "duplicates", "lost", "bytes", "unfinished")
        rows = [
            (direction, *(str(getattr(tally, head)) for head in heads[1:]))
            for direction, tally in sides
        ]  # fmt: skip
        for line in terminal.table(heads, rows):
            terminal.say(line)
        terminal.say(f"round trip: {terminal.round_trip(traffic.round_trip)}")
        came = traffic.tallies["in"]
        if came.bytes and not came.frames:
            terminal.say(f"no whole frame came in: {terminal.plain(guess(traffic.sample))}", "red")


async def _listen(
    address: str,
    settings: PortSettings,
    passive: bool,
    for_s: float | None,
    count: int | None,
    take: Callable[[Record], None],
    traffic: Traffic,
) -> None:
    """Take every record until Ctrl-C, the time or the count ends it."""
    loop = asyncio.get_running_loop()
    listening = LineListener(address, settings, passive=passive)
    ending = (signal.SIGINT, signal.SIGTERM)
    for number in ending:
        loop.add_signal_handler(number, listening.stop)
    if for_s is not None:
        loop.call_later(for_s, listening.stop)
    try:
        async with contextlib.aclosing(listening.records()) as records:
            async for record in records:
                take(record)
                if count is not None and traffic.frames >= count:
                    listening.stop()
                    count = None
    except PortError as error:
        raise click.ClickException(str(error)) from None
    finally:
        for number in ending:
            loop.remove_signal_handler(number)
