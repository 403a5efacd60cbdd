"""Runs the points of the conformance test one after another: as a pure class, or on a port with asyncio.

A conforming device takes about half a minute. Whatever the device does, no run takes longer than `RUN_LIMIT_S`, or
`RUN_WITH_CARDS_LIMIT_S` with cards, except for a person's hands.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal

from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortError, PortLost, PortSettings, open_port
from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.person import HandTask
from firmware_bridge.tools.conform.point import Point, chosen
from firmware_bridge.tools.conform.reading import Failed, Skipped
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.tools.observer import random_boot
from firmware_bridge.wire.messages import Command, Indicate, Light

RUN_LIMIT_S = 180.0
RUN_WITH_CARDS_LIMIT_S = 900.0
RUN_INTERACTIVE_LIMIT_S = 4 * 3600.0
REOPEN_TRIES, REOPEN_EVERY_S = 120, 0.5  # for a device that was switched off and on
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
    new results. While `task` is set, a person is asked to do something; `answer` says whether it was done."""

    def __init__(
        self,
        *,
        host_boot: int,
        now: float,
        with_cards: bool = False,
        slow: bool = False,
        interactive: bool = False,
        only: Collection[str] = (),
    ) -> None:
        self.points = chosen(with_cards=with_cards, slow=slow, interactive=interactive)
        if only:
            self.points = [point for point in self.points if point.name in only]
        self.results: list[PointResult] = []
        limit_s = RUN_WITH_CARDS_LIMIT_S if with_cards else RUN_LIMIT_S
        self._ends_at = now + (RUN_INTERACTIVE_LIMIT_S if interactive else limit_s)
        self._talk = Talk(host_boot, now)
        self._talk.interactive = interactive
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

    @property
    def task(self) -> HandTask | None:
        """What a person is asked to do now."""
        return self._talk.task if self._talk.task_done is None else None

    def answer(self, done: bool, now: float) -> list[PointResult]:
        """The person has done the task, or declined to."""
        self._talk.task_done = done
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


Incoming = asyncio.Queue[bytes | PortLost | bool]  # True or False: what a person answers
AskPerson = Callable[[HandTask, Callable[[bool], None]], None]  # asks a person, who answers later
Write = Callable[[bytes], None]


async def run_points(
    write: Write,
    incoming: Incoming,
    *,
    report: Callable[[PointResult], None] = lambda result: None,
    with_cards: bool = False,
    slow: bool = False,
    ask: AskPerson | None = None,
    reopen: Callable[[], Awaitable[Write | None]] | None = None,
    only: Collection[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> list[PointResult]:
    """Run the points on an open port; each result is passed to `report` as soon as it is known. With `ask`, the run is
    interactive; `reopen` is called when the port is lost because the device was switched off."""
    run = Conformance(
        host_boot=random_boot(), now=clock(), with_cards=with_cards, slow=slow, interactive=ask is not None, only=only
    )
    asked: HandTask | None = None
    switched_off = False  # in this point
    while not run.finished:
        try:
            got = await asyncio.wait_for(incoming.get(), max(0.0, run.deadline - clock()))
        except TimeoutError:
            fresh = run.tick(clock())
        else:
            again = await reopen() if isinstance(got, PortLost) and reopen and switched_off else None
            if again:
                write, fresh = again, []
            elif isinstance(got, PortLost):
                fresh = run.lost(got.detail)
            elif isinstance(got, bool):
                fresh, asked = run.answer(got, clock()), None
            else:
                fresh = run.receive(got, clock())
        for result in fresh:
            report(result)
            switched_off = False
        data = run.take_output()
        if data:
            write(data)
        if run.task is not asked:
            asked = run.task
            switched_off = switched_off or asked is HandTask.POWER_CYCLE
            if ask and asked:
                ask(asked, incoming.put_nowait)
    return run.results


async def conform(
    address: str,
    *,
    report: Callable[[PointResult], None] = lambda result: None,
    with_cards: bool = False,
    slow: bool = False,
    ask: AskPerson | None = None,
    only: Collection[str] = (),
    settings: PortSettings = DEFAULT_SETTINGS,
) -> list[PointResult]:
    """Run the points against the device at this address; raises PortError if the port cannot be opened."""
    incoming: Incoming = asyncio.Queue()
    port = await open_port(address, incoming.put_nowait, incoming.put_nowait, settings)

    async def reopen() -> Write | None:
        nonlocal port
        port.close()
        for _ in range(REOPEN_TRIES):
            await asyncio.sleep(REOPEN_EVERY_S)
            with contextlib.suppress(PortError):
                port = await open_port(address, incoming.put_nowait, incoming.put_nowait, settings)
                return port.write
        return None

    try:
        return await run_points(
            port.write, incoming, report=report, with_cards=with_cards, slow=slow, ask=ask, reopen=reopen, only=only
        )
    finally:
        port.close()
