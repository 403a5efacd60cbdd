"""The conformance test: honest devices pass, and no device breaks the run. Its defects: tests/campaign."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import random
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec
import pytest

from firmware_bridge.ports.transport import PortLossReason, PortLost
from firmware_bridge.tools.conform import POINTS, Conformance, PointResult, chosen, conform, run_points
from firmware_bridge.tools.conform.run import RUN_LIMIT_S, RUN_WITH_CARDS_LIMIT_S
from firmware_bridge.wire.messages import (
    Capability,
    CycleDone,
    Dispense,
    EventMessage,
    Light,
    Place,
    PowerCause,
    Reason,
    SelfTest,
    StackTaken,
)
from firmware_bridge.wire.packet import PacketType
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SHOE_CAPABILITIES, SimulatedDevice, SimulatedTable
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware import DEFECTS
from simulators.pipes.endpoints import PtyEndpoint
from simulators.pipes.wires import VirtualLine, WireEnd, WireQuality

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL = ("protocol.md", "sequences.md")
RECOGNISING = SHOE_CAPABILITIES | {Capability.RECOGNISES}
LOCK_OR_LIGHT = {Capability.LOCKS, Capability.INDICATES}
WITHOUT_HANDS = (  # on a shoe
    "cards.face_up",
    "sequence.shuffle",
    "sequence.deliver",
    "sequence.eject",
    "sequence.release",
)
QUICK = ("frame.split", "link.open", "link.nak", "command.at_most_once", "event.replay")


def a_shoe(
    build: Callable[..., Firmware] = Firmware,
    capabilities: frozenset[Capability] = RECOGNISING,
    *,
    loaded: bool = True,
) -> SimulatedDevice:
    shoe = SimulatedTable(1, build=build, shoe_capabilities=capabilities).shoe
    if loaded:
        shoe.load(Spot(CardPlace.TABLE, 0), 0.0)
    return shoe


def cannot(device: Callable[..., SimulatedDevice]) -> Collection[str]:
    """The points that this device must skip: it has no such cycle, nothing is in the way, or nobody takes cards."""
    if device is a_shuffler:
        a_shoe_can = ("cards.bad_count", "refusal.held", "sequence.dispense", "sequence.hold", "sequence.release")
        return ("cards.occupied", "cards.hidden", "cards.face_up", "sequence.eject", *a_shoe_can)
    return WITHOUT_HANDS


def points_with_one_defect() -> Collection[str]:
    """The points that find one defect each; a defect of the mechanics may be found by several of the others."""
    return [point.name for point in chosen(with_cards=True, slow=True) if point.name in DEFECTS]


def a_shuffler(build: Callable[..., Firmware] = Firmware) -> SimulatedDevice:
    shuffler = SimulatedTable(1, build=build).shuffler
    shuffler.load(Spot(CardPlace.TABLE, 0), 0.0)
    return shuffler


def run_on(
    device: WireEnd, *, with_cards: bool = False, only: Collection[str] = (), quality: WireQuality | None = None
) -> dict[str, PointResult]:
    """A run in virtual time, which must end in the time it promises."""
    run = Conformance(host_boot=0xFFF0FFF0, now=0.0, with_cards=with_cards, slow=with_cards, only=only)
    quality = quality or WireQuality()
    line = VirtualLine(run, device, to_device=quality, to_host=quality)
    assert line.run(lambda: run.finished, limit_s=RUN_WITH_CARDS_LIMIT_S if with_cards else RUN_LIMIT_S)
    line.rest(1.0)
    assert run.results == line.happenings
    assert [result.name for result in run.results] == [point.name for point in run.points]
    return {result.name: result for result in run.results}


def not_passed(results: dict[str, PointResult], *, without: Collection[str] = ()) -> dict[str, str]:
    """What failed or was skipped, and why; without those that must be skipped, which are looked at here."""
    assert {name: results[name].verdict for name in without} == dict.fromkeys(without, "skipped")
    wrong = {name: result.detail for name, result in results.items() if result.verdict != "passed"}
    return {name: detail for name, detail in wrong.items() if name not in without}


# --- honest devices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [a_shoe, a_shuffler])
def test_honest_device_passes(device: Callable[[], SimulatedDevice]) -> None:
    assert not_passed(run_on(device())) == {}
    assert not_passed(run_on(device(), with_cards=True), without=cannot(device)) == {}


def test_ordinary_run_takes_half_a_minute() -> None:
    assert sum(result.took_s for result in run_on(a_shoe()).values()) < 30
    assert {point.name for point in chosen(slow=True)} - {point.name for point in chosen()} == {"link.stall"}


def test_cards_are_really_moved_by_the_points_with_cards() -> None:
    assert run_on(a_shoe(), with_cards=True)["cards.once"].detail == "with Dispense"
    assert run_on(a_shuffler(), with_cards=True)["cards.once"].detail == "with Shuffle"
    assert run_on(a_shoe(loaded=False), with_cards=True)["cards.once"].detail == "with SelfTest"


@pytest.mark.parametrize(
    "quality",
    [WireQuality(baud=115200, latency_s=0.016), WireQuality(bytewise=True), WireQuality(latency_s=0.04)],
    ids=["a USB adapter", "byte by byte", "a box on the network"],
)
def test_honest_device_passes_over_other_wires(quality: WireQuality) -> None:
    assert not_passed(run_on(a_shoe(), with_cards=True, quality=quality), without=WITHOUT_HANDS) == {}


def test_simple_device_with_a_window_of_1_passes() -> None:
    def simple(plate: object, *args: object) -> Firmware:
        return Firmware(dataclasses.replace(plate, window=1), *args)  # type: ignore[type-var, arg-type]

    assert not_passed(run_on(a_shoe(simple), with_cards=True), without=WITHOUT_HANDS) == {}


@pytest.mark.parametrize("locked", [False, True])
def test_ordinary_run_moves_no_card_and_leaves_the_device_as_found(locked: bool) -> None:
    shoe = a_shoe()
    before = shoe.mechanics.sensed()
    shoe.mechanics.locked = locked
    assert not_passed(run_on(shoe)) == {}
    assert shoe.mechanics.sensed() == before
    assert (shoe.mechanics.cards_moved, shoe.mechanics.cycles_done) == (0, 0)
    assert shoe.mechanics.locked is locked
    assert shoe.firmware is not None
    assert shoe.firmware.indication is not None
    assert shoe.firmware.indication.light is Light.OFF
    assert shoe.firmware.link.session != 0
    assert shoe.firmware.deadline == math.inf, "a link session was left open"


def test_device_can_be_tested_again() -> None:
    shoe = a_shoe()
    assert not_passed(run_on(shoe)) == {}
    run = Conformance(host_boot=5, now=1000.0)
    line = VirtualLine(run, shoe, now=1000.0)
    assert line.run(lambda: run.finished, limit_s=RUN_LIMIT_S)
    assert {result.verdict for result in run.results} == {"passed"}


# --- defects --------------------------------------------------------------------------------------------------------


def test_kinds_in_the_report_of_a_taken_stack_are_found_without_moving_cards() -> None:
    """The device still keeps the report of cards that somebody took before the run."""
    shoe = a_shoe(DEFECTS["event.elements"])
    assert shoe.firmware is not None
    shoe.firmware.report(StackTaken, command=1, place=Place.EXIT, cards=3)
    assert list(not_passed(run_on(shoe))) == ["event.elements"]


@pytest.mark.parametrize("reason", [Reason.NO_CARDS, Reason.EXIT_OCCUPIED, Reason.LOCKED, Reason.BAD_ARGUMENT])
def test_refusal_without_a_reason_fails(reason: Reason, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that refuses to move a card must not get away with it because nothing could be tested."""
    refuses = {Dispense, SelfTest}
    real = Firmware._hindrance
    monkeypatch.setattr(Firmware, "_hindrance", lambda self, c: reason if type(c) in refuses else real(self, c))
    results = run_on(a_shoe(), with_cards=True, only=["cards.hidden", "sequence.dispense", "sequence.self_test"])
    assert {result.verdict for result in results.values()} == {"failed"}
    assert all(f"Refused {reason.name}" in r.detail or "no reason" in r.detail for r in results.values()), results


def test_refusal_that_status_explains_is_skipped() -> None:
    shoe = a_shoe()
    shoe.door(True, 0.0)
    results = run_on(shoe, with_cards=True, only=["cards.hidden", "sequence.dispense"])
    assert {result.verdict for result in results.values()} == {"skipped"}


class TakenAtOnce(Firmware):
    """Somebody takes every stack as soon as it is presented."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        super().report(what, **fields)
        if what is CycleDone:
            self.mechanics.take_exit(Spot(CardPlace.HAND, 1))


def test_cards_that_were_taken_must_be_named() -> None:
    results = run_on(a_shoe(TakenAtOnce), with_cards=True, only=["cards.hidden"])
    assert results["cards.hidden"].detail == "with cards that were taken"
    assert not_passed(results) == {}


def test_lock_is_turned_back_after_a_point_that_failed_while_locked() -> None:
    shoe = a_shoe(DEFECTS["cards.locked"])
    assert list(not_passed(run_on(shoe, with_cards=True, only=points_with_one_defect()))) == ["cards.locked"]
    assert shoe.mechanics.locked is False


# --- devices that cannot be tested on every point -------------------------------------------------------------------


def test_device_without_lock_is_tested_by_its_light() -> None:
    results = run_on(a_shoe(capabilities=RECOGNISING - {Capability.LOCKS}), with_cards=True)
    found = not_passed(results)
    assert {results[name].verdict for name in found} == {"skipped"}
    assert "cards.locked" in found
    assert all(name.startswith(("event.", "cards.", "refusal.", "sequence.")) for name in found)
    assert results["event.replay"].verdict == "passed", "the device keeps the event of its start"


class QuickTester(Firmware):
    """Has a self test that takes no time at all."""

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        self.mechanics.check_s = 0.0  # type: ignore[misc]
        super().start(cause, memory_kept=memory_kept, now=now)


def test_device_whose_self_test_ends_at_once_cannot_be_busy() -> None:
    at_once = ("cards.busy", "cards.lock_while_busy", "refusal.busy_first")
    assert not_passed(run_on(a_shoe(QuickTester), with_cards=True), without=(*at_once, *WITHOUT_HANDS)) == {}


def test_device_that_does_not_hold_a_stack_says_so_before_it_says_that_it_is_locked() -> None:
    results = run_on(a_shoe(capabilities=RECOGNISING - {Capability.HOLDS_STACK}), only=["command.not_able"])
    assert not_passed(results) == {}


def test_device_without_light_is_tested_by_its_lock() -> None:
    results = run_on(a_shoe(capabilities=RECOGNISING - {Capability.INDICATES}), with_cards=True)
    lights = ("command.bad_light", "command.bad_text", "sequence.light_while_busy")
    assert not_passed(results, without=(*lights, *WITHOUT_HANDS)) == {}


def test_device_without_lock_and_light_is_tested_by_what_it_refuses() -> None:
    results = run_on(a_shoe(capabilities=RECOGNISING - LOCK_OR_LIGHT))
    assert {result.verdict for result in results.values()} == {"passed", "skipped"}
    by_refusals = {name for name, result in results.items() if "with refused commands" in result.detail}
    assert by_refusals >= {"command.at_most_once", "command.across_links", "command.remembered", "command.id_reused"}
    assert {results[name].verdict for name in by_refusals} == {"passed"}


@pytest.mark.parametrize("point", ["command.remembered", "command.lower_id", "command.id_reused", "command.other_boot"])
def test_what_is_refused_shows_how_commands_are_remembered(point: str) -> None:
    simple = SHOE_CAPABILITIES - LOCK_OR_LIGHT
    found = not_passed(run_on(a_shoe(DEFECTS[point], simple), only=[point]))
    assert list(found) == [point]


# --- devices that are none ------------------------------------------------------------------------------------------


class Mute:
    """Takes everything and says nothing."""

    deadline = math.inf

    def tick(self, now: float) -> None:
        pass

    def receive(self, data: bytes, now: float) -> None:
        pass

    def take_output(self) -> bytes:
        return b""


class Babbler(Mute):
    """Says random bytes, asked or not."""

    def __init__(self, rng: random.Random) -> None:
        self.deadline = 0.0
        self._rng = rng
        self._out = b""

    def tick(self, now: float) -> None:
        self.deadline = now + 0.05
        self._out += self._rng.randbytes(40)

    def receive(self, data: bytes, now: float) -> None:
        self._out += self._rng.randbytes(len(data))

    def take_output(self) -> bytes:
        out, self._out = self._out, b""
        return out


class Echo(Mute):
    """A cable whose two lines touch: everything comes back."""

    def __init__(self) -> None:
        self._out = b""

    def receive(self, data: bytes, now: float) -> None:
        self._out += data

    take_output = Babbler.take_output


def all_failed(results: dict[str, PointResult]) -> None:
    assert {result.verdict for result in results.values()} == {"failed"}
    assert all(result.detail for result in results.values())


def test_mute_device_fails_every_point() -> None:
    results = run_on(Mute(), with_cards=True)
    all_failed(results)
    assert results["link.open"].detail.endswith("but nothing was received")


def test_babbling_device_fails_every_point() -> None:
    results = run_on(Babbler(random.Random(3)), with_cards=True)
    all_failed(results)
    assert "invalid frames were received" in results["link.open"].detail


def test_echo_fails_every_point() -> None:
    all_failed(run_on(Echo(), with_cards=True))


def test_device_that_dies_on_the_way_fails_the_rest() -> None:
    shoe = a_shoe()
    run = Conformance(host_boot=5, now=0.0)
    line = VirtualLine(run, shoe)
    assert line.run(lambda: len(run.results) == 10, limit_s=RUN_LIMIT_S)
    shoe.inject(FaultName.DEAD, line.now)
    assert line.run(lambda: run.finished, limit_s=RUN_LIMIT_S)
    assert {result.verdict for result in run.results[:10]} == {"passed"}
    assert {result.verdict for result in run.results[10:]} == {"failed"}


def test_device_that_restarts_on_the_way_fails_one_point_at_most() -> None:
    shoe = a_shoe()
    run = Conformance(host_boot=5, now=0.0)
    line = VirtualLine(run, shoe)
    assert line.run(lambda: len(run.results) == 15, limit_s=RUN_LIMIT_S)
    shoe.inject(FaultName.POWER_LOSS, line.now, for_s=2.0)
    assert line.run(lambda: run.finished, limit_s=RUN_LIMIT_S)
    assert [result.verdict for result in run.results].count("failed") <= 1


class Garbler(Firmware):
    """Keeps to frames and packets, and says messages that are none, or something else than they should be."""

    rng = random.Random(0)

    def _send(self, message: bytes) -> None:
        chance = self.rng.random()
        if chance < 0.1:
            message = self.rng.randbytes(self.rng.randint(1, 40))
        elif chance < 0.5:
            fields = msgspec.msgpack.decode(message)
            odd = [None, True, -1, 2**64 - 1, "text", b"\xff", [], [[1]], {}, {"a": 1}, 0.5]
            fields[self.rng.randrange(len(fields))] = self.rng.choice(odd)
            message = msgspec.msgpack.encode(fields[: self.rng.randint(1, len(fields))])
        super()._send(message)


@pytest.mark.parametrize("seed", range(20))
def test_garbled_messages_break_no_run(seed: int) -> None:
    build = type("SeededGarbler", (Garbler,), {"rng": random.Random(seed)})
    results = run_on(a_shoe(build), with_cards=True)
    assert any(result.verdict == "failed" for result in results.values())


@pytest.mark.parametrize("seed", range(10))
def test_noisy_wire_breaks_no_run(seed: int) -> None:
    run_on(a_shoe(), with_cards=True, quality=WireQuality(flip=0.002, lose=0.02, repeat=0.02))


def test_flood_is_a_failure() -> None:
    class Flooder(Firmware):
        def receive(self, data: bytes, now: float) -> None:
            super().receive(data, now)
            for _ in range(40):
                self.link._send_ack(PacketType.ACK, now)

        def tick(self, now: float) -> None:
            super().tick(now)
            self.receive(b"", now)

        @property
        def deadline(self) -> float:
            return self.now + 0.005

    (result,) = run_on(a_shoe(Flooder), only=["link.death"]).values()
    assert result.detail == "the device floods the wire with more than 2000 packets"


# --- results, and real time -----------------------------------------------------------------------------------------


def test_points_are_told_as_the_document_has_them() -> None:
    lines = [line for page in PROTOCOL for line in (DOCS / page).read_text().splitlines()]
    headings = {line.lstrip("#").strip() for line in lines if line.startswith("#")}
    assert {point.section for point in POINTS} <= headings
    assert len({point.name for point in POINTS}) == len(POINTS)
    for point in POINTS:
        assert point.asks.endswith("."), point.name


def test_results_are_json() -> None:
    run = Conformance(host_boot=5, now=0.0, only=["link.open"])
    line = VirtualLine(run, a_shoe())
    assert line.run(lambda: run.finished, limit_s=10)
    (result,) = json.loads(json.dumps([dataclasses.asdict(result) for result in run.results]))
    assert result["name"] == "link.open"
    assert result["verdict"] == "passed"
    assert result["took_s"] < 1


def test_lost_port_fails_the_rest_at_once() -> None:
    async def scene() -> list[PointResult]:
        incoming: asyncio.Queue[bytes | PortLost | bool] = asyncio.Queue()
        incoming.put_nowait(PortLost(PortLossReason.VANISHED, "the device vanished"))
        return await run_points(lambda data: None, incoming)

    results = asyncio.run(scene())
    assert len(results) == len(chosen())
    assert {(result.verdict, result.detail) for result in results} == {("failed", "the device vanished")}


def test_over_a_real_port() -> None:
    async def scene() -> tuple[list[PointResult], list[PointResult]]:
        endpoint = PtyEndpoint(a_shoe())
        await endpoint.start()
        reported: list[PointResult] = []
        try:
            return await conform(endpoint.address, report=reported.append, only=QUICK), reported
        finally:
            await endpoint.close()

    results, reported = asyncio.run(scene())
    assert results == reported
    assert [result.name for result in results] == list(QUICK)
    assert not_passed({result.name: result for result in results}) == {}
