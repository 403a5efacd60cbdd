"""The host's session: greeting, commands at most once, events exactly once and in order, while links come and go."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.wire.event_rate import EVENTS_PER_S, KEPT_MOST, STOP_AT, WARN_AT
from firmware_bridge.wire.frame import MAX_ENCODED, encode_frame
from firmware_bridge.wire.link import PENDING_MAX, WINDOW, Link, LinkState, LossReason, Lost
from firmware_bridge.wire.messages import (
    VERSION,
    AnyQuestion,
    AskCards,
    AskCounters,
    AskStatus,
    ButtonName,
    Capability,
    CardKinds,
    Counters,
    DeviceRole,
    Dispense,
    Done,
    Door,
    DoorState,
    EventsStored,
    FromHost,
    Hello,
    Identify,
    Identity,
    MalformedEvent,
    Message,
    Mode,
    Outcome,
    PowerCause,
    PowerUp,
    Reason,
    Refused,
    Status,
    UnknownEvent,
    Unwelcome,
    Welcome,
    decode_from_host,
)
from firmware_bridge.wire.packet import Packet, PacketType, pack
from firmware_bridge.wire.session import ANSWER_WITHIN_S, Ahead, EventMark, HostSession, Ready, Rejected, Untrusted
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SHOE_CAPABILITIES
from simulators.devices.faults import FaultName
from tests.support.virtual_link import DEVICE_BOOT, HAND, HOST_BOOT, RED, HostAtDevice, host_at_shoe
from tests.support.wire_strategies import CUTS, MESSAGES, RANDOM_BYTES, chop, packets_of

NOW = 20.0
STORED_NONE = EventMark()


class PlayedDevice:
    """A device whose words the test chooses, on a wire without delay."""

    def __init__(self, host: HostSession, boot: int = DEVICE_BOOT) -> None:
        self.host = host
        self.link = Link(opens=False, boot=boot)
        self.heard: list[FromHost] = []
        self.happenings: list[Any] = []

    def exchange(self, now: float = NOW) -> list[Any]:
        """Let everything that was sent arrive; returns what the host reports."""
        before = len(self.happenings)
        while (there := self.host.take_output()) + (back := self.link.take_output()):
            arrivals = self.link.receive(there, now)
            self.heard += [decode_from_host(message) for message in arrivals if isinstance(message, bytes)]
            self.happenings += self.host.receive(back, now)
        return self.happenings[before:]

    def say(self, *messages: Message, now: float = NOW) -> list[Any]:
        """Send messages; returns what the host made of them."""
        for message in messages:
            self.link.send(message.encode(), now)
        return self.exchange(now)

    def welcome(self, **changed: Any) -> Welcome:
        """A good Welcome, but for what is changed."""
        fields: dict[str, Any] = {
            "version": VERSION,
            "boot": self.link.boot,
            "role": DeviceRole.SHOE,
            "maker": "Maker",
            "model": "Model",
            "serial": "S1",
            "firmware": "1.0",
            "firmware_digest": b"\x01" * 32,
            "capabilities": [1, 5, 77],
        }
        return Welcome(**fields | changed)


def connected(stored: EventMark = STORED_NONE, boot: int = DEVICE_BOOT) -> PlayedDevice:
    """A host that has opened a link and said Hello."""
    host = HostSession(host_boot=HOST_BOOT, stored=stored, software="test")
    host.connect(NOW)
    device = PlayedDevice(host, boot)
    device.exchange()
    return device


def greeted(stored: EventMark = STORED_NONE) -> PlayedDevice:
    """A host that was welcomed."""
    device = connected(stored)
    assert isinstance(device.say(device.welcome(first_event=stored.number + 1))[0], Ready)
    return device


def power_up(number: int = 1) -> PowerUp:
    return PowerUp(number, 0, PowerCause.POWER, False)


# --- greeting -------------------------------------------------------------------------------------------------------


def test_the_greeting_tells_both_sides_who_the_other_is() -> None:
    device = connected()
    assert device.heard == [Hello(1, 1, 0, 0, "test")]
    (ready,) = device.say(device.welcome(last_command=9))
    assert (ready.version, ready.boot, ready.restarted, ready.last_command) == (1, DEVICE_BOOT, False, 9)
    identity = ready.identity
    assert identity.capabilities == {Capability.COUNTS, Capability.HOLDS_STACK}  # 77 is of a later version
    assert identity.firmware_digest == "01" * 32
    assert str(identity) == "shoe Maker Model serial S1 firmware 1.0"
    assert device.host.ready


def test_hello_says_what_is_stored_and_a_known_boot_is_no_restart() -> None:
    device = connected(EventMark(DEVICE_BOOT, 17))
    assert device.heard == [Hello(1, 1, DEVICE_BOOT, 17, "test")]
    (ready,) = device.say(device.welcome(first_event=18))
    assert not ready.restarted


def test_a_new_boot_is_told() -> None:
    device = connected(EventMark(DEVICE_BOOT - 1, 17))
    (ready,) = device.say(device.welcome())
    assert ready.restarted
    assert device.say(power_up()) == [power_up()]


def test_a_device_of_another_version_is_told_apart() -> None:
    device = connected()
    (rejected,) = device.say(Unwelcome(2, 3, "no common version"))
    assert rejected == Rejected("no common version", 2, 3)
    assert str(rejected) == "the device speaks protocol versions 2 to 3, this host 1"
    assert device.host.link.state is LinkState.CLOSED
    assert device.host.deadline == math.inf


def test_a_device_that_knows_another_host_is_told_apart() -> None:
    (rejected,) = connected().say(Unwelcome(1, 1, "event 17 never was"))
    assert str(rejected) == "the device refused the session: event 17 never was"


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ({"version": 2}, "version 2 was chosen, 1 was offered"),
        ({"boot": DEVICE_BOOT + 1}, "in Welcome"),
        ({"boot": 0}, "in Welcome"),
    ],
)
def test_a_wrong_welcome_ends_the_session(wrong: dict[str, int], detail: str) -> None:
    device = connected()
    (lost,) = device.say(device.welcome(**wrong))
    assert lost.reason is LossReason.PROTOCOL
    assert detail in lost.detail
    assert device.link.state is LinkState.CLOSED  # RESET says so


def test_a_device_that_has_told_what_is_not_stored_here_is_not_used_until_that_is_given_up() -> None:
    device = connected(stored=EventMark(DEVICE_BOOT, 1))
    (ahead,) = device.say(device.welcome(first_event=4))
    assert ahead == Ahead(DEVICE_BOOT, stored=1, last_forgotten=3)
    assert str(ahead) == "the device no longer has its events 2 to 3, which this host has not stored"
    assert not device.host.ready
    assert device.link.state is LinkState.CLOSED
    device.host.stored(EventMark(DEVICE_BOOT, 3), NOW)
    device.host.connect(NOW)
    device.exchange()
    (ready,) = device.say(device.welcome(first_event=4))
    assert isinstance(ready, Ready)
    assert not ready.restarted
    assert device.say(power_up(4)) == [power_up(4)]


def test_a_new_host_is_told_which_events_went_to_another() -> None:
    """As when the table's computer is replaced: the device has forgotten what the old one had stored."""
    device = connected()
    (ready,) = device.say(device.welcome(first_event=3))
    assert (ready.first_event, ready.restarted) == (3, False)
    (event,) = device.say(Door(3, 0, DoorState.OPEN))
    assert event.number == 3


def test_anything_before_welcome_ends_the_session() -> None:
    (lost,) = connected().say(Done(1))
    assert lost == Lost(LossReason.PROTOCOL, "Done arrived before Welcome")


def test_a_device_that_never_welcomes_is_given_up() -> None:
    device = connected()
    lost: list[Any] = []
    now = NOW
    while not lost:
        now = device.host.deadline
        lost = device.host.tick(now)
        device.exchange(now)
        device.link.tick(now)
    assert (lost, now) == ([Lost(LossReason.NO_ANSWER, "no answer to the greeting")], NOW + 4.0)


def test_session_numbers_are_never_zero_and_not_repeated() -> None:
    host = HostSession(host_boot=0xFFFD)
    numbers = []
    for _ in range(6):
        host.connect(NOW)
        numbers.append(host.link.session)
        host.disconnect()
    assert numbers == [0xFFFE, 0xFFFF, 1, 2, 3, 4]


# --- commands and questions -----------------------------------------------------------------------------------------


def test_a_command_waits_for_the_greeting_and_comes_once() -> None:
    device = connected()
    command = Dispense(5, DEVICE_BOOT, 3)
    device.host.send(command, NOW)
    device.host.send(command, NOW)
    assert device.heard[1:] == []
    device.say(device.welcome())
    assert device.heard[1:] == [command]
    device.host.send(command, NOW)
    assert device.exchange() == []
    assert device.heard[1:] == [command]
    assert device.host.unanswered == [command]
    assert device.say(Done(5), Done(5), Refused(6, Reason.BUSY)) == [Done(5)]  # an answer that nobody waits for is none
    assert device.host.unanswered == []


def test_an_id_is_never_used_for_two_commands() -> None:
    device = greeted()
    device.host.send(Dispense(5, DEVICE_BOOT, 3), NOW)
    with pytest.raises(ValueError, match="in use"):
        device.host.send(Dispense(5, DEVICE_BOOT, 4), NOW)
    with pytest.raises(ValueError, match="at least 1"):
        device.host.send(Dispense(0, DEVICE_BOOT, 4), NOW)


def test_unanswered_commands_are_given_again_unchanged_and_in_order() -> None:
    device = greeted()
    commands = [Dispense(number, DEVICE_BOOT, 3) for number in (5, 6, 7)]
    for command in commands:
        device.host.send(command, NOW)
    device.exchange()
    device.say(Done(6))
    device.host.disconnect()
    device.link.drop()
    device.heard.clear()
    device.host.connect(NOW + 1)
    device.exchange(NOW + 1)
    device.say(device.welcome(), now=NOW + 1)
    assert device.heard[1:] == [commands[0], commands[2]]


def test_a_withdrawn_command_is_carried_by_no_later_link() -> None:
    device = greeted()
    commands = [Dispense(number, DEVICE_BOOT, 3) for number in (5, 6, 7)]
    for command in commands[:2]:
        device.host.send(command, NOW)
    device.exchange()
    assert not device.host.withdraw(5), "it is on its way, and its answer comes"
    assert device.say(Done(5)) == [Done(5)]
    assert not device.host.withdraw(5), "it is answered"
    device.host.disconnect()
    device.link.drop()
    device.host.send(commands[2], NOW)  # while the link is away
    assert device.host.withdraw(6), "whether it came is not known: it is not sent again"
    assert device.host.withdraw(7), "it was never sent"
    assert device.host.unanswered == []
    device.heard.clear()
    device.host.connect(NOW + 1)
    device.exchange(NOW + 1)
    device.say(device.welcome(), now=NOW + 1)
    assert device.heard[1:] == []


def test_no_answer_within_the_stated_time_ends_the_session() -> None:
    device = greeted()
    device.host.send(Dispense(5, DEVICE_BOOT, 3), NOW)
    device.exchange()
    lost: list[Any] = []
    now = NOW
    while not lost:
        now = device.host.deadline
        lost = device.host.tick(now)
        device.exchange(now)
        device.link.tick(now)
        device.exchange(now)
    assert now == NOW + ANSWER_WITHIN_S
    assert lost == [Lost(LossReason.PROTOCOL, "no answer to Dispense 5 within 5 s")]
    assert [command.id for command in device.host.unanswered] == [5]


def test_questions_are_answered_by_the_device() -> None:
    rig = host_at_shoe().connect()
    questions: list[AnyQuestion] = [Identify(0), AskStatus(1), AskCounters(2)]
    for question, answer in zip(questions, (Identity, Status, Counters), strict=True):
        rig.session.ask(question, rig.line.now)
        assert isinstance(rig.answered(question.ref), answer)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_question_about_a_command_is_asked_again_after_a_lost_link_unless_the_device_has_restarted(
    restarted: bool,
) -> None:
    device = greeted(EventMark(DEVICE_BOOT, 0))
    for question in (AskCards(5, 5), AskStatus(6)):
        device.host.ask(question, NOW)
    device.exchange()
    again = PlayedDevice(device.host, DEVICE_BOOT + restarted)
    again.host.connect(NOW)
    again.exchange()
    again.say(again.welcome())
    assert again.heard[1:] == ([AskStatus(6)] if restarted else [AskCards(5, 5), AskStatus(6)])
    answered = again.say(CardKinds(5, 5, [2, 7, 7]))
    assert answered == ([] if restarted else [CardKinds(5, 5, [2, 7, 7])])
    assert again.say(CardKinds(5, 5, [2, 7, 7])) == [], "nobody has asked for it"


# --- events ---------------------------------------------------------------------------------------------------------


def test_events_that_come_again_after_a_new_greeting_are_passed_over_and_counted() -> None:
    device = greeted()
    assert device.say(power_up(), power_up(2)) == [power_up(), power_up(2)]
    again(device)
    assert device.say(power_up(), power_up(2), power_up(3)) == [power_up(3)]
    assert device.host.repeated_events == 2


@pytest.mark.parametrize("number", [1, 3, 1000])
def test_events_out_of_order_are_a_declared_loss(number: int) -> None:
    device = greeted()
    assert device.say(power_up(), power_up(number)) == [
        power_up(),
        Lost(LossReason.PROTOCOL, f"event {number} was sent instead of event 2"),
    ]
    assert not device.host.ready


def test_a_device_that_promises_a_number_and_sends_another_is_not_deafly_ignored() -> None:
    device = connected()
    device.say(device.welcome(first_event=2**53 - 1))
    (lost,) = device.say(power_up(1))
    assert lost == Lost(LossReason.PROTOCOL, f"event 1 was sent instead of event {2**53 - 1}")


def again(device: PlayedDevice, **welcome: Any) -> list[Any]:
    """A new link to the same device, which greets as before."""
    device.host.connect(NOW)
    device.exchange()
    return device.say(device.welcome(**welcome))


UNREADABLE = b"\x91\x05"  # Done without its id


def violate(device: PlayedDevice) -> list[Any]:
    device.link.send(UNREADABLE, NOW)
    return device.exchange()


def test_after_three_violations_a_device_is_not_trusted() -> None:
    device = greeted()
    for _ in range(2):
        (lost,) = violate(device)
        assert isinstance(lost, Lost)
        assert [type(happening) for happening in again(device)] == [Ready]
    (untrusted,) = violate(device)
    assert isinstance(untrusted, Untrusted)
    assert str(untrusted).startswith("it does not follow the protocol: message 5 is unreadable: ")
    assert device.link.state is LinkState.CLOSED  # RESET says so


def test_a_correct_event_makes_up_for_earlier_violations() -> None:
    device = greeted()
    for number in range(1, 6):
        (lost,) = violate(device)
        assert isinstance(lost, Lost)
        again(device, first_event=number)
        assert device.say(power_up(number)) == [power_up(number)]
        device.host.stored(EventMark(DEVICE_BOOT, number), NOW)


def untrusted_device() -> PlayedDevice:
    device = greeted()
    for _ in range(2):
        violate(device)
        again(device)
    violate(device)
    return device


def status(ref: int) -> Status:
    return Status(ref, Mode.READY, 0, 0, 0, Outcome.COMPLETE, 0, 0, 0, 0, 0, False, False, 0, 0)


def test_a_device_that_is_not_trusted_must_answer_a_question_before_it_counts_as_ready() -> None:
    device = untrusted_device()
    assert again(device) == []
    assert device.say(power_up()) == []
    question = device.heard[-1]
    assert isinstance(question, AskStatus)
    ready, event = device.say(status(question.ref))
    assert isinstance(ready, Ready)
    assert event == power_up()
    assert device.say(power_up(2)) == [power_up(2)]
    assert isinstance(violate(device)[0], Lost), "it is trusted again"


def test_an_event_of_a_device_that_then_fails_its_proof_is_not_lost() -> None:
    device = untrusted_device()
    again(device)
    assert device.say(power_up()) == []
    assert [type(happening) for happening in violate(device)] == [Untrusted], "an event is not yet a proof"
    again(device)
    device.say(power_up())
    question = device.heard[-1]
    assert isinstance(question, AskStatus)
    _, event = device.say(status(question.ref))
    assert event == power_up()


def test_a_device_that_answers_nothing_is_not_trusted_although_its_events_are_correct() -> None:
    device = greeted()
    device.host.send(Dispense(5, DEVICE_BOOT, 3), NOW)
    now, number = NOW, 0
    ends: list[Any] = []
    while len(ends) < 3:
        number += 1
        device.say(power_up(number), now=now)
        device.host.stored(EventMark(DEVICE_BOOT, number), now)
        for _ in range(round(ANSWER_WITHIN_S)):
            now += 1.0
            ends += device.host.tick(now)
            device.link.tick(now)
            device.exchange(now)
        device.host.connect(now)
        device.exchange(now)
        device.say(device.welcome(first_event=number + 1), now=now)
    assert [type(end) for end in ends] == [Lost, Lost, Untrusted]
    assert ends[-1].detail == "no answer to Dispense 5 within 5 s, 3 times in a row"


def test_an_answer_that_comes_after_the_host_gave_up_does_not_make_up_for_it() -> None:
    device = greeted()
    now = NOW
    ends: list[Any] = []
    for id in (5, 6, 7):
        device.host.send(Dispense(id, DEVICE_BOOT, 3), now)
        device.exchange(now)
        for _ in range(round(ANSWER_WITHIN_S)):
            now += 1.0
            ends += device.host.tick(now)
            device.link.tick(now)
            device.exchange(now)
        device.host.connect(now)
        device.exchange(now)
        device.say(device.welcome(), Done(id), now=now)
    assert [type(end) for end in ends] == [Lost, Lost, Untrusted]
    assert ends[-1].detail == "no answer to Dispense 7 within 5 s, 3 times in a row"


@pytest.mark.parametrize(
    "fields", [[66, 1, 9, 5, 3, 0, 65_536, 7], [66, 1, 9, 5, 3.5, 0, 3, 7], [66, 1, 9], [73, 1, 9, 1, "x" * 65]]
)
def test_an_event_whose_fields_cannot_be_read_counts(fields: list[Any]) -> None:
    device = greeted()
    data = msgspec.msgpack.encode(fields)
    device.link.send(data, NOW)
    (event,) = device.exchange()
    assert isinstance(event, MalformedEvent)
    assert (event.number, event.at_ms, event.message_number, event.content) == (1, 9, fields[0], data)
    assert event.problem
    assert device.say(power_up(2)) == [power_up(2)]


@pytest.mark.parametrize("number", [0, -1, 2**53, "1", None])
def test_an_event_whose_number_cannot_be_read_is_a_violation(number: Any) -> None:
    for kind in (72, 90, 120):
        device = greeted()
        device.link.send(msgspec.msgpack.encode([kind, number, 9, 1]), NOW)
        (lost,) = device.exchange()
        assert lost.reason is LossReason.PROTOCOL


def test_a_message_that_only_a_host_sends_is_a_violation() -> None:
    for message in (Hello(1, 1), EventsStored(1), Dispense(5, DEVICE_BOOT, 3), AskStatus(1)):
        (lost,) = greeted().say(message)
        assert lost.reason is LossReason.PROTOCOL


def reported(device: PlayedDevice, number: int, now: float = NOW) -> list[Any]:
    """The device reports one event, and the host stores it."""
    found = device.say(power_up(number), now=now)
    device.host.stored(EventMark(DEVICE_BOOT, number), now)
    device.exchange(now)
    return found


def test_too_many_events_are_first_announced_and_then_stopped() -> None:
    assert KEPT_MOST < WARN_AT, "all that a device may have kept is not too much"
    device = greeted()
    for number in range(1, WARN_AT):
        assert reported(device, number) == [power_up(number)]
    warning, event = reported(device, WARN_AT)
    assert str(warning) == "it keeps sending more than 10 events per second"
    assert event == power_up(WARN_AT)
    for number in range(WARN_AT + 1, STOP_AT):
        assert reported(device, number) == [power_up(number)]
    (untrusted,) = device.say(power_up(STOP_AT))
    assert isinstance(untrusted, Untrusted)


def test_as_many_events_as_a_device_may_report_are_never_too_many() -> None:
    device = greeted()
    for number in range(1, 2 * STOP_AT):
        now = NOW + number / EVENTS_PER_S
        assert reported(device, number, now) == [power_up(number)]


def test_an_event_of_a_later_version_counts() -> None:
    device = greeted()
    device.say(power_up())
    device.link.send(b"\x94\x5a\x02\x09\xa3new", NOW)
    (unknown,) = device.exchange()
    assert isinstance(unknown, UnknownEvent)
    assert (unknown.number, unknown.at_ms, unknown.message_number) == (2, 9, 90)
    assert device.say(power_up(3)) == [power_up(3)]


def test_only_growing_marks_of_this_boot_are_told() -> None:
    device = greeted()
    device.say(power_up(1), power_up(2))
    device.host.stored(EventMark(DEVICE_BOOT, 2), NOW)
    device.host.stored(EventMark(DEVICE_BOOT, 1), NOW)
    device.host.stored(EventMark(DEVICE_BOOT + 1, 9), NOW)
    device.exchange()
    assert device.heard[1:] == [EventsStored(2)]


def test_a_device_that_never_acknowledges_cannot_fill_the_host_with_marks() -> None:
    device = greeted()
    for number in range(1, WINDOW + PENDING_MAX + 50):
        device.host.stored(EventMark(DEVICE_BOOT, number), NOW)
    assert not device.host.link._pending
    device.exchange()
    device.link.tick(NOW + 0.1)
    device.exchange(NOW + 0.1)
    assert device.heard[-1] == EventsStored(WINDOW + PENDING_MAX + 49), "the last one follows as soon as it can"


def test_commands_that_cannot_be_queued_end_the_link_and_raise_nothing() -> None:
    device = greeted()
    commands = [Dispense(id, DEVICE_BOOT, 3) for id in range(1, WINDOW + PENDING_MAX + 3)]
    for command in commands:
        device.host.send(command, NOW)
    assert device.host.deadline <= NOW
    (lost,) = device.host.tick(NOW)
    assert lost == Lost(LossReason.PROTOCOL, "it does not acknowledge messages, and 256 are waiting")
    assert device.host.unanswered == commands


def test_an_onlooker_takes_the_events_as_they_are() -> None:
    host = HostSession(host_boot=HOST_BOOT, stored=None)
    host.connect(NOW)
    device = PlayedDevice(host)
    device.exchange()
    assert device.heard == [Hello(1, 1, 0, 0, "")]
    assert isinstance(device.say(device.welcome(first_event=7))[0], Ready)
    assert device.say(power_up(7)) == [power_up(7)]
    with pytest.raises(ValueError, match="only observes"):
        host.stored(EventMark(DEVICE_BOOT, 7), NOW)


# --- against the simulated shoe, over what can happen to a link -----------------------------------------------------


def dealing(**how: Any) -> HostAtDevice:
    """A host at a loaded shoe, connected."""
    rig = host_at_shoe(**how).connect()
    rig.device.load(RED, rig.line.now)
    rig.line.rest(0.1)
    return rig


def deal(rig: HostAtDevice, number: int) -> None:
    """Give the command, without waiting for anything."""
    rig.session.send(Dispense(number, rig.session.boot, 3), rig.line.now)


def test_a_pulled_cable_loses_no_event_and_repeats_no_stack() -> None:
    rig = dealing()
    deal(rig, 5)
    rig.line.rest(0.05)  # it deals already
    rig.line.cut()
    rig.session.disconnect()
    rig.line.rest(6)  # the stack is presented with nobody listening
    rig.device.take(HAND, rig.line.now)
    rig.connect()
    rig.line.rest(1)
    assert rig.numbers(rig.session.boot) == [1, 2, 3, 4, 5]
    assert rig.answers == [Done(5)]
    assert rig.table.cards.count(HAND) == 3


def test_a_cut_before_the_answer_gives_the_same_answer_again() -> None:
    rig = dealing()
    deal(rig, 5)
    rig.line.flush()
    rig.line.step()
    assert rig.firmware.effects == 1
    rig.line.cut()  # the answer is on its way, and lost
    rig.session.disconnect()
    rig.connect()
    assert rig.answered(5) == Done(5)
    rig.line.rest(2)
    assert rig.firmware.effects == 1
    assert rig.table.cards.count(rig.device.mechanics.exit) == 3


def test_a_restarted_host_with_its_mark_gets_the_rest_once() -> None:
    rig = dealing()
    rig.store = False
    deal(rig, 5)
    rig.line.rest(0.1)
    boot, before = rig.session.boot, len(rig.events)
    assert rig.mark == EventMark(boot, 2)
    rig.line.rest(2)  # events 3 and 4 come, and are not stored before the host dies
    assert rig.numbers(boot) == [1, 2, 3, 4]
    rig.store = True
    rig.restart_host()
    rig.line.rest(1)
    assert rig.numbers(boot)[before:] == [3, 4, 3, 4]
    assert not rig.readies[-1].restarted


def test_stored_events_are_not_replayed() -> None:
    rig = dealing()
    deal(rig, 5)
    rig.line.rest(3)
    events = list(rig.events)
    for _ in range(3):
        rig.restart_host()
        rig.line.rest(1)
    assert rig.events == events
    assert rig.session.repeated_events == 0
    rig.session.ask(AskStatus(1), rig.line.now)
    assert rig.answered(1).events_kept == 0


def test_a_mark_that_was_never_told_is_told_by_hello() -> None:
    rig = dealing()
    rig.store = False
    deal(rig, 5)
    rig.line.rest(3)
    assert len(rig.firmware._events) == 2
    rig.mark = EventMark(rig.session.boot, 4)  # stored in the very moment in which the host dies
    rig.restart_host()
    rig.line.rest(1)
    assert rig.session.repeated_events == 0
    assert len(rig.firmware._events) == 0


def test_a_rebooted_device_says_that_it_does_not_know() -> None:
    rig = dealing()
    rig.session.send(Dispense(5, rig.session.boot, 53), rig.line.now)
    rig.line.flush()
    rig.line.step()  # the shoe has the command, and its answer is on the way
    rig.line.cut()
    rig.device.inject(FaultName.REBOOT, rig.line.now)
    assert rig.answered(5) == Refused(5, Reason.OTHER_BOOT)
    assert rig.losses[0].reason is LossReason.PEER_RESTARTED
    first, second = rig.readies
    assert second.restarted
    assert second.boot != first.boot
    assert isinstance(rig.events[-1][1], PowerUp)
    assert rig.numbers(first.boot) == [1, 2]
    assert rig.numbers(second.boot) == [1]


def test_a_device_that_kept_its_memory_is_no_restart_and_its_power_up_is_told() -> None:
    rig = dealing(shoe_capabilities=SHOE_CAPABILITIES | {Capability.KEEPS_MEMORY})
    deal(rig, 5)
    rig.line.rest(2)
    rig.device.inject(FaultName.POWER_LOSS, rig.line.now, for_s=10.0)
    rig.line.rest(20)
    assert [ready.restarted for ready in rig.readies] == [False, False]
    last = rig.events[-1][1]
    assert isinstance(last, PowerUp)
    assert last.memory_kept
    assert rig.numbers(rig.session.boot) == [1, 2, 3, 4, 5]
    deal(rig, 6)
    assert rig.answered(6) == Refused(6, Reason.EXIT_OCCUPIED)


def test_a_command_in_the_same_bytes_as_a_new_opening_is_not_answered_into_it() -> None:
    rig = dealing()
    old = rig.session
    old.send(Dispense(5, old.boot, 3), rig.line.now)
    new = HostSession(host_boot=HOST_BOOT + 1, stored=rig.mark)
    new.connect(rig.line.now)
    rig.device.receive(old.take_output() + new.take_output(), rig.line.now)
    happenings = new.receive(rig.device.take_output(), rig.line.now)
    rig.device.receive(new.take_output(), rig.line.now)
    happenings += new.receive(rig.device.take_output(), rig.line.now)
    assert [type(happening) for happening in happenings] == [Ready]


def test_a_host_that_claims_events_that_never_were_is_unwelcome() -> None:
    rig = host_at_shoe()
    rig.session = rig.line.host = HostSession(host_boot=HOST_BOOT, stored=EventMark(rig.firmware.boot, 99))
    rig.session.connect(rig.line.now)
    rig.line.rest(1)
    assert rig.answers == [Rejected("event 99 never existed", 1, 1)]


# --- any bytes at all -----------------------------------------------------------------------------------------------


SESSION = (HOST_BOOT & 0xFFFF) + 1
FOREIGN_ARRAYS = st.tuples(st.integers(0, 95), st.binary(max_size=30)).map(
    lambda made: b"\x98" + bytes([made[0]]) + made[1] + b"\x01" * 8
)
FOREIGN_MESSAGES = st.binary(min_size=1, max_size=40) | FOREIGN_ARRAYS | MESSAGES.map(lambda message: message.encode())
HOSTILE = st.lists(
    RANDOM_BYTES | packets_of(SESSION).map(encode_frame) | st.lists(FOREIGN_MESSAGES, max_size=6), max_size=6
)


def hostile_stream(parts: list[bytes | list[bytes]], to: Link) -> bytes:
    """The parts as bytes for one end; messages go in packets that it takes, in their right order."""
    stream, seq = b"", to._expected
    for part in parts:
        for message in part if isinstance(part, list) else ():
            stream += encode_frame(pack(Packet(PacketType.DATA, SESSION, seq=seq, ack=to._next_seq, message=message)))
            seq += 1
        stream += part if isinstance(part, bytes) else b""
    return stream


@given(HOSTILE, CUTS, st.booleans())
@settings(max_examples=200)
def test_no_bytes_can_break_a_host(parts: list[bytes | list[bytes]], cuts: list[int], is_greeted: bool) -> None:
    device = greeted() if is_greeted else connected()
    host = device.host
    host.send(Dispense(5, DEVICE_BOOT, 3), NOW)
    host.ask(AskStatus(6), NOW)
    for piece in chop(hostile_stream(parts, host.link), cuts):
        happenings = host.receive(piece, NOW)
        assert len(host.link._decoder._buffer) <= MAX_ENCODED
        host.take_output()
        if any(isinstance(happening, Lost | Rejected | Untrusted) for happening in happenings):
            assert host.deadline == math.inf
            host.connect(NOW)
    host.tick(NOW + 100)


@given(HOSTILE, CUTS, st.booleans())
@settings(max_examples=200)
def test_no_bytes_can_break_a_simulated_device(
    parts: list[bytes | list[bytes]], cuts: list[int], is_greeted: bool
) -> None:
    rig = host_at_shoe(reconnect=False)
    if is_greeted:
        rig.connect()
    else:
        rig.session.connect(0.0)
        rig.line.flush()
        rig.line.step()
    rig.device.load(RED, rig.line.now)
    now = rig.line.now
    for piece in chop(hostile_stream(parts, rig.firmware.link), cuts):
        rig.device.receive(piece, now)
        rig.device.take_output()
    rig.device.press(ButtonName.RED, now)
    rig.device.tick(now + 100)
    rig.table.cards.check()
    assert rig.table.cards.count(Spot(CardPlace.SHOE)) + rig.table.cards.count(rig.device.mechanics.exit) <= 53
