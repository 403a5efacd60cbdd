"""Runs the points of the conformance test one after another: as a pure class, or on a port with asyncio.

A conforming device takes about half a minute. Whatever the device does, no run takes longer than `RUN_LIMIT_S`, or
`RUN_WITH_CARDS_LIMIT_S` with cards.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortLost, PortSettings, open_port
from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.point import Point, chosen
from firmware_bridge.tools.conform.reading import Failed, Skipped
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.tools.observer import random_boot
from firmware_bridge.wire.messages import Command, Indicate, Light

RUN_LIMIT_S = 180.0
RUN_WITH_CARDS_LIMIT_S = 900.0
RESTORE_S = 10.0  # for restoring the lock and the light

# The device has seen command ids and handed over events that its own host does not know.
AFTERWARDS = (
    "Restart the device before it returns to its table, and erase its memory if it keeps one: "
    "it remembers the commands of this test."
)


@dataclass(frozen=True, slots=True)
class PointResult:
    """The result of one point."""

    name: str
    section: str
    asks: str
    verdict: Literal["passed", "failed", "skipped"]
    detail: str
    took_s: float


class Conformance:
    """One run. Call `take_output` after every other call, and `tick` at `deadline`; `tick` and `receive` return
    new results."""

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
        """Whether the run is complete."""
        return self._deadline == math.inf

    @property
    def deadline(self) -> float:
        """When `tick` must be called next."""
        return self._deadline

    def tick(self, now: float) -> list[PointResult]:
        """Continue at this time."""
        return self._resume(now)

    def receive(self, data: bytes, now: float) -> list[PointResult]:
        """Process bytes from the device."""
        self._talk.now = now
        self._talk.receive(data)
        return self._resume(now)

    def lost(self, why: str) -> list[PointResult]:
        """The port is lost: all unfinished points have failed."""
        before = len(self.results)
        for point in self.points[before:]:
            self._add_result(point, "failed", why, 0.0)
        self._deadline = math.inf
        return self.results[before:]

    def _resume(self, now: float) -> list[PointResult]:
        before = len(self.results)
        self._talk.now = now
        if not self.finished:
            self._deadline = next(self._steps, math.inf)
        return self.results[before:]

    # --- the points in order ----------------------------------------------------------------------------------

    def _run(self) -> Steps[None]:
        for point in self.points:
            if self._talk.now >= self._ends_at:
                self._add_result(point, "failed", "not tested: the run's time limit was reached before", 0.0)
            else:
                yield from self._judge(point)
        if self._talk.indicated and self._talk.now < self._ends_at:
            yield from self._restore(lambda id, boot: Indicate(id, boot, Light.OFF))

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
        restoring_command = talk.unlock_with
        if restoring_command:
            yield from self._restore(restoring_command)
            talk.unlock_with = None
        self._add_result(point, verdict, detail, took_s)

    def _within(self, steps: Steps[None], limit_s: float) -> Steps[None]:
        until = min(self._talk.now + limit_s, self._ends_at)
        for deadline in steps:
            if self._talk.now >= until:
                steps.close()
                raise Failed(f"not finished within {limit_s:g} s")
            yield min(deadline, until)

    def _restore(self, command: Callable[[int, int], Command]) -> Steps[None]:
        """Give one command in a separate session, to leave the device in the state it was found in."""
        with contextlib.suppress(Failed):  # the device does not answer, which a point has reported
            yield from self._within(self._command(command), RESTORE_S)
        self._talk.leave()

    def _command(self, command: Callable[[int, int], Command]) -> Steps[None]:
        self._talk.begin()
        greeting = yield from self._talk.greet()
        yield from self._talk.done(command(self._talk.next_id(), greeting.boot).encode())

    def _add_result(
        self, point: Point, verdict: Literal["passed", "failed", "skipped"], detail: str, took_s: float
    ) -> None:
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
    """Run the points on an open port; each result is passed to `report` as soon as it is known."""
    boot = random_boot()
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
    """Run the points against the device at this address; raises PortError if the port cannot be opened."""
    incoming: asyncio.Queue[bytes | PortLost] = asyncio.Queue()
    port = await open_port(address, incoming.put_nowait, incoming.put_nowait, settings)
    try:
        return await run_points(port.write, incoming, report=report, with_cards=with_cards, slow=slow, only=only)
    finally:
        port.close()
