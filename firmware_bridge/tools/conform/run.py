"""Runs the points of the conformance test one after the other: pure, or on a port with asyncio around it.

An honest device takes about half a minute. No run takes longer than `RUN_LIMIT_S`, with cards
`RUN_WITH_CARDS_LIMIT_S`, whatever the device does.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortLost, PortSettings, open_port
from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.point import Point, chosen
from firmware_bridge.tools.conform.reading import Failed, Skipped
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import Command, Indicate, Light

RUN_LIMIT_S = 180.0
RUN_WITH_CARDS_LIMIT_S = 900.0
TIDY_S = 10.0  # for bringing the lock and the light back

# The device has seen ids and given away events that its own host knows nothing of.
AFTERWARDS = (
    "Restart the device before it goes back to its table, and erase its memory if it keeps one: "
    "it remembers the commands of this test."
)


@dataclass(frozen=True, slots=True)
class PointResult:
    """What came of one point."""

    name: str
    section: str
    asks: str
    verdict: Literal["passed", "failed", "skipped"]
    detail: str
    took_s: float


class Conformance:
    """One run. Call `take_output` after every other call, and `tick` when `deadline` has come; both `tick` and
    `receive` return the results that are new."""

    def __init__(
        self,
        *,
        host_boot: int,
        now: float,
        with_cards: bool = False,
        slow: bool = False,
        only: Collection[str] = (),
    ) -> None:
        self.points = chosen(with_cards=with_cards, slow=slow)
        if only:
            self.points = [point for point in self.points if point.name in only]
        self.results: list[PointResult] = []
        self._ends_at = now + (RUN_WITH_CARDS_LIMIT_S if with_cards else RUN_LIMIT_S)
        self._talk = Talk(host_boot, now)
        self._steps = self._run()
        self._deadline = now
        self.take_output = self._talk.take_output

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        return self._deadline == math.inf

    @property
    def deadline(self) -> float:
        """When `tick` must be called."""
        return self._deadline

    def tick(self, now: float) -> list[PointResult]:
        """Let time pass."""
        return self._go_on(now)

    def receive(self, data: bytes, now: float) -> list[PointResult]:
        """Bytes from the device."""
        self._talk.now = now
        self._talk.hear(data)
        return self._go_on(now)

    def lost(self, why: str) -> list[PointResult]:
        """The port is gone: what was not finished has failed."""
        before = len(self.results)
        for point in self.points[before:]:
            self._book(point, "failed", why, 0.0)
        self._deadline = math.inf
        return self.results[before:]

    def _go_on(self, now: float) -> list[PointResult]:
        before = len(self.results)
        self._talk.now = now
        if not self.finished:
            self._deadline = next(self._steps, math.inf)
        return self.results[before:]

    # --- one point after the other ----------------------------------------------------------------------------------

    def _run(self) -> Steps[None]:
        for point in self.points:
            if self._talk.now >= self._ends_at:
                self._book(point, "failed", "not tested: the time of the run was used up before", 0.0)
            else:
                yield from self._judge(point)
        if self._talk.indicated and self._talk.now < self._ends_at:
            yield from self._bring_back(lambda id, boot: Indicate(id, boot, Light.OFF))

    def _judge(self, point: Point) -> Steps[None]:
        talk = self._talk
        talk.begin()
        started = talk.now
        verdict: Literal["passed", "failed", "skipped"] = "passed"
        try:
            yield from self._within(point.check(talk), point.limit_s)
            detail = talk.note
        except Failed as failed:
            verdict, detail = "failed", str(failed)
        except Skipped as skipped:
            verdict, detail = "skipped", str(skipped)
        took_s = talk.now - started
        talk.leave()
        turn_back = talk.unlock_with
        if turn_back:
            yield from self._bring_back(turn_back)
            talk.unlock_with = None
        self._book(point, verdict, detail, took_s)

    def _within(self, steps: Steps[None], limit_s: float) -> Steps[None]:
        until = min(self._talk.now + limit_s, self._ends_at)
        for deadline in steps:
            if self._talk.now >= until:
                steps.close()
                raise Failed(f"not finished within {limit_s:g} s")
            yield min(deadline, until)

    def _bring_back(self, command: Callable[[int, int], Command]) -> Steps[None]:
        """One command in a session of its own, so that the device is left as it was found."""
        with contextlib.suppress(Failed):  # then the device does not answer, and a point has said so
            yield from self._within(self._command(command), TIDY_S)
        self._talk.leave()

    def _command(self, command: Callable[[int, int], Command]) -> Steps[None]:
        self._talk.begin()
        greeting = yield from self._talk.greet()
        yield from self._talk.done(command(self._talk.next_id(), greeting.boot).encode())

    def _book(self, point: Point, verdict: Literal["passed", "failed", "skipped"], detail: str, took_s: float) -> None:
        self.results.append(PointResult(point.name, point.section, point.asks, verdict, detail, round(took_s, 3)))


# --- in real time -----------------------------------------------------------------------------------------------------


async def run_points(
    write: Callable[[bytes], None],
    incoming: asyncio.Queue[bytes | PortLost],
    *,
    report: Callable[[PointResult], None] = lambda result: None,
    with_cards: bool = False,
    slow: bool = False,
    only: Collection[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> list[PointResult]:
    """Run the points over a byte pipe that is open; `report` is told each result as it comes."""
    boot = secrets.randbelow(2**32 - 1) + 1
    run = Conformance(host_boot=boot, now=clock(), with_cards=with_cards, slow=slow, only=only)
    while not run.finished:
        try:
            got = await asyncio.wait_for(incoming.get(), max(0.0, run.deadline - clock()))
        except TimeoutError:
            fresh = run.tick(clock())
        else:
            fresh = run.lost(got.detail) if isinstance(got, PortLost) else run.receive(got, clock())
        for result in fresh:
            report(result)
        data = run.take_output()
        if data:
            write(data)
    return run.results


async def conform(
    address: str,
    *,
    report: Callable[[PointResult], None] = lambda result: None,
    with_cards: bool = False,
    slow: bool = False,
    only: Collection[str] = (),
    settings: PortSettings = DEFAULT_SETTINGS,
) -> list[PointResult]:
    """Run the points against the device at this address; raises PortError where it cannot be opened."""
    incoming: asyncio.Queue[bytes | PortLost] = asyncio.Queue()
    port = await open_port(address, incoming.put_nowait, incoming.put_nowait, settings)
    try:
        return await run_points(port.write, incoming, report=report, with_cards=with_cards, slow=slow, only=only)
    finally:
        port.close()
