"""The conformance test and what a device does with cards: worked sequences, refusals, and a person's hands."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec
import pytest

from firmware_bridge.tools.conform import POINTS, HandTask, PointResult, chosen, conform
from firmware_bridge.wire.messages import AskCards, Capability, CardKinds, DeviceRole, Message
from firmware_bridge.wire.sequences import ENDINGS, WORKS, Course
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware import DEFECTS, MECHANICAL
from simulators.pipes.endpoints import PtyEndpoint
from tests.support.conform_person import HelpfulPerson, a_table, attended, table_with

# Everything that a mechanical defect could show in; the points about frames, links and greetings are left out.
MECHANICS = [point.name for point in POINTS if point.with_cards or point.name.startswith(("sequence.", "question."))]
SHOE, SHUFFLER = DeviceRole.SHOE, DeviceRole.SHUFFLER
CANNOT = {
    SHOE: {"sequence.shuffle", "sequence.deliver", "hands.output_occupied"},
    SHUFFLER: {"refusal.held", "sequence.dispense", "sequence.hold", "sequence.release"},
}


@pytest.mark.parametrize(
    ("role", "gains", "lacks"),
    [
        (SHOE, (), ()),
        (SHOE, (Capability.RECOGNISES, Capability.KEEPS_MEMORY), ()),
        (SHOE, (), (Capability.COUNTS,)),
        (SHUFFLER, (), ()),
        (SHUFFLER, (Capability.RECOGNISES, Capability.KEEPS_MEMORY), (Capability.FEEDS_SHOE,)),
        (SHUFFLER, (), (Capability.COUNTS,)),
    ],
)
def test_honest_device_passes_with_a_person(
    role: DeviceRole, gains: Collection[Capability], lacks: Collection[Capability]
) -> None:
    results, person = attended(*a_table(role, gains=gains, lacks=lacks), only=MECHANICS)
    skipped = {name for name, result in results.items() if result.verdict == "skipped"}
    assert {name: result.detail for name, result in results.items() if result.verdict == "failed"} == {}
    assert {name for name in skipped if not name.startswith("cards.")} == CANNOT[role]
    assert {*person.asked} >= {*HandTask} - {HandTask.ADD, HandTask.EMPTY_SHOE}


def test_only_three_mechanical_defects_cannot_be_found() -> None:
    assert len(MECHANICAL) >= 45
    assert {name for name, defect in MECHANICAL.items() if not defect.found_by} == {
        "LeavesTheOrder",
        "DealsFromTheBottom",
        "StaysDark",
    }


@pytest.mark.parametrize("name", MECHANICAL)
def test_mechanical_defect_is_found(name: str) -> None:
    defect = MECHANICAL[name]
    results, _ = attended(*table_with(defect), only=MECHANICS)
    failed = {point for point, result in results.items() if result.verdict == "failed"}
    if defect.found_by:
        assert defect.found_by in failed
        assert results[defect.found_by].detail
    else:
        assert not failed, "it can be found after all: name the point in its booking"


def test_every_point_about_mechanics_finds_a_defect() -> None:
    assert {point.name for point in POINTS} == {*DEFECTS} | {defect.found_by for defect in MECHANICAL.values()} - {""}


class NamesAnotherCard(Firmware):
    """Answers with two cards for one that was taken."""

    def _cards(self, question: AskCards) -> Message:
        answer = super()._cards(question)
        return CardKinds(answer.ref, answer.command, answer.kinds * 2) if isinstance(answer, CardKinds) else answer


@pytest.mark.parametrize(("build", "verdict"), [(Firmware, "passed"), (NamesAnotherCard, "failed")])
def test_which_cards_were_taken_is_checked_with_a_person(build: type[Firmware], verdict: str) -> None:
    table = a_table(SHOE, build=build, gains=[Capability.RECOGNISES])
    results, person = attended(*table, only=["cards.hidden"])
    assert HandTask.TAKE in person.asked
    assert results["cards.hidden"].verdict == verdict, results


class UnwillingPerson(HelpfulPerson):
    """Does nothing."""

    def do(self, task: HandTask, now: float) -> bool:
        self.asked.append(task)
        return False


def test_what_a_person_does_not_do_is_skipped_with_the_task() -> None:
    results, person = attended(*a_table(SHOE), only=MECHANICS, person=UnwillingPerson)
    skipped = [result for result in results.values() if result.verdict == "skipped"]
    assert "failed" not in {result.verdict for result in results.values()}
    without_hands = {"hands.exit_occupied"}  # a shoe presents a stack by itself
    assert {result.name for result in skipped} >= {point.name for point in POINTS if point.hands} - without_hands
    assert f"the person did not do this: {HandTask.TAKE.value}" in [result.detail for result in skipped]
    assert person.asked


def test_points_that_need_hands_are_in_interactive_runs_only() -> None:
    assert not any(point.hands for point in chosen(with_cards=True, slow=True))
    assert {point.name for point in chosen(interactive=True)} > {point.name for point in chosen(with_cards=True)}


@pytest.mark.parametrize(
    ("fault", "point", "outcome"),
    [
        (FaultName.INCOMPLETE_CYCLE, "sequence.dispense", "INCOMPLETE"),
        (FaultName.SHORT_FEED, "sequence.dispense", "INCOMPLETE"),
        (FaultName.DOUBLE_FEED, "sequence.hold", "INCOMPLETE"),
        (FaultName.JAM, "sequence.dispense", "JAMMED"),
        (FaultName.STALL, "sequence.self_test", "FAILED"),
    ],
)
@pytest.mark.parametrize("lacks", [(), (Capability.COUNTS,)])
def test_a_device_that_reports_its_trouble_as_it_should_is_not_failed(
    fault: FaultName, point: str, outcome: str, lacks: Collection[Capability]
) -> None:
    table, shoe = a_table(SHOE, lacks=lacks)
    shoe.inject(fault, 0.0, after_cards=1)
    results, _ = attended(table, shoe, only=[point])
    assert results[point].verdict == "skipped"
    assert results[point].detail.endswith(f"ended with {outcome}")


@pytest.mark.parametrize("role", [SHOE, SHUFFLER])
@pytest.mark.parametrize("seed", range(8))
def test_garbled_messages_break_no_interactive_run(seed: int, role: DeviceRole) -> None:
    rng = random.Random(seed)

    class GarblesCards(Firmware):
        """Keeps to the protocol except for one field of some events and answers about cards."""

        def _send(self, message: bytes) -> None:
            fields = msgspec.msgpack.decode(message)
            if fields[0] in (2, 9, 10, *range(64, 75)) and rng.random() < 0.05:
                fields[rng.randrange(1, len(fields))] = rng.choice([None, 0, 1, 2, 3, 255, 10**6, "", [], True])
                message = msgspec.msgpack.encode(fields)
            super()._send(message)

    results, _ = attended(*a_table(role, GarblesCards), only=MECHANICS)
    assert "failed" in {result.verdict for result in results.values()}


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_cycle_has_an_ending_for_every_course_it_can_take() -> None:
    for work in WORKS:
        courses = {*ENDINGS[work.name]}
        assert courses >= {Course.COMPLETE, Course.POWER_LOST, Course.POWER_KEPT}
        if work.moves_cards:
            assert courses == {*Course}
        elif work.cycle:
            assert {*Course} - courses <= {Course.INCOMPLETE, Course.GIVEN_UP, Course.JAM}


def test_a_stack_is_presented_before_its_cycle_is_reported_as_done() -> None:
    for work in WORKS:
        for ending in ENDINGS[work.name].values():
            events = [step.event.__name__ for step in ending.steps]
            if "StackPresented" in events:
                assert events[events.index("StackPresented") :] == ["StackPresented", "CycleDone"]


# --- in real time -----------------------------------------------------------------------------------------------------


def test_a_port_that_disappears_with_the_power_is_opened_again(tmp_path: Path) -> None:
    _, shoe = a_table(SHOE)
    shoe.mechanics.check_s = 0.01  # type: ignore[misc]
    asked: list[HandTask] = []

    async def scene() -> list[PointResult]:
        endpoints = [PtyEndpoint(shoe, tmp_path / "shoe")]
        await endpoints[0].start()

        async def switch_off_and_on(answer: Callable[[bool], None]) -> None:
            await endpoints[0].close()
            shoe.inject(FaultName.REBOOT, shoe.now)
            endpoints.append(PtyEndpoint(shoe, tmp_path / "shoe"))
            await endpoints[1].start()
            answer(True)

        def ask(task: HandTask, answer: Callable[[bool], None]) -> None:
            asked.append(task)
            tasks.append(asyncio.ensure_future(switch_off_and_on(answer)))

        tasks: list[asyncio.Future[None]] = []
        try:
            return await conform(str(tmp_path / "shoe"), ask=ask, only=["hands.power"])
        finally:
            await asyncio.gather(*tasks)
            await endpoints[-1].close()

    (result,) = asyncio.run(scene())
    assert (result.verdict, result.detail) == ("passed", "with SelfTest")
    assert asked == [HandTask.POWER_CYCLE]
