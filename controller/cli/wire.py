"""The verbs that show the traffic at a port, live or from a recording: monitor, capture, replay."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
from collections.abc import Callable
from pathlib import Path

import click

from controller.cli import terminal
from controller.cli.options import (
    ANGEL_EYE,
    Address,
    baud_option,
    driver_option,
    force_option,
    lines_option,
    of_driver,
)
from controller.cli.output_file import file_errors
from firmware_bridge.ports.transport import PortError, PortSettings
from firmware_bridge.tools.angel_eye_traffic import AngelEyeTraffic, AngelEyeTrafficLine
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

INDENT = 16  # the column of the packet, where wrapped lines continue

hex_option = click.option("--hex", "with_hex", is_flag=True, help="Also show the bytes of every frame.")
passive_option = click.option("--passive", is_flag=True, help="Only listen, send nothing.")
for_option = click.option(
    "--for", "for_s", type=click.FloatRange(min=0), metavar="SECONDS", help="End after this time."
)
count_option = click.option("--count", type=click.IntRange(min=1), metavar="N", help="End after this many frames.")


@click.command()
@click.argument("address", metavar="PORT", type=Address())
@baud_option
@driver_option
@passive_option
@for_option
@count_option
@hex_option
@lines_option
def monitor(
    address: str,
    settings: PortSettings,
    driver: str,
    passive: bool,
    for_s: float | None,
    count: int | None,
    with_hex: bool,
    as_json: bool,
) -> None:
    """Show the traffic at PORT, decoded.

    One line per frame, until Ctrl-C: seconds, direction (out is to the device), packet, numbers,
    message. Opens a session and keeps it open, sends no command and confirms no event; with
    --passive it sends nothing at all. If the device is unplugged, it waits for it.

    \b
    Examples:
      shoectl monitor /dev/ttyUSB0
      shoectl monitor /dev/ttyUSB0 --for 10 --hex
      shoectl monitor /dev/ttyUSB0 --passive --json
      shoectl monitor socket://10.0.0.7:4001 --driver angel-eye
    """
    settings, passive = of_driver(driver, settings), passive or bool(driver)
    viewer = Viewer(with_hex, as_json, driver)
    asyncio.run(_listen(address, settings, passive, for_s, count, viewer.take, viewer.traffic))
    viewer.finish()


@click.command()
@click.argument("address", metavar="PORT", type=Address())
@click.argument("file", type=click.Path(path_type=Path))
@baud_option
@driver_option
@passive_option
@for_option
@count_option
@force_option
@lines_option
def capture(
    address: str,
    file: Path,
    settings: PortSettings,
    driver: str,
    passive: bool,
    for_s: float | None,
    count: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Record every byte at PORT into FILE.

    Shows the traffic as `monitor` does; `shoectl replay FILE` shows it again. FILE is JSON Lines and
    is written continuously: it is complete up to the moment when the program ends or is killed.

    \b
    Examples:
      shoectl capture /dev/ttyUSB0 jam.jsonl
      shoectl capture /dev/ttyUSB0 night.jsonl --passive --for 3600
    """
    settings, passive = of_driver(driver, settings), passive or bool(driver)
    viewer = Viewer(False, as_json, driver)
    with file_errors(file):
        out = file.open("wb" if force else "xb", buffering=0)
    with out:

        def write(line: bytes) -> None:
            with file_errors(file):
                out.write(line)

        write(header_line(_header(address, settings, passive, driver)))
        records = 0

        def take(record: Record) -> None:
            nonlocal records
            write(record_line(record))
            records += 1
            viewer.take(record)

        asyncio.run(_listen(address, settings, passive, for_s, count, take, viewer.traffic))
        write(end_line(viewer.traffic.seconds, records))
    viewer.finish()


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@hex_option
@lines_option
def replay(file: Path, with_hex: bool, as_json: bool) -> None:
    """Show the recording FILE, decoded.

    The same lines as `monitor` shows, followed by the totals.

    \b
    Example:
      shoectl replay jam.jsonl
    """
    viewer = Viewer(with_hex, as_json)
    try:
        with file_errors(file), file.open("rb") as lines:
            for record in read_capture(iter(lambda: lines.readline(LONGEST_LINE + 1), b"")):
                if isinstance(record, Header):
                    viewer = Viewer(with_hex, as_json, record.driver)
                    passive = ", passive" if record.passive else ""
                    terminal.print_message(
                        f"{file}: {record.port} at {record.baud} baud, from {record.started}{passive}"
                    )
                else:
                    viewer.take(record)
    except BadCapture as error:
        viewer.finish()
        raise click.ClickException(f"{file}: {error}") from None
    viewer.finish()


def _header(address: str, settings: PortSettings, passive: bool, driver: str) -> Header:
    return Header(port=address, started=utc_now(), baud=settings.baud, passive=passive, driver=driver)


class Viewer:
    """Prints the frames that the records contain, and finally their totals."""

    def __init__(self, with_hex: bool, as_json: bool, driver: str = "") -> None:
        self.traffic: Traffic | AngelEyeTraffic = AngelEyeTraffic() if driver == ANGEL_EYE else Traffic()
        self._with_hex = with_hex
        self._as_json = as_json

    def take(self, record: Record) -> None:
        """Print the frames that this record completes."""
        for line in self.traffic.feed(record):
            if self._as_json:
                terminal.print_json(line.plain())
            else:
                self._print(line)

    def _print(self, line: DecodedLine | AngelEyeTrafficLine) -> None:
        colour = "red" if line.bad else "cyan" if isinstance(line.what, Remark) else "yellow" if line.notes else None
        text = str(line)
        terminal.print_wrapped(text[:INDENT], text[INDENT:], colour)
        if self._with_hex:
            for at in range(0, len(line.raw), 24):
                terminal.print_line(f"{' ' * INDENT}{line.raw[at : at + 24].hex(' ')}")

    def finish(self) -> None:
        """Print the totals."""
        traffic = self.traffic
        sides = [(direction, traffic.tallies[direction]) for direction in ("in", "out")]
        if self._as_json:
            tallies = {direction: dataclasses.asdict(tally) for direction, tally in sides}
            terminal.print_json({"summary": {"seconds": traffic.seconds, **tallies, "round_trip": traffic.round_trip}})
            return
        terminal.print_line()
        heads = ("", "frames", "bad", "messages", "resends", "duplicates", "lost", "bytes", "unfinished")
        rows = [
            (direction, *(str(getattr(tally, head)) for head in heads[1:]))
            for direction, tally in sides
        ]  # fmt: skip
        terminal.print_table(heads, rows)
        terminal.print_line(f"round trip: {terminal.round_trip(traffic.round_trip)}")
        received = traffic.tallies["in"]
        if received.bytes and not received.frames:
            terminal.print_line(f"no complete frame was received: {terminal.printable(guess(traffic.sample))}", "red")


async def _listen(
    address: str,
    settings: PortSettings,
    passive: bool,
    for_s: float | None,
    count: int | None,
    take: Callable[[Record], None],
    traffic: Traffic | AngelEyeTraffic,
) -> None:
    """Pass every record to `take` until Ctrl-C, the time or the count ends it."""
    loop = asyncio.get_running_loop()
    listening = LineListener(address, settings, passive=passive)
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
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
        for number in signals:
            loop.remove_signal_handler(number)
