"""The simulated devices: every fault does what it says, no card is made or lost, and no undealt card is revealed."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from firmware_bridge.wire.link import LossReason
from firmware_bridge.wire.messages import (
    LARGEST_PACK,
    AnyCommand,
    AskCards,
    AskStatus,
    Button,
    ButtonName,
    Capability,
    CardFaceUp,
    CardsCounted,
    CardsPresent,
    ClearJam,
    CycleDone,
    Deliver,
    Dispense,
    DispenseFaceUp,
    Done,
    Door,
    DoorState,
    Eject,
    EventMessage,
    Fault,
    FaultCode,
    Indicate,
    Jam,
    Light,
    Lock,
    NoAnswer,
    Outcome,
    PowerCause,
    PowerUp,
    Reason,
    Refused,
    Release,
    SelfTest,
    Shuffle,
    StackPresented,
    StackTaken,
    Unlock,
)
from firmware_bridge.wire.messages import Place as WirePlace
from simulators.devices.cards import DECK, DECK_SIZE, CardPlace, Spot
from simulators.devices.device import ON_THE_TABLE, SHOE_CAPABILITIES, SHUFFLER_CAPABILITIES, SimulatedTable
from simulators.devices.faults import OF_THE_MECHANICS, FaultName, FaultPlan, Planned
from simulators.devices.firmware import EVENTS_FOR_A_CYCLE, EVENTS_KEPT
from tests.support.virtual_link import BLUE, HAND, RED, HostAtDevice, host_at_shoe, host_at_shuffler

SHOE, FLOOR, INFEED, OUTPUT = (
    Spot(CardPlace.SHOE),
    Spot(CardPlace.FLOOR),
    Spot(CardPlace.INFEED),
    Spot(CardPlace.OUTPUT),
)
RECOGNISING_SHOE = SHOE_CAPABILITIES | {Capability.RECOGNISES}
RECOGNISING_SHUFFLER = SHUFFLER_CAPABILITIES | {Capability.RECOGNISES}
KEEPING = frozenset({Capability.KEEPS_MEMORY})
SPARES = 2  # on the floor of a new table

Kind = TypeVar("Kind", bound=EventMessage)


def loaded_shoe(**table: Any) -> HostAtDevice:
    """A host at a shoe with a deck in it."""
    rig = host_at_shoe(**table).connect()
    rig.device.load(RED, rig.line.now)
    return rig


def loaded_shuffler(**table: Any) -> HostAtDevice:
    """A host at a shuffler with a deck in its infeed."""
    rig = host_at_shuffler(**table).connect()
    rig.device.load(RED, rig.line.now)
    return rig


def reported(rig: HostAtDevice, kind: type[Kind], command: int | None = None) -> list[Kind]:
    """The events of a kind, or those of them that carry this command."""
    events = [event for _, event in rig.events if isinstance(event, kind)]
    return [event for event in events if command is None or getattr(event, "command", None) == command]


def carry_out(rig: HostAtDevice, command: AnyCommand, *, for_s: float = 120) -> CycleDone:
    """Give a command, which must be taken on and come to an end."""
    rig.session.send(command, rig.line.now)
    assert rig.answered(command.id) == Done(command.id)
    assert rig.line.run(lambda: bool(reported(rig, CycleDone, command.id)), limit_s=for_s), f"{command} never ended"
    rig.line.rest(0.1)
    rig.table.cards.check()
    return reported(rig, CycleDone, command.id)[0]


def refusal(rig: HostAtDevice, command: AnyCommand) -> Reason:
    """Why the device does not take this command on."""
    rig.session.send(command, rig.line.now)
    answer = rig.answered(command.id)
    assert isinstance(answer, Refused)
    return answer.reason


def dispense(rig: HostAtDevice, number: int, cards: int = 3, *, hold: bool = False) -> CycleDone:
    return carry_out(rig, Dispense(number, rig.session.boot, cards, hold))


def shuffle(rig: HostAtDevice, number: int) -> CycleDone:
    return carry_out(rig, Shuffle(number, rig.session.boot))


def counts(rig: HostAtDevice, *spots: Spot) -> list[int]:
    return [rig.table.cards.count(spot) for spot in spots]


def powered(rig: HostAtDevice) -> bool:
    return rig.device.firmware is not None


def at_exit(rig: HostAtDevice) -> int:
    return rig.table.cards.count(rig.device.mechanics.exit)


# --- without faults -------------------------------------------------------------------------------------------------


def test_a_round_through_both_devices() -> None:
    table = SimulatedTable()
    shuffler, shoe = HostAtDevice(table, table.shuffler).connect(), HostAtDevice(table, table.shoe).connect()
    table.shuffler.load(RED, shuffler.line.now)
    order = [card.index for card in table.cards.pile(INFEED)]
    assert shuffle(shuffler, 1).outcome is Outcome.COMPLETE
    assert sorted(card.index for card in table.cards.pile(OUTPUT)) == sorted(order)
    assert [card.index for card in table.cards.pile(OUTPUT)] != order
    assert carry_out(shuffler, Deliver(2, shuffler.session.boot)).cards == DECK_SIZE
    shoe.line.rest(shuffler.line.now - shoe.line.now + 1)
    assert reported(shoe, CardsPresent) == [
        CardsPresent(2, reported(shoe, CardsPresent)[0].at_ms, WirePlace.SHOE, True)
    ]
    assert refusal(shoe, Release(9, shoe.session.boot)) is Reason.NOTHING_HELD
    assert dispense(shoe, 10, 5, hold=True).outcome is Outcome.COMPLETE
    assert dispense(shoe, 12, 3).outcome is Outcome.COMPLETE
    assert [(event.place, event.cards) for event in reported(shoe, StackPresented)] == [
        (WirePlace.HELD, 5),
        (WirePlace.EXIT, 3),
    ]
    assert refusal(shoe, Release(13, shoe.session.boot)) is Reason.EXIT_OCCUPIED
    table.shoe.take(HAND, shoe.line.now)
    assert carry_out(shoe, Release(14, shoe.session.boot)).cards == 5
    assert counts(shoe, HAND, SHOE) == [3, DECK_SIZE - 8]


def test_hindrances_come_in_their_order() -> None:
    rig = loaded_shoe(shoe_capabilities=frozenset({Capability.LOCKS}))
    boot = rig.session.boot
    assert refusal(rig, Shuffle(1, boot)) is Reason.NOT_ABLE
    assert refusal(rig, Dispense(2, boot, LARGEST_PACK + 1)) is Reason.BAD_ARGUMENT
    assert refusal(rig, Dispense(3, boot, 0, True)) is Reason.BAD_ARGUMENT
    assert refusal(rig, Dispense(4, boot, 3, True)) is Reason.NOT_ABLE
    assert refusal(rig, ClearJam(5, boot)) is Reason.NOT_JAMMED
    assert refusal(rig, Release(6, boot)) is Reason.NOT_ABLE
    assert refusal(rig, Indicate(7, boot, Light.RED)) is Reason.NOT_ABLE
    rig.session.send(Lock(8, boot), rig.line.now)
    assert rig.answered(8) == Done(8)
    assert not rig.device.door(True, rig.line.now)
    assert refusal(rig, Dispense(9, boot, 3)) is Reason.LOCKED
    rig.session.send(Unlock(10, boot), rig.line.now)
    assert rig.answered(10) == Done(10)
    assert rig.device.door(True, rig.line.now)
    assert refusal(rig, Dispense(11, boot, LARGEST_PACK + 1)) is Reason.DOOR_OPEN
    rig.device.door(False, rig.line.now)
    rig.session.send(Dispense(12, boot, 53), rig.line.now)
    assert refusal(rig, Dispense(13, boot, 3)) is Reason.BUSY
    rig.line.rest(20)
    assert refusal(rig, Dispense(14, boot, 3)) is Reason.NO_CARDS
    states = [event.state for event in reported(rig, Door)]
    assert states == [DoorState.LOCKED, DoorState.UNLOCKED, DoorState.OPEN, DoorState.CLOSED]


def test_a_door_opened_in_mid_cycle_stops_it_where_it_is() -> None:
    rig = loaded_shoe()
    rig.session.send(Dispense(1, rig.session.boot, 10), rig.line.now)
    rig.line.rest(0.5)
    rig.device.door(True, rig.line.now)
    rig.line.rest(0.1)
    assert reported(rig, CycleDone, 1)[0].outcome is Outcome.STOPPED
    assert counts(rig, SHOE) == [DECK_SIZE - at_exit(rig)]
    assert 0 < at_exit(rig) < 10


# --- the memory of commands -----------------------------------------------------------------------------------------


def test_answers_are_remembered_for_a_while_and_then_forgotten_but_never_repeated() -> None:
    rig = loaded_shoe()
    boot = rig.session.boot
    first = Indicate(1, boot, Light.RED)
    for number in range(1, 40):
        rig.session.send(Indicate(number, boot, Light.RED), rig.line.now)
        assert rig.answered(number) == Done(number)
    effects = rig.firmware.effects
    rig.answers.clear()
    rig.session.send(Indicate(39, boot, Light.RED), rig.line.now)
    assert rig.answered(39) == Done(39)
    rig.answers.clear()
    assert refusal(rig, Indicate(39, boot, Light.GREEN)) is Reason.ID_REUSED
    assert refusal(rig, first) is Reason.FORGOTTEN
    assert rig.firmware.effects == effects == 39


def test_unreadable_and_unknown_messages_are_answered_and_not_remembered() -> None:
    rig = loaded_shoe()
    for data, answer in (
        (b"\x93\x2f\x05\x07", (5, Reason.UNKNOWN_COMMAND)),
        (b"\x95\x19\x05\xce\x00\x00\x00\x01\x01\xa1\xff", (5, Reason.BAD_ARGUMENT)),
        (b"\x92\x3f\x09", (9, Reason.UNKNOWN_COMMAND)),
    ):
        before = rig.firmware.link._next_seq
        rig.session.link.send(data, rig.line.now)
        rig.line.rest(0.1)
        assert rig.firmware.link._next_seq == before + 1, f"no answer to {answer}"
    assert rig.firmware._last_command == 0


# --- faults of the mechanics, at the shoe ---------------------------------------------------------------------------

# What a stack of 3 becomes: the outcome; cards at the exit, reported, on the floor, and in the shoe.
AT_THE_SHOE = {
    FaultName.INCOMPLETE_CYCLE: (Outcome.INCOMPLETE, 0, None, SPARES, DECK_SIZE),
    FaultName.MISSING_CARD: (Outcome.INCOMPLETE, 2, 2, SPARES + 1, DECK_SIZE - 3),
    FaultName.EXTRA_CARD: (Outcome.COMPLETE, 3, 3, SPARES - 1, DECK_SIZE - 2),
    FaultName.DOUBLE_FEED: (Outcome.INCOMPLETE, 4, 4, SPARES, DECK_SIZE - 4),
    FaultName.SHORT_FEED: (Outcome.INCOMPLETE, 2, 2, SPARES, DECK_SIZE - 2),
    FaultName.FACE_UP: (Outcome.COMPLETE, 3, 3, SPARES, DECK_SIZE - 3),
    FaultName.JAM: (Outcome.JAMMED, 0, None, SPARES, DECK_SIZE),
}


@pytest.mark.parametrize("fault", AT_THE_SHOE)
def test_a_fault_of_the_shoe(fault: FaultName) -> None:
    outcome, really, says, on_floor, in_shoe = AT_THE_SHOE[fault]
    rig = loaded_shoe()
    rig.device.inject(fault, rig.line.now)
    assert fault in rig.device.faults
    assert dispense(rig, 1).outcome is outcome
    assert [at_exit(rig), *counts(rig, FLOOR, SHOE)] == [really, on_floor, in_shoe]
    assert [event.cards for event in reported(rig, StackPresented)] == ([] if says is None else [says])
    assert bool(reported(rig, CardFaceUp)) == (fault is FaultName.FACE_UP)
    if fault is not FaultName.JAM:
        assert rig.device.faults == []  # it comes once
        rig.device.take(HAND, rig.line.now)
        assert dispense(rig, 2).outcome is Outcome.COMPLETE


def test_a_shoe_that_miscounts_is_wrong_by_one() -> None:
    rig = loaded_shoe()
    rig.device.inject(FaultName.MISCOUNT, rig.line.now)
    assert dispense(rig, 1).outcome is Outcome.INCOMPLETE
    assert at_exit(rig) == 3
    assert reported(rig, StackPresented)[0].cards in (2, 4)


@pytest.mark.parametrize("rig", [loaded_shoe, loaded_shuffler])
def test_a_stall_stops_without_a_word_until_the_door_is_opened(rig: Any) -> None:
    rig = rig()
    boot = rig.session.boot
    shoe = rig.device is rig.table.shoe
    rig.device.inject(FaultName.STALL, rig.line.now, after_cards=2)
    rig.session.send(Dispense(1, boot, 5) if shoe else Shuffle(1, boot), rig.line.now)
    rig.line.rest(600)
    assert reported(rig, CycleDone) == []
    rig.session.ask(AskStatus(9), rig.line.now)
    assert (rig.answered(9).doing, rig.losses) == (1, [])
    assert counts(rig, SHOE if shoe else INFEED) == [DECK_SIZE - 2]
    rig.device.door(True, rig.line.now)
    rig.line.rest(0.1)
    assert reported(rig, CycleDone)[0].outcome is Outcome.STOPPED
    rig.table.cards.check()


@pytest.mark.parametrize("rig", [loaded_shoe, loaded_shuffler])
def test_a_jam_stands_until_a_person_and_then_the_host_clears_it(rig: Any) -> None:
    rig = rig()
    boot = rig.session.boot
    shoe = rig.device is rig.table.shoe
    command = Dispense(1, boot, 5) if shoe else Shuffle(1, boot)
    rig.device.inject(FaultName.JAM, rig.line.now, after_cards=2)
    assert carry_out(rig, command).outcome is Outcome.JAMMED
    assert reported(rig, Jam) == [Jam(3, reported(rig, Jam)[0].at_ms, 1, WirePlace.SHOE if shoe else WirePlace.INFEED)]
    assert refusal(rig, Eject(2, boot)) is Reason.JAMMED
    assert carry_out(rig, ClearJam(3, boot)).outcome is Outcome.JAMMED
    assert FaultName.JAM in rig.device.faults
    rig.device.mend(FaultName.JAM, rig.line.now)
    assert counts(rig, ON_THE_TABLE) == [1]
    assert carry_out(rig, ClearJam(4, boot)).outcome is Outcome.COMPLETE
    if shoe:
        rig.device.take(HAND, rig.line.now)
    assert carry_out(rig, Eject(5, boot)).outcome is Outcome.COMPLETE


def test_a_jam_that_never_came_is_mended_without_touching_a_card() -> None:
    rig = loaded_shoe()
    rig.device.inject(FaultName.JAM, rig.line.now)
    rig.device.mend(FaultName.JAM, rig.line.now)
    assert rig.device.faults == []
    assert counts(rig, ON_THE_TABLE, SHOE) == [0, DECK_SIZE]
    assert dispense(rig, 1).outcome is Outcome.COMPLETE


@pytest.mark.parametrize("after_cards", range(5))
def test_a_fault_waits_for_its_card(after_cards: int) -> None:
    jam, double = loaded_shoe(), loaded_shoe()
    jam.device.inject(FaultName.JAM, jam.line.now, after_cards=after_cards)
    dispense(jam, 1, 5)
    assert at_exit(jam) == after_cards
    double.device.inject(FaultName.DOUBLE_FEED, double.line.now, after_cards=after_cards)
    double.session.send(Dispense(1, double.session.boot, 5), double.line.now)
    sizes = [0]
    while double.device.mechanics.doing or not reported(double, CycleDone):
        double.line.step()
        sizes += [at_exit(double)] if at_exit(double) != sizes[-1] else []
    assert [b - a for a, b in itertools.pairwise(sizes)].index(2) == after_cards


@pytest.mark.parametrize("fault", sorted(OF_THE_MECHANICS))
def test_every_fault_waits_for_its_card_also_when_that_is_in_a_later_stack(fault: FaultName) -> None:
    rig = loaded_shoe()
    rig.device.inject(fault, rig.line.now, after_cards=3)
    assert dispense(rig, 1).outcome is Outcome.COMPLETE
    assert (at_exit(rig), reported(rig, StackPresented)[0].cards, reported(rig, CardFaceUp)) == (3, 3, [])
    assert not any(card.index >= DECK_SIZE for card in rig.table.cards.pile(rig.device.mechanics.exit))
    rig.device.take(HAND, rig.line.now)
    rig.session.send(Dispense(2, rig.session.boot, 3), rig.line.now)
    rig.line.rest(10)
    assert fault not in rig.device.mechanics.armed


@pytest.mark.parametrize("fault", sorted(OF_THE_MECHANICS))
def test_only_cards_that_move_count_for_a_fault(fault: FaultName) -> None:
    """After four cards it comes with the fifth: the presenting of a stack moves none."""
    rig = loaded_shoe()
    rig.device.inject(fault, rig.line.now, after_cards=4)
    dispense(rig, 1)
    rig.device.take(HAND, rig.line.now)
    rig.session.send(Dispense(2, rig.session.boot, 1), rig.line.now)
    rig.line.rest(10)
    assert fault in rig.device.mechanics.armed
    rig.device.take(HAND, rig.line.now)
    rig.session.send(Dispense(3, rig.session.boot, 1), rig.line.now)
    rig.line.rest(10)
    assert fault not in rig.device.mechanics.armed


@pytest.mark.parametrize("fault", [FaultName.EXTRA_CARD, FaultName.FACE_UP])
def test_a_fault_of_the_shuffler_waits_for_its_card(fault: FaultName) -> None:
    rig = loaded_shuffler()
    rig.device.inject(fault, rig.line.now, after_cards=20)
    rig.session.send(Shuffle(1, rig.session.boot), rig.line.now)
    assert rig.line.run(lambda: rig.table.cards.count(INFEED) == DECK_SIZE - 20, limit_s=60)
    assert fault in rig.device.mechanics.armed
    rig.line.rest(0.5)
    assert fault not in rig.device.mechanics.armed


@pytest.mark.parametrize("fault", [FaultName.EXTRA_CARD, FaultName.FACE_UP])
def test_a_card_that_gets_in_or_lies_face_up_does_so_before_a_cycle_unless_it_waits_for_others(
    fault: FaultName,
) -> None:
    rig = loaded_shuffler()
    rig.session.send(Shuffle(1, rig.session.boot), rig.line.now)
    rig.line.rest(5)
    rig.device.inject(fault, rig.line.now)
    rig.line.rest(120)
    assert fault in rig.device.mechanics.armed
    rig.device.inject(fault, rig.line.now, after_cards=1)
    carry_out(rig, Eject(2, rig.session.boot))
    rig.device.take(RED, rig.line.now)
    rig.device.load(RED, rig.line.now)
    rig.session.send(Shuffle(3, rig.session.boot), rig.line.now)
    rig.line.rest(1)
    assert fault not in rig.device.mechanics.armed


def test_a_shoe_without_a_counter_does_not_say_how_many_cards_it_ejected() -> None:
    rig = loaded_shoe(shoe_capabilities=SHOE_CAPABILITIES - {Capability.COUNTS})
    assert dispense(rig, 1).outcome is Outcome.COMPLETE
    rig.device.take(HAND, rig.line.now)
    assert carry_out(rig, Eject(2, rig.session.boot)).cards == -1
    rig.device.take(HAND, rig.line.now)
    rig.line.rest(0.1)
    assert [event.cards for event in reported(rig, StackPresented)] == [3, -1]
    assert [event.cards for event in reported(rig, StackTaken)] == [3, -1]


def test_faults_are_taken_back_by_hand() -> None:
    rig = loaded_shoe()
    for fault in OF_THE_MECHANICS:
        rig.device.inject(fault, rig.line.now)
        rig.device.mend(fault, rig.line.now)
    assert rig.device.faults == []
    assert dispense(rig, 1).outcome is Outcome.COMPLETE


@pytest.mark.parametrize("fault", [FaultName.STALL, FaultName.MISCOUNT])
@pytest.mark.parametrize("rig", [loaded_shoe, loaded_shuffler])
def test_a_self_test_finds_a_broken_motor_or_sensor_before_a_card_moves(rig: Any, fault: FaultName) -> None:
    rig = rig()
    boot = rig.session.boot
    assert carry_out(rig, SelfTest(1, boot)).outcome is Outcome.COMPLETE
    rig.device.inject(fault, rig.line.now)
    assert carry_out(rig, SelfTest(2, boot)).outcome is Outcome.FAILED
    assert len(reported(rig, Fault)) == 1
    assert refusal(rig, Eject(3, boot)) is Reason.FAILED


# --- faults of the mechanics, at the shuffler -----------------------------------------------------------------------

LAST_PASS = 2 * DECK_SIZE  # cards moved before the third pass begins

# What a shuffle becomes: the outcome, cards in the output, on the floor, in the infeed.
AT_THE_SHUFFLER = {
    FaultName.MISSING_CARD: (Outcome.COMPLETE, DECK_SIZE - 1, SPARES + 1, 0),
    FaultName.EXTRA_CARD: (Outcome.COMPLETE, DECK_SIZE + 1, SPARES - 1, 0),
    FaultName.DOUBLE_FEED: (Outcome.COMPLETE, DECK_SIZE, SPARES, 0),
    FaultName.SHORT_FEED: (Outcome.INCOMPLETE, DECK_SIZE - 1, SPARES, 1),
    FaultName.FACE_UP: (Outcome.COMPLETE, DECK_SIZE, SPARES, 0),
}


@pytest.mark.parametrize("fault", AT_THE_SHUFFLER)
def test_a_fault_of_the_shuffler(fault: FaultName) -> None:
    outcome, in_output, on_floor, in_infeed = AT_THE_SHUFFLER[fault]
    rig = loaded_shuffler(shuffler_capabilities=RECOGNISING_SHUFFLER)
    rig.device.inject(fault, rig.line.now, after_cards=LAST_PASS)
    assert shuffle(rig, 1).outcome is outcome
    assert counts(rig, OUTPUT, FLOOR, INFEED) == [in_output, on_floor, in_infeed]
    (counted,) = reported(rig, CardsCounted)
    assert (counted.cards, sum(counted.kinds)) == (in_output, in_output)
    assert bool(reported(rig, CardFaceUp)) == (fault is FaultName.FACE_UP)
    assert rig.device.faults == []


def test_a_shuffler_that_miscounts_is_wrong_by_one() -> None:
    rig = loaded_shuffler()
    rig.device.inject(FaultName.MISCOUNT, rig.line.now)
    shuffle(rig, 1)
    assert counts(rig, OUTPUT) == [DECK_SIZE]
    assert reported(rig, CardsCounted)[0].cards in (DECK_SIZE - 1, DECK_SIZE + 1)


def test_an_incomplete_shuffle_leaves_cards_inside_until_they_are_ejected() -> None:
    rig = loaded_shuffler()
    rig.device.inject(FaultName.INCOMPLETE_CYCLE, rig.line.now, after_cards=20)
    assert shuffle(rig, 1).outcome is Outcome.INCOMPLETE
    assert counts(rig, INFEED) == [DECK_SIZE - 20]
    assert refusal(rig, Shuffle(2, rig.session.boot)) is Reason.OUTPUT_OCCUPIED
    assert carry_out(rig, Eject(3, rig.session.boot)).cards == DECK_SIZE
    assert at_exit(rig) == DECK_SIZE


def test_a_shuffler_that_feeds_no_shoe_delivers_to_the_exit() -> None:
    rig = loaded_shuffler(shuffler_capabilities=RECOGNISING_SHUFFLER - {Capability.FEEDS_SHOE})
    shuffle(rig, 1)
    assert carry_out(rig, Deliver(2, rig.session.boot)).outcome is Outcome.COMPLETE
    assert at_exit(rig) == DECK_SIZE
    rig.device.take(HAND, rig.line.now)
    rig.line.rest(0.1)
    assert cards_of(rig, 2) is Reason.NOT_ABLE  # a shuffled deck in a hand is not dealt yet


# --- faults of power and wire ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps", [False, True])
def test_a_loss_of_power_stops_the_cards_where_they_are(keeps: bool) -> None:
    rig = loaded_shoe(shoe_capabilities=SHOE_CAPABILITIES | (KEEPING if keeps else frozenset()))
    boot = rig.session.boot
    rig.session.send(Dispense(1, boot, 10), rig.line.now)
    rig.line.rest(0.8)
    lying = at_exit(rig)
    rig.device.inject(FaultName.POWER_LOSS, rig.line.now, for_s=30)
    assert rig.device.firmware is None
    rig.line.rest(29)
    assert (at_exit(rig), rig.losses[0].reason) == (lying, LossReason.SILENT)
    rig.line.rest(10)
    last = rig.events[-1][1]
    assert isinstance(last, PowerUp)
    assert (last.memory_kept, last.cause) == (keeps, PowerCause.POWER)
    assert (rig.session.boot == boot) is keeps
    assert [ready.restarted for ready in rig.readies] == [False, not keeps]
    assert reported(rig, CycleDone) == []
    assert 0 < lying < 10
    assert at_exit(rig) == lying
    rig.device.take(HAND, rig.line.now)
    assert dispense(rig, 2).outcome is Outcome.COMPLETE


def test_a_reboot_is_noticed_at_once() -> None:
    rig = loaded_shoe()
    rig.line.rest(1)
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    rig.line.rest(0.5)
    assert rig.losses[0].reason is LossReason.PEER_RESTARTED
    assert rig.readies[-1].restarted
    assert [event.cause for event in reported(rig, PowerUp)] == [PowerCause.POWER, PowerCause.RESET]


def test_what_has_no_power_cannot_reboot() -> None:
    rig = loaded_shoe()
    rig.device.inject(FaultName.POWER_LOSS, rig.line.now)
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    assert not powered(rig)
    rig.device.mend(FaultName.POWER_LOSS, rig.line.now)
    assert powered(rig)


@pytest.mark.parametrize("fault", [FaultName.UNPLUG, FaultName.SILENCE])
def test_a_wire_fault_ends_the_link_and_its_mending_brings_it_back(fault: FaultName) -> None:
    rig = loaded_shoe()
    rig.device.inject(fault, rig.line.now)
    rig.session.send(Dispense(1, rig.session.boot, 3), rig.line.now)
    rig.line.rest(30)
    assert rig.losses[0].reason is LossReason.SILENT
    assert {loss.reason for loss in rig.losses[1:]} == {LossReason.NO_ANSWER}
    assert at_exit(rig) == (3 if fault is FaultName.SILENCE else 0)  # a silent device hears
    rig.device.mend(fault, rig.line.now)
    assert rig.answered(1) == Done(1)
    rig.line.rest(3)
    assert at_exit(rig) == 3
    assert not rig.readies[-1].restarted


def test_noise_hurts_and_passes() -> None:
    rig = loaded_shoe()
    rig.device.inject(FaultName.NOISE, rig.line.now, for_s=60)
    for number in range(1, 15):
        dispense(rig, number)
        rig.device.take(HAND, rig.line.now)
    bad = rig.session.link.counters.bad_frames + rig.firmware.link.counters.bad_frames
    assert bad > 5
    rig.line.rest(60)
    assert rig.device.faults == []
    bad = rig.session.link.counters.bad_frames
    rig.line.rest(60)
    assert rig.session.link.counters.bad_frames == bad


def test_a_dead_device_stays_dead() -> None:
    rig = loaded_shoe()
    rig.device.inject(FaultName.DEAD, rig.line.now, for_s=1)
    rig.line.rest(20)
    rig.device.mend(FaultName.DEAD, rig.line.now)
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    rig.line.rest(20)
    assert rig.device.firmware is None
    assert rig.device.faults == [FaultName.DEAD]
    assert rig.losses[-1].reason is LossReason.NO_ANSWER
    rig.device.take(HAND, rig.line.now)
    rig.table.cards.check()


# --- scripts and chances --------------------------------------------------------------------------------------------


def test_a_fault_is_planned_for_a_time_or_for_a_cycle() -> None:
    with pytest.raises(ValueError, match="either at_s or at_cycle"):
        Planned(FaultName.JAM)
    with pytest.raises(ValueError, match="either at_s or at_cycle"):
        Planned(FaultName.JAM, at_s=1.0, at_cycle=1)
    plan = FaultPlan(
        [
            Planned(FaultName.SHORT_FEED, at_cycle=2, after_cards=1),
            Planned(FaultName.UNPLUG, at_s=30.0, for_s=10.0),
            Planned(FaultName.JAM, at_cycle=3),
        ]
    )
    rig = loaded_shoe(shoe_plan=plan)
    assert dispense(rig, 1).outcome is Outcome.COMPLETE
    rig.device.take(HAND, rig.line.now)
    assert dispense(rig, 2).outcome is Outcome.INCOMPLETE
    rig.device.take(HAND, rig.line.now)
    plugged = []
    for wait_s in (29.0 - rig.line.now, 2.0, 20.0):
        rig.line.rest(wait_s)
        plugged.append(rig.device.plugged)
    assert plugged == [True, False, True]
    assert dispense(rig, 3).outcome is Outcome.JAMMED


@pytest.mark.parametrize("fault", [FaultName.POWER_LOSS, FaultName.REBOOT, FaultName.UNPLUG, FaultName.DEAD])
@pytest.mark.parametrize("rig", [loaded_shoe, loaded_shuffler])
def test_power_and_wire_can_fail_with_a_cycle(rig: Any, fault: FaultName) -> None:
    plan = FaultPlan([Planned(fault, at_cycle=1, for_s=5.0)])
    rig = rig(shoe_plan=plan, shuffler_plan=plan)
    boot = rig.session.boot
    rig.session.send(Dispense(1, boot, 3) if rig.device is rig.table.shoe else Shuffle(1, boot), rig.line.now)
    rig.line.rest(30)
    rig.table.cards.check()
    lost_memory = fault in (FaultName.POWER_LOSS, FaultName.REBOOT)
    assert rig.answers == ([Refused(1, Reason.OTHER_BOOT)] if lost_memory else [Done(1)] if rig.device.firmware else [])


def test_chances_are_kept() -> None:
    always = FaultPlan(rates={FaultName.SHORT_FEED: 1.0, FaultName.JAM: 0.0})
    half = FaultPlan(rates={FaultName.SHORT_FEED: 0.5})
    assert [[p.fault for p in always.with_cycle(n)] for n in range(1, 4)] == [[FaultName.SHORT_FEED]] * 3
    assert 400 < sum(len(half.with_cycle(n)) for n in range(1000)) < 600


# --- the memory of events -------------------------------------------------------------------------------------------


def test_a_device_with_full_memory_moves_nothing() -> None:
    rig = loaded_shoe()
    rig.store = False
    number = 0
    while EVENTS_KEPT - len(rig.firmware._events) > EVENTS_FOR_A_CYCLE:  # one place is for Fault MEMORY
        number += 1
        dispense(rig, number, 1)
        rig.device.take(HAND, rig.line.now)
    in_shoe = rig.table.cards.count(SHOE)
    assert refusal(rig, Dispense(number + 1, rig.session.boot, 1)) is Reason.EVENTS_FULL
    kept = len(rig.firmware._events)
    rig.device.press(ButtonName.GREEN, rig.line.now)
    rig.device.door(True, rig.line.now)
    rig.device.door(False, rig.line.now)
    assert (len(rig.firmware._events), rig.table.cards.count(SHOE)) == (kept, in_shoe)
    rig.store = True
    rig.restart_host()
    rig.line.rest(2)
    assert len(rig.firmware._events) == 0
    assert dispense(rig, number + 2, 1).outcome is Outcome.COMPLETE
    rig.device.press(ButtonName.RED, rig.line.now)
    rig.line.rest(0.1)
    assert reported(rig, Button)[-1].button is ButtonName.RED
    newest = rig.firmware._next_event - 1
    assert Counter(rig.numbers(rig.session.boot))[newest] == 1


def test_a_device_that_can_report_nothing_more_says_so_last_and_stops() -> None:
    """Hands that take the deck out and put it in again, while nobody listens."""
    rig = host_at_shoe()
    for _ in range(EVENTS_KEPT):
        rig.device.load(RED, rig.line.now)
        rig.device.take_out(WirePlace.SHOE, RED, rig.line.now)
    assert len(rig.firmware._events) == EVENTS_KEPT
    rig.connect()
    rig.line.rest(1)
    last = rig.events[-1][1]
    assert isinstance(last, Fault)
    assert (last.number, last.code) == (EVENTS_KEPT, FaultCode.MEMORY)
    assert refusal(rig, SelfTest(1, rig.session.boot)) is Reason.FAILED
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    rig.connect()
    rig.device.load(RED, rig.line.now)
    assert dispense(rig, 2).outcome is Outcome.COMPLETE


def test_the_place_for_the_last_fault_is_not_room_for_a_cycle() -> None:
    rig = loaded_shoe()
    rig.store = False
    rig.line.rest(1)  # what was stored before is acknowledged by then
    while len(rig.firmware._events) < EVENTS_KEPT - EVENTS_FOR_A_CYCLE:
        rig.firmware.report(CardsPresent, place=WirePlace.EXIT, present=True)
    assert refusal(rig, SelfTest(1, rig.session.boot)) is Reason.EVENTS_FULL


def test_a_jam_that_cannot_be_reported_leaves_the_device_failed() -> None:
    rig = loaded_shoe()
    rig.store = False
    rig.device.inject(FaultName.JAM, rig.line.now)
    rig.session.send(Dispense(1, rig.session.boot, 3), rig.line.now)
    rig.answered(1)
    for _ in range(EVENTS_KEPT):  # people at the exit, while the cycle runs
        rig.firmware.report(CardsPresent, place=WirePlace.EXIT, present=True)
    rig.line.rest(5)
    assert rig.device.mechanics.doing is None
    assert refusal(rig, ClearJam(2, rig.session.boot)) is Reason.FAILED


def test_power_that_comes_and_goes_cannot_fill_a_memory_that_is_kept() -> None:
    rig = loaded_shoe(shoe_capabilities=SHOE_CAPABILITIES | KEEPING)
    rig.session.disconnect()
    for _ in range(3 * EVENTS_KEPT):
        rig.device.inject(FaultName.REBOOT, rig.line.now)
    assert len(rig.firmware._events) < EVENTS_KEPT
    rig.connect()
    rig.line.rest(1)
    assert reported(rig, PowerUp)[-1].memory_kept
    assert rig.numbers(rig.session.boot) == list(range(1, rig.firmware._next_event))
    assert dispense(rig, 1).outcome is Outcome.COMPLETE


# --- no hidden card is revealed -------------------------------------------------------------------------------------


def kinds_at(rig: HostAtDevice, spot: Spot) -> list[int]:
    return [int(card.kind) for card in rig.table.cards.pile(spot)]


def cards_of(rig: HostAtDevice, command: int) -> list[int] | Reason:
    """What a device answers to the question which cards a command put out."""
    ref = 1000 + len(rig.answers)
    rig.session.ask(AskCards(ref, command), rig.line.now)
    answer = rig.answered(ref)
    assert isinstance(answer, NoAnswer) or answer.command == command
    return answer.reason if isinstance(answer, NoAnswer) else answer.kinds


def test_a_dealt_stack_is_told_if_the_host_asks_after_it_was_taken() -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE)
    rig.session.send(Dispense(1, rig.session.boot, 3), rig.line.now)
    rig.answered(1)
    assert cards_of(rig, 1) is Reason.NOT_TAKEN  # its cycle is running
    assert rig.line.run(lambda: bool(reported(rig, CycleDone)), limit_s=60)
    lying = kinds_at(rig, rig.device.mechanics.exit)
    assert cards_of(rig, 1) is Reason.NOT_TAKEN
    rig.device.take(HAND, rig.line.now)
    assert cards_of(rig, 1) == lying
    assert cards_of(rig, 1) == lying, "a question changes nothing"
    assert cards_of(rig, 2) is Reason.FORGOTTEN
    assert not [event for _, event in rig.events if hasattr(event, "kinds")]


def test_a_held_stack_is_told_only_when_released_and_taken() -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE)
    dispense(rig, 1, 5, hold=True)
    held = kinds_at(rig, Spot(CardPlace.HELD))
    assert cards_of(rig, 1) is Reason.NOT_TAKEN
    carry_out(rig, Release(2, rig.session.boot))
    assert cards_of(rig, 2) is Reason.NOT_TAKEN
    rig.device.take(HAND, rig.line.now)
    assert cards_of(rig, 2) == held
    assert cards_of(rig, 1) is Reason.FORGOTTEN, "these cards came out with the Release"


def test_the_cards_of_the_last_16_stacks_are_remembered_until_the_memory_is_lost() -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE)
    for id in range(1, 18):
        dispense(rig, id, 1)
        rig.device.take(HAND, rig.line.now)
    assert cards_of(rig, 1) is Reason.FORGOTTEN
    assert isinstance(cards_of(rig, 2), list)
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    rig.line.rest(5)
    rig.connect()
    assert cards_of(rig, 17) is Reason.FORGOTTEN


def test_a_device_that_keeps_its_memory_keeps_the_cards_too() -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE | KEEPING)
    dispense(rig, 1)
    rig.device.take(HAND, rig.line.now)
    before = cards_of(rig, 1)
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    rig.line.rest(5)
    rig.connect()
    assert cards_of(rig, 1) == before


def test_a_device_that_keeps_its_memory_still_knows_a_stack_that_waits_at_its_exit() -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE | KEEPING)
    dispense(rig, 1)
    lying = kinds_at(rig, rig.device.mechanics.exit)
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    rig.line.rest(5)
    rig.connect()
    assert cards_of(rig, 1) is Reason.NOT_TAKEN
    rig.device.take(HAND, rig.line.now)
    rig.line.rest(0.1)
    taken = reported(rig, StackTaken)[-1]
    assert (taken.command, taken.cards) == (0, 3)
    assert cards_of(rig, 1) == lying


def test_a_device_that_does_not_recognise_cards_says_so() -> None:
    rig = loaded_shoe()
    dispense(rig, 1)
    rig.device.take(HAND, rig.line.now)
    assert cards_of(rig, 1) is Reason.NOT_ABLE


def test_an_ejected_stub_is_never_told() -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE)
    dispense(rig, 1)
    rig.device.take(HAND, rig.line.now)
    dispense(rig, 2, hold=True)
    carry_out(rig, Eject(3, rig.session.boot))
    rig.device.take(HAND, rig.line.now)
    rig.line.rest(0.1)
    stub = reported(rig, StackTaken)[-1]
    assert (stub.command, stub.cards) == (3, DECK_SIZE - 3)
    assert [cards_of(rig, id) for id in (2, 3)] == [Reason.FORGOTTEN] * 2


@pytest.mark.parametrize("fault", [FaultName.JAM, FaultName.INCOMPLETE_CYCLE])
def test_cards_of_a_stack_that_never_was_are_not_told_and_carry_their_own_command(fault: FaultName) -> None:
    rig = loaded_shoe(shoe_capabilities=RECOGNISING_SHOE)
    dispense(rig, 1)
    rig.device.take(HAND, rig.line.now)
    rig.device.inject(fault, rig.line.now, after_cards=2)
    dispense(rig, 2, 5)
    rig.device.take(HAND, rig.line.now)
    rig.line.rest(0.1)
    rest = reported(rig, StackTaken)[-1]
    assert (rest.command, rest.cards) == (2, 2)
    assert cards_of(rig, 2) is Reason.FORGOTTEN


def test_a_counted_deck_is_told_in_totals_alone() -> None:
    rig = loaded_shuffler(shuffler_capabilities=RECOGNISING_SHUFFLER)
    shuffle(rig, 1)
    assert reported(rig, CardsCounted)[0].kinds == [DECK[kind] for kind in sorted(DECK)]
    telling = {type(event) for _, event in rig.events if getattr(event, "kinds", [])}
    assert telling == {CardsCounted}


# --- any story at all -----------------------------------------------------------------------------------------------


class Story:
    """People, faults and commands at both devices, all by one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        capabilities = KEEPING if self.rng.random() < 0.5 else frozenset()
        rates: dict[FaultName, float] = {fault: 0.03 for fault in FaultName if fault is not FaultName.DEAD}
        self.table = SimulatedTable(
            seed,
            shuffler_capabilities=RECOGNISING_SHUFFLER | capabilities,
            shoe_capabilities=RECOGNISING_SHOE | capabilities,
            shuffler_plan=FaultPlan(rates=rates, seed=f"{seed}/1"),
            shoe_plan=FaultPlan(rates=rates, seed=f"{seed}/2"),
        )
        self.rigs = [HostAtDevice(self.table, device) for device in (self.table.shuffler, self.table.shoe)]
        for rig in self.rigs:
            rig.session.connect(0.0)
        self.number = 0

    def play(self, steps: int) -> None:
        for _ in range(steps):
            rig = self.rng.choice(self.rigs)
            self.rng.choice((self._command, self._command, self._hands, self._fault, self._mend))(rig)
            for each in self.rigs:
                each.line.rest(max(0.0, rig.line.now + self.rng.choice((0.0, 0.3, 5.0, 40.0)) - each.line.now))
            self.table.cards.check()

    def _command(self, rig: HostAtDevice) -> None:
        self.number += 1
        boot = rig.session.boot
        commands: Sequence[AnyCommand] = (
            Shuffle(self.number, boot),
            Deliver(self.number, boot),
            Dispense(self.number, boot, self.rng.randint(1, 12), self.rng.random() < 0.3),
            Dispense(self.number, boot, self.rng.randint(1, 12)),
            DispenseFaceUp(self.number, boot, self.rng.randint(1, 12)),
            Release(self.number, boot),
            Eject(self.number, boot),
            ClearJam(self.number, boot),
            SelfTest(self.number, boot),
            Lock(self.number, boot),
            Unlock(self.number, boot),
        )
        rig.session.send(self.rng.choice(commands), rig.line.now)

    def _hands(self, rig: HostAtDevice) -> None:
        now, device = rig.line.now, rig.device
        what = self.rng.randrange(4)
        if what == 0:
            device.load(self.rng.choice((RED, BLUE, HAND, ON_THE_TABLE)), now)
        elif what == 1:
            device.take(HAND, now)
        elif what == 2:
            device.door(self.rng.random() < 0.3, now)
        else:
            device.press(ButtonName.GREEN, now)

    def _fault(self, rig: HostAtDevice) -> None:
        fault = self.rng.choice([fault for fault in FaultName if fault is not FaultName.DEAD])
        rig.device.inject(fault, rig.line.now, after_cards=self.rng.randrange(9), for_s=self.rng.uniform(0.1, 9))

    def _mend(self, rig: HostAtDevice) -> None:
        for fault in rig.device.faults:
            rig.device.mend(fault, rig.line.now)
        rig.device.door(False, rig.line.now)

    def reported(self) -> list[list[tuple[int, EventMessage]]]:
        return [rig.events for rig in self.rigs]


@pytest.mark.parametrize("seed", range(20))
def test_no_story_makes_or_loses_a_card_or_an_event(seed: int) -> None:
    story = Story(seed)
    story.play(150)
    for rig in story.rigs:
        boots = list(dict.fromkeys(boot for boot, _ in rig.events))
        assert [boot for boot, _ in rig.events] == sorted((boot for boot, _ in rig.events), key=boots.index)
        for boot in boots:
            assert rig.numbers(boot) == list(range(1, len(rig.numbers(boot)) + 1))
        assert {loss.reason for loss in rig.losses}.isdisjoint({LossReason.PROTOCOL, LossReason.REPLACED})
        assert not [event for event in reported(rig, StackTaken) if hasattr(event, "kinds")]


def test_one_seed_tells_one_story() -> None:
    first, second, other = Story(5), Story(5), Story(6)
    for story in (first, second, other):
        story.play(100)
    assert first.reported() == second.reported()
    assert first.table.cards.snapshot() == second.table.cards.snapshot()
    assert first.reported() != other.reported()
