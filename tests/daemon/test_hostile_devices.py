"""Devices that violate the protocol, at a table in virtual time and with the real daemon: the table says so, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.api.table_view import table_view
from controller.core.events.devices import DeviceReported
from controller.core.machines import DeviceState, TableState
from firmware_bridge.wire.session import EventMark
from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.people import People
from tests.daemon.test_shoed import config_file
from tests.support.hostile import HostileFirmware, press
from tests.support.plugged import Plugged
from tests.support.served import Served

LONG_S = 900.0
BAD_EVENTS = {
    "65,536 cards": [67, 0, 9, 4711, 5, 65_536],
    "a float": [67, 0, 9, 4711, 5, 3.0],
    "a missing field": [67, 0, 9, 4711, 5],
    "an over-long text": [73, 0, 9, 1, "x" * 65],
    "kinds that are text": [65, 0, 9, 4711, 3, 53, ["red dragon"]],
}


class HostileHouse(House):
    """A table whose shoe is hostile on request."""

    def __init__(self) -> None:
        super().__init__(None, build=HostileFirmware)

    def _forget(self, device: str, mark: EventMark) -> None:
        """At once, as the daemon does."""
        wired = self.wired[device]
        wired.stirred, wired.notified = True, mark
        wired.session.stored(mark, self.now)

    @property
    def firmware(self) -> HostileFirmware:
        found = self.wired["shoe"].device.firmware
        assert isinstance(found, HostileFirmware)
        return found

    def hostile(self, *work: Any) -> None:
        """Call these with the shoe's firmware at this moment."""
        device = self.wired["shoe"].device
        for one in work:
            device._touch(self.now)
            one(self.firmware)
        self.look()

    def kinds(self, kind: str, since: int = 0) -> list[Any]:
        return [entry.event for entry in self.events[since:] if entry.kind == kind and _of(entry.event) == "shoe"]


def _of(event: Any) -> str:
    return str(getattr(event, "device", "") or getattr(event, "by_device", ""))


@pytest.fixture
def playing() -> tuple[HostileHouse, People]:
    house = HostileHouse()
    people = People(house)
    assert people.open()
    assert people.play((1, 3))
    return house, people


def connections(house: HostileHouse, since: int) -> int:
    return len(house.kinds("device.connected", since)) + len(house.kinds("device.lost", since))


@pytest.mark.parametrize("number", [90, 111, 112, 127])
def test_an_event_of_an_unknown_kind_is_recorded_and_play_goes_on(
    playing: tuple[HostileHouse, People], number: int
) -> None:
    house, people = playing
    since = len(house.events)
    house.hostile(lambda shoe: shoe.raw_event(number, 0, 9, "something new"))
    house.rest(60.0)
    (seen,) = house.kinds("device.reported", since)
    assert isinstance(seen, DeviceReported)
    assert seen.message_number == number
    assert b"something new" in bytes.fromhex(seen.content)
    assert seen.sentence() == f"The shoe sent an event of an unknown kind (message {number})."
    assert connections(house, since) == 0
    assert len(house.firmware._events) == 0, "it is stored, and the shoe forgets it"
    assert people.play((1, 3))


@pytest.mark.parametrize("fields", BAD_EVENTS.values(), ids=BAD_EVENTS)
def test_an_event_that_cannot_be_read_is_recorded_and_the_device_has_failed(
    playing: tuple[HostileHouse, People], fields: list[Any]
) -> None:
    house, people = playing
    since = len(house.events)
    house.hostile(lambda shoe: shoe.raw_event(*fields))
    house.rest(60.0)
    seen, *_ = house.kinds("device.reported", since)
    assert seen.message_number == fields[0]
    assert seen.content
    assert "cannot be read" in seen.sentence()
    assert house.state.devices["shoe"].state is DeviceState.FAILED
    assert "cannot be read" in house.state.warnings["shoe.fail"].text
    assert connections(house, since) == 0
    house.wired["shoe"].device.inject(FaultName.REBOOT, house.now)
    house.look()
    house.rest(10.0)
    assert people.work()
    assert people.play((1, 3))


def test_an_event_that_cannot_be_read_voids_a_deal() -> None:
    house = HostileHouse()
    people = People(house)
    assert people.open()
    people.enough = lambda: house.state.table is TableState.DEALING
    people.play((1, 3))
    house.hostile(lambda shoe: shoe.raw_event(67, 0, 9, 1, 5, "three"))
    house.rest(1.0)
    assert house.state.table is TableState.VOIDING
    assert "cannot be read" in house.state.round.void_reason  # type: ignore[union-attr]


def test_a_command_from_a_device_is_a_violation_that_ends_in_an_alarm(playing: tuple[HostileHouse, People]) -> None:
    house, _ = playing

    def shuffle(shoe: HostileFirmware) -> None:
        shoe.say(b"\x93\x10\x01\x01")

    house.hostile(shuffle)
    since = len(house.events)
    house.rest(5.0)
    house.hostile(shuffle)
    house.rest(5.0)
    assert not house.kinds("device.refused", since), "twice may be bad luck"
    house.hostile(shuffle)
    house.rest(5.0)
    (refused,) = house.kinds("device.refused", since)
    assert "it does not follow the protocol: message 16 is unreadable" in refused.reason
    assert not house.state.devices["shoe"].online


BEYOND = 2**53


@pytest.mark.parametrize("number", [BEYOND, 0, -1, 5000, "7"], ids=["beyond", "0", "negative", "gap", "text"])
def test_a_wrong_event_number_ends_in_an_alarm_and_not_in_a_loop(
    playing: tuple[HostileHouse, People], number: Any
) -> None:
    house, _ = playing
    since = len(house.events)
    house.hostile(lambda shoe: shoe.raw_event(72, 0, 9, 1, number=number))
    house.rest(LONG_S)
    (refused,) = house.kinds("device.refused", since)
    assert "it does not follow the protocol" in refused.reason
    assert "it does not follow the protocol" in house.state.warnings["shoe.refused"].text
    assert connections(house, since) <= 5, "it is tried again and again, but the table does not flap"
    assert house.wired["shuffler"].session.ready
    troubles = [alarm["text"] for alarm in table_view(house.state, house.now_ms)["warnings"]]
    assert any("does not follow the protocol" in text for text in troubles)


def test_a_device_that_is_repaired_is_used_again(playing: tuple[HostileHouse, People]) -> None:
    house, people = playing
    house.hostile(lambda shoe: shoe.raw_event(72, 0, 9, 1, number=0))
    house.rest(120.0)
    assert house.state.warnings["shoe.refused"]
    house.hostile(lambda shoe: shoe._events.clear(), lambda shoe: setattr(shoe, "_next_event", shoe._next_event - 1))
    house.rest(120.0)
    assert house.state.devices["shoe"].online
    assert people.work()
    assert people.play((1, 3))


def test_a_device_that_never_answers_while_its_events_keep_coming_raises_an_alarm() -> None:
    house = HostileHouse()
    people = People(house)
    assert people.open()
    since = len(house.events)
    house.hostile(lambda shoe: setattr(shoe, "answers", False))
    people.enough = lambda: bool(house.kinds("device.refused", since))  # nobody switches it off and on
    people.play((1, 3))
    house.rest(LONG_S)
    assert house.wired["shoe"].session.link.counters.sessions > 10, "it is tried again and again"
    (refused,) = house.kinds("device.refused", since)
    assert "no answer to Dispense" in refused.reason
    assert "3 times in a row" in refused.reason
    assert connections(house, since) <= 6
    assert "shoe.lost" not in house.state.warnings


def test_a_device_that_answers_too_late_raises_an_alarm() -> None:
    """Each answer comes a second after the host has given up waiting for it, and so into the next link session."""
    house = HostileHouse()
    people = People(house)
    assert people.open()
    since = len(house.events)
    house.hostile(lambda shoe: setattr(shoe, "delay_s", 6.0))
    people.enough = lambda: bool(house.kinds("device.refused", since))
    for _ in range(5):
        people.play((1, 3))
        house.rest(60.0)
    refused, *_ = house.kinds("device.refused", since)
    assert "within 5 s, 3 times in a row" in refused.reason
    assert len(house.kinds("device.lost", since)) <= 4


def test_a_device_that_does_not_want_us_is_not_said_to_be_silent(playing: tuple[HostileHouse, People]) -> None:
    house, _ = playing
    since = len(house.events)
    house.hostile(lambda shoe: setattr(shoe, "unwelcoming", True))
    house.wired["shoe"].device.inject(FaultName.UNPLUG, house.now, for_s=2.0)
    house.look()
    house.rest(LONG_S)
    (refused,) = house.kinds("device.refused", since)
    assert "this host knows another device" in refused.reason
    shown = str(table_view(house.state, house.now_ms))
    assert "does not answer" not in shown
    assert "this host knows another device" in shown


def test_events_that_are_never_acknowledged_and_a_jam_do_not_break_the_table(
    playing: tuple[HostileHouse, People],
) -> None:
    """The host's confirmations pile up, and then the jam's lock and light must be sent too."""
    house, _ = playing
    since = len(house.events)
    house.hostile(lambda shoe: setattr(shoe, "acknowledges", False))
    for _ in range(30):
        house.hostile(*[press] * 10)
        house.rest(0.1)
    house.hostile(lambda shoe: shoe.raw_event(70, 0, 9, 0, 4))
    house.rest(1.0)
    assert len(house.kinds("device.reported", since)) == 301
    assert house.kinds("device.jammed", since)
    house.rest(LONG_S)
    assert set(house.state.warnings) == {"shoe.jam", "shoe.lost"}
    assert connections(house, since) <= 3


def test_a_device_that_floods_is_warned_about_and_then_not_used(playing: tuple[HostileHouse, People]) -> None:
    """800 events a second, without end."""
    house, _ = playing
    since, seq = len(house.events), house.state.seq
    for _ in range(60):
        if house.wired["shoe"].session.ready:
            house.hostile(*[press] * 80)
        house.rest(0.1)
    assert "more than 10 events per second" in house.state.warnings["shoe.flood"].text
    (refused,) = house.kinds("device.refused", since)
    assert "more than 10 events per second" in refused.reason
    assert house.state.seq - seq < 1500
    house.rest(LONG_S)
    assert house.wired["shuffler"].session.ready


@pytest.mark.parametrize("first_event", [0, -1, BEYOND])
def test_nonsense_of_one_device_is_not_carried_over_to_the_next(
    playing: tuple[HostileHouse, People], first_event: int
) -> None:
    class Nonsense(HostileFirmware):
        def _send(self, message: bytes) -> None:
            fields = msgspec.msgpack.decode(message)
            if fields[0] == 2:
                fields[10] = first_event
            super()._send(msgspec.msgpack.encode(fields))

    house, people = playing
    shoe = house.wired["shoe"].device
    for build in (Nonsense, HostileFirmware):
        shoe._build = build
        shoe.replace(shoe.plate, house.now)
        house.look()
        house.rest(120.0)
    assert house.state.devices["shoe"].online
    assert people.work()
    assert people.play((1, 3))


# --- with the real daemon -------------------------------------------------------------------------------------------


SLOW = 2  # events per second: a loaded machine must not be slower than what is a flood


class Hosted:
    """A daemon with a hostile shoe on a pty."""

    def __init__(self, folder: Path) -> None:
        self.plugged = Plugged(folder, build=HostileFirmware)
        self.served = Served(folder, "--config", config_file(folder, events_per_s=SLOW))
        self.served.until("ready")
        self.served.wait(lambda table: all(device["state"] == "ready" for device in table["devices"]))

    def hostile(self, work: Callable[[HostileFirmware], object]) -> None:
        def at_once(table: Any, now: float) -> None:
            table.shoe._touch(now)
            work(table.shoe.firmware)

        self.plugged.do(at_once)

    def trouble(self) -> str:
        """Wait until /healthz says that the shoe is in trouble, and return why."""
        self.served.wait(lambda table: self.served.get("/healthz")["status"] == "degraded")
        assert self.served.get("/healthz")["devices"] == ["shoe"]
        shuffler, shoe = self.served.get("/api/v1/devices")["devices"]
        assert not shuffler["trouble"]
        return str(shoe["trouble"])


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    found = Hosted(tmp_path)
    try:
        assert found.served.get("/healthz") == {"status": "ok"}
        yield found
        assert found.served.process.poll() is None
    finally:
        found.served.close()
        found.plugged.close()


def test_an_unknown_event_is_visible_and_the_shoe_stays_in_use(hosted: Hosted) -> None:
    hosted.hostile(lambda shoe: shoe.raw_event(120, 0, 9, "something new"))
    assert hosted.trouble() == "it sent an event of an unknown kind (message 120), which has no effect"
    shoe = hosted.served.table()["devices"][1]
    assert (shoe["name"], shoe["state"]) == ("shoe", "ready")


def test_a_number_beyond_2_53_is_an_error_of_that_link_alone(hosted: Hosted) -> None:
    hosted.hostile(lambda shoe: shoe.raw_event(72, 0, 9, 1, number=BEYOND))
    hosted.served.until("device not trusted", device="shoe")
    assert "it does not follow the protocol: message 72 is unreadable" in hosted.trouble()
    seen = hosted.served.wait(lambda table: table["warnings"])
    assert [warning["key"] for warning in seen["warnings"]] == ["shoe.refused"]
    assert [device["state"] for device in seen["devices"]] == ["ready", "unknown"]


def test_a_flood_is_stopped(hosted: Hosted) -> None:
    before = hosted.served.table()["seq"]

    def press_often(shoe: HostileFirmware) -> None:
        while shoe.has_room:
            press(shoe)

    def flood(table: dict[str, Any]) -> bool:
        hosted.hostile(press_often)
        return any(warning["key"] == "shoe.refused" for warning in table["warnings"])

    seen = hosted.served.wait(flood)
    assert [warning["key"] for warning in seen["warnings"]] == ["shoe.flood", "shoe.refused"]
    assert f"it keeps sending more than {SLOW} events per second" in hosted.trouble()
    assert hosted.served.table()["seq"] - before < 1300
