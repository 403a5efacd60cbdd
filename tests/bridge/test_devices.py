"""`Shuffler` and `Shoe` against the simulated ones on ptys: every method, and a whole round of physical cards."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from firmware_bridge.connection import CommandRefused, NotReady, OutcomeUnknown
from firmware_bridge.devices import Device, Noticed, Shoe, Shuffler
from firmware_bridge.wire.link import LinkTiming, Lost
from firmware_bridge.wire.messages import (
    AnyCommand,
    AnyEvent,
    Button,
    ButtonName,
    CardsCounted,
    CardsPresent,
    ClearJam,
    Cycle,
    CycleDone,
    Deliver,
    DeviceRole,
    Dispense,
    Door,
    DoorState,
    Eject,
    Indicate,
    Jam,
    Light,
    Lock,
    Mode,
    Outcome,
    Place,
    PowerUp,
    Reason,
    Release,
    SelfTest,
    Shuffle,
    Sound,
    StackPresented,
    StackTaken,
    Unlock,
)
from firmware_bridge.wire.session import EventMark, Ready
from simulators.control import Hands, running
from simulators.devices.cards import DECK_SIZE, Spot
from simulators.devices.cards import CardPlace as Where
from simulators.devices.device import ON_THE_TABLE, SimulatedDevice, SimulatedTable
from simulators.devices.faults import FaultName
from simulators.devices.shuffling import Uniform
from simulators.pipes.endpoints import Endpoint, PtyEndpoint

LIMIT_S = 30.0
SPEED = 50.0
HOST_BOOT = 7

Kind = TypeVar("Kind", bound=Noticed)


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT_S):
            await work

    asyncio.run(limited())


class Side:
    """One device: the simulated box, and the host's object for it."""

    def __init__(self, box: SimulatedDevice, endpoint: Endpoint) -> None:
        self.box = box
        self.endpoint = endpoint
        self.noticed: list[Noticed] = []
        self._events: AsyncIterator[Noticed]

    def follow(self, device: Device) -> None:
        self._events = device.events()

    async def until(self, kind: type[Kind]) -> Kind:
        """The next of this kind; those before it are kept in `noticed`."""
        async for noticed in self._events:
            self.noticed.append(noticed)
            if isinstance(noticed, kind):
                return noticed
        raise AssertionError("events() has ended")

    def hand(self, work: Callable[[SimulatedDevice, float], object]) -> None:
        work(self.box, self.endpoint.driver.now())
        self.endpoint.poke()


class Desk:
    """A table with both devices on ptys, and the host's objects for them, ready."""

    def __init__(self, table: SimulatedTable, endpoints: dict[str, Endpoint]) -> None:
        self.table = table
        self.cards = table.cards
        self.at_shuffler = Side(table.shuffler, endpoints["shuffler"])
        self.at_shoe = Side(table.shoe, endpoints["shoe"])
        self.shuffler = Shuffler(endpoints["shuffler"].address, host_boot=HOST_BOOT)
        self.shoe = Shoe(endpoints["shoe"].address, host_boot=HOST_BOOT)
        self.at_shuffler.follow(self.shuffler)
        self.at_shoe.follow(self.shoe)

    def count(self, place: Where, number: int = 0) -> int:
        return self.cards.count(Spot(place, number))


@contextlib.asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    now = asyncio.get_running_loop().time()
    table = SimulatedTable(3, way=Uniform(), timing=LinkTiming().scaled(SPEED), now=now)
    endpoints: dict[str, Endpoint] = {
        "shuffler": PtyEndpoint(table.shuffler, folder / "shuffler", speed=SPEED),
        "shoe": PtyEndpoint(table.shoe, folder / "shoe", speed=SPEED),
    }
    async with running(table, endpoints, folder):
        made = Desk(table, endpoints)
        async with made.shuffler, made.shoe:
            await asyncio.gather(made.shuffler.until_ready(), made.shoe.until_ready())
            yield made
    table.cards.check()


def both_identities(at: Desk) -> tuple[DeviceRole, DeviceRole]:
    assert at.shuffler.identity is not None
    assert at.shoe.identity is not None
    return at.shuffler.identity.role, at.shoe.identity.role


# --- what is sent -----------------------------------------------------------------------------------------------------

SENT_BY_BOTH: list[tuple[Callable[[Any], Coroutine[Any, Any, None]], AnyCommand]] = [
    (lambda device: device.lock(5), Lock(5, 9)),
    (lambda device: device.unlock(5), Unlock(5, 9)),
    (lambda device: device.eject(5), Eject(5, 9)),
    (lambda device: device.clear_jam(5), ClearJam(5, 9)),
    (lambda device: device.self_test(5), SelfTest(5, 9)),
    (lambda device: device.indicate(5, Light.RED), Indicate(5, 9, Light.RED)),
    (
        lambda device: device.indicate(5, Light.GREEN, "next deck", Sound.CHIME),
        Indicate(5, 9, Light.GREEN, "next deck", Sound.CHIME),
    ),
    (lambda device: device.lock(5, boot=4), Lock(5, 4)),
]
SENT_BY_SHUFFLER: list[tuple[Callable[[Any], Coroutine[Any, Any, None]], AnyCommand]] = [
    (lambda device: device.shuffle(5), Shuffle(5, 9)),
    (lambda device: device.deliver(5), Deliver(5, 9)),
    (lambda device: device.deliver(5, boot=4), Deliver(5, 4)),
]
SENT_BY_SHOE: list[tuple[Callable[[Any], Coroutine[Any, Any, None]], AnyCommand]] = [
    (lambda device: device.dispense(5, 3), Dispense(5, 9, 3)),
    (lambda device: device.dispense(5, 3, hold=True), Dispense(5, 9, 3, True)),
    (lambda device: device.release(5), Release(5, 9)),
]


@pytest.mark.parametrize(
    ("kind", "method", "command"),
    [
        *((kind, *row) for kind in (Shuffler, Shoe) for row in SENT_BY_BOTH),
        *((Shuffler, *row) for row in SENT_BY_SHUFFLER),
        *((Shoe, *row) for row in SENT_BY_SHOE),
    ],
)
def test_every_method_gives_the_command_it_names(
    kind: type[Device], method: Callable[[Any], Coroutine[Any, Any, None]], command: AnyCommand, tmp_path: Path
) -> None:
    async def work() -> None:
        device = kind(str(tmp_path / "nobody"), host_boot=HOST_BOOT, stored=EventMark(boot=9))
        giving = asyncio.create_task(method(device))
        while not device.connection.session.unanswered:  # noqa: ASYNC110 - at the task's first step
            await asyncio.sleep(0)
        assert device.connection.session.unanswered == [command]
        device.connection.close()
        with pytest.raises(NotReady):
            await giving

    run(work())


def test_a_text_too_long_for_the_indicator(tmp_path: Path) -> None:
    async def work() -> None:
        shoe = Shoe(str(tmp_path / "nobody"), host_boot=HOST_BOOT, stored=EventMark(boot=9))
        with pytest.raises(ValueError, match="at most 64"):
            await shoe.indicate(1, Light.RED, "x" * 65)

    run(work())


def test_no_command_before_any_device_has_answered(tmp_path: Path) -> None:
    async def work() -> None:
        async with Shoe(str(tmp_path / "nobody"), host_boot=HOST_BOOT) as shoe:
            with pytest.raises(NotReady, match="no device has answered yet"):
                await shoe.dispense(1, 3)
            assert shoe.identity is None
            assert shoe.boot == 0

    run(work())


def test_left_at_once() -> None:
    async def work() -> None:
        async with Shoe("/nonexistent/port", host_boot=HOST_BOOT):
            pass

    run(work())


def test_a_fault_of_the_connection_itself_is_not_kept_quiet(mocker: Any) -> None:
    mocker.patch("firmware_bridge.connection.open_port", side_effect=ZeroDivisionError)

    async def work() -> None:
        shoe = Shoe("/nonexistent/port", host_boot=HOST_BOOT)
        await shoe.__aenter__()
        with pytest.raises(ZeroDivisionError):
            await anext(shoe.events())
        with pytest.raises(ZeroDivisionError):
            await shoe.__aexit__()

    run(work())


# --- what comes of it -------------------------------------------------------------------------------------------------


def test_shuffle_and_deliver_into_the_shoe(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            assert both_identities(at) == (DeviceRole.SHUFFLER, DeviceRole.SHOE)
            assert (await at.shuffler.identify()).serial == "SH-0001"
            with pytest.raises(CommandRefused) as refused:
                await at.shuffler.shuffle(1)
            assert refused.value.reason is Reason.NO_CARDS
            at.at_shuffler.hand(lambda box, now: box.load(Spot(Where.TABLE), now))
            before = at.cards.pile(Spot(Where.INFEED))
            await at.shuffler.shuffle(2)
            assert (await at.shuffler.status()).mode is Mode.WORKING
            counted = await at.at_shuffler.until(CardsCounted)
            assert (counted.command, counted.place, counted.cards) == (2, Place.OUTPUT, DECK_SIZE)
            done = await at.at_shuffler.until(CycleDone)
            assert (done.command, done.cycle, done.outcome) == (2, Cycle.SHUFFLE, Outcome.COMPLETE)
            after = at.cards.pile(Spot(Where.OUTPUT))
            assert set(after) == set(before)
            assert after != before
            await at.shuffler.deliver(3)
            assert (await at.at_shuffler.until(CycleDone)).cycle is Cycle.DELIVER
            present = await at.at_shoe.until(CardsPresent)
            assert (present.place, present.present) == (Place.SHOE, True)
            assert at.cards.pile(Spot(Where.SHOE)) == after
            assert (await at.shuffler.counters()).effects == 2

    run(work())


def test_lock_indicate_and_self_test(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            for number, (device, side) in enumerate([(at.shuffler, at.at_shuffler), (at.shoe, at.at_shoe)]):
                await device.lock(1)
                assert (await side.until(Door)).state is DoorState.LOCKED
                assert (await device.status()).locked
                with pytest.raises(CommandRefused) as refused:
                    await device.self_test(2)
                assert refused.value.reason is Reason.LOCKED
                await device.unlock(3)
                assert (await side.until(Door)).state is DoorState.UNLOCKED
                await device.self_test(4)
                done = await side.until(CycleDone)
                assert (done.cycle, done.outcome) == (Cycle.SELF_TEST, Outcome.COMPLETE)
                await device.indicate(5, Light.YELLOW, f"deck {number}", Sound.CHIME)
                firmware = side.box.firmware
                assert firmware is not None
                assert firmware.indication == Indicate(5, device.boot, Light.YELLOW, f"deck {number}", Sound.CHIME)

    run(work())


def test_a_jam_is_cleared(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            at.at_shoe.hand(lambda box, now: box.load(Spot(Where.TABLE), now))
            at.at_shoe.hand(lambda box, now: box.inject(FaultName.JAM, now, after_cards=1))
            await at.shoe.dispense(1, 3)
            assert (await at.at_shoe.until(Jam)).command == 1
            assert (await at.at_shoe.until(CycleDone)).outcome is Outcome.JAMMED
            await at.shoe.clear_jam(2)
            assert (await at.at_shoe.until(CycleDone)).outcome is Outcome.JAMMED  # nobody has taken the card away
            at.at_shoe.hand(lambda box, now: box.mend(FaultName.JAM, now))
            await at.shoe.clear_jam(3)
            assert (await at.at_shoe.until(CycleDone)).outcome is Outcome.COMPLETE
            assert (await at.shoe.status()).mode is Mode.READY
            assert (at.count(Where.EXIT), at.cards.count(ON_THE_TABLE)) == (1, 1)

    run(work())


def test_what_is_stored_the_device_forgets(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            ready = await at.at_shoe.until(Ready)
            for _ in range(3):
                at.at_shoe.hand(lambda box, now: box.press(ButtonName.GREEN, now))
            events: list[AnyEvent] = [await at.at_shoe.until(PowerUp)]
            events += [await at.at_shoe.until(Button) for _ in range(3)]
            assert [event.number for event in events] == [1, 2, 3, 4]
            assert (await at.shoe.status()).events_kept == 4
            at.shoe.stored(EventMark(ready.boot, events[1].number))
            assert (await at.shoe.status()).events_kept == 2
            at.shoe.stored(EventMark(ready.boot, events[0].number))
            assert (await at.shoe.status()).events_kept == 2
            at.shoe.stored(EventMark(ready.boot, events[-1].number))
            assert (await at.shoe.status()).events_kept == 0

    run(work())


def test_storing_events_of_an_earlier_life_touches_none_of_this_one(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            first = await at.at_shoe.until(Ready)
            at.at_shoe.hand(lambda box, now: box.press(ButtonName.GREEN, now))
            pressed = await at.at_shoe.until(Button)
            at.at_shoe.hand(lambda box, now: box.inject(FaultName.REBOOT, now))
            await at.at_shoe.until(Lost)
            second = await at.at_shoe.until(Ready)
            assert second.restarted
            at.at_shoe.hand(lambda box, now: box.press(ButtonName.RED, now))
            assert (await at.at_shoe.until(Button)).number == pressed.number
            at.shoe.stored(EventMark(first.boot, pressed.number))
            assert (await at.shoe.status()).events_kept == 2
            at.shoe.stored(EventMark(second.boot, pressed.number))
            assert (await at.shoe.status()).events_kept == 0

    run(work())


def test_a_command_of_an_earlier_life(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            at.at_shoe.hand(lambda box, now: box.load(Spot(Where.TABLE), now))
            earlier = at.shoe.boot
            at.at_shoe.hand(lambda box, now: box.inject(FaultName.REBOOT, now))
            await at.at_shoe.until(Lost)
            await at.at_shoe.until(Ready)
            with pytest.raises(OutcomeUnknown):
                await at.shoe.dispense(1, 3, boot=earlier)
            assert at.count(Where.EXIT) == 0
            await at.shoe.dispense(2, 3)
            await at.at_shoe.until(CycleDone)
            assert at.count(Where.EXIT) == 3

    run(work())


def test_a_round_by_hand(tmp_path: Path) -> None:
    """Four seats and the dealer: from the deck on the table to the stub back on it."""

    async def work() -> None:
        async with desk(tmp_path) as at:
            at.at_shuffler.hand(lambda box, now: box.load(Spot(Where.TABLE), now))
            await at.shuffler.shuffle(1)
            await at.at_shuffler.until(CycleDone)
            await at.shuffler.deliver(2)
            await at.at_shuffler.until(CycleDone)
            await at.at_shoe.until(CardsPresent)
            order = at.cards.pile(Spot(Where.SHOE))

            await at.shoe.dispense(3, 3, hold=True)
            held = await at.at_shoe.until(StackPresented)
            assert (held.place, held.cards) == (Place.HELD, 3)
            await at.at_shoe.until(CycleDone)
            for seat in range(1, 5):
                await at.shoe.dispense(3 + seat, 3)
                presented = await at.at_shoe.until(StackPresented)
                assert (presented.command, presented.place, presented.cards) == (3 + seat, Place.EXIT, 3)
                assert (await at.at_shoe.until(CycleDone)).outcome is Outcome.COMPLETE
                at.at_shoe.hand(lambda box, now, seat=seat: box.take(Spot(Where.HAND, seat), now))  # type: ignore[misc]
                taken = await at.at_shoe.until(StackTaken)
                assert (taken.command, taken.cards, taken.kinds) == (3 + seat, 3, [])
            await at.shoe.release(8)
            assert (await at.at_shoe.until(StackPresented)).cards == 3
            await at.at_shoe.until(CycleDone)
            at.at_shoe.hand(lambda box, now: box.take(Spot(Where.HAND, 0), now))
            await at.at_shoe.until(StackTaken)
            await at.shoe.eject(9)
            assert (await at.at_shoe.until(StackPresented)).cards == DECK_SIZE - 15
            await at.at_shoe.until(CycleDone)
            at.at_shoe.hand(lambda box, now: box.take(ON_THE_TABLE, now))
            await at.at_shoe.until(StackTaken)

            at.cards.check()
            for position, seat in enumerate([0, 1, 2, 3, 4]):  # the dealer's stack was formed first
                dealt = order[3 * position : 3 * position + 3]
                assert set(at.cards.pile(Spot(Where.HAND, seat))) == set(dealt)
            assert at.cards.pile(ON_THE_TABLE) == order[15:]
            assert at.count(Where.SHOE) == at.count(Where.EXIT) == at.count(Where.HELD) == 0
            assert (await at.shoe.counters()).effects == 7
            assert (await at.shuffler.counters()).effects == 2
            numbers = [n.number for n in at.at_shoe.noticed if not isinstance(n, Ready)]  # type: ignore[union-attr]
            assert numbers == list(range(1, len(numbers) + 1))

    run(work())


def test_gathering_brings_a_round_back(tmp_path: Path) -> None:
    async def work() -> None:
        async with desk(tmp_path) as at:
            at.at_shoe.hand(lambda box, now: box.load(Spot(Where.TABLE), now))
            await at.shoe.dispense(1, 5)
            await at.at_shoe.until(CycleDone)
            at.at_shoe.hand(lambda box, now: box.take(Spot(Where.HAND, 2), now))
            hands = Hands(at.table, {"shuffler": at.at_shuffler.endpoint, "shoe": at.at_shoe.endpoint})
            assert b'"cards":5' in hands.carry_out(b'{"do":"gather"}')
            assert at.count(Where.TABLE) == 5

    run(work())
