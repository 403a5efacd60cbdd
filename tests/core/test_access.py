"""Sign-ins and lock-outs, and the table's clock across a restart of the host."""

from __future__ import annotations

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.apply import fold
from controller.core.events.event import Entry
from controller.core.events.table import AccessDenied, AccessGranted
from controller.core.machines import DeviceState
from controller.core.reports import HostBoot, SignIn
from controller.core.rules.sign_in import FORGET_MS, TRIES, UNKNOWN_NAME, locked_until_ms
from controller.core.state import Host, State, encode
from controller.daemon.table_clock import TableClock, time_away_ms
from tests.support.core_driver import House

DAY_MS = 86_400_000


def tries(house: House, right: bool, *, known: bool = True, who: str = "flo", via: str = "screen") -> list[str]:
    return [event.kind for event in house.handle(SignIn(who, ("floor",), known, right, via))]


def locked_ms(house: House, who: str = "flo", via: str = "screen") -> int:
    now_ms = house.state.now_ms
    until = locked_until_ms(house.state, who, via, now_ms)
    return until - now_ms if until else 0


def test_a_right_pin_lets_in_and_does_not_make_up_for_wrong_ones() -> None:
    """Otherwise somebody who guesses would only have to wait until the person signs in again."""
    house = House()
    for _ in range(TRIES - 1):
        assert tries(house, False) == ["access.denied"]
        assert locked_ms(house) == 0
    assert tries(house, True) == ["access.granted"]
    assert tries(house, False) == ["access.denied"]
    assert locked_ms(house) == FORGET_MS


def test_a_lock_out_is_short_however_long_somebody_goes_on_and_a_restart_does_not_lift_it() -> None:
    house = House()
    for _ in range(TRIES):
        tries(house, False)
    assert locked_ms(house) == FORGET_MS
    assert tries(house, True) == []  # nobody gets in, and nothing is recorded
    assert encode(fold(house.events)) == encode(house.state)
    for _ in range(20):
        house.now += FORGET_MS / 1000
        assert tries(house, False) == ["access.denied"]
        assert locked_ms(house) == FORGET_MS, "it does not become longer"
    house.now += FORGET_MS / 1000
    assert tries(house, True) == ["access.granted"]


def test_ten_minutes_after_any_number_of_wrong_pins_the_right_one_lets_in() -> None:
    house = House()
    for _ in range(1000):
        tries(house, False)
    house.now += 600.0
    assert tries(house, True) == ["access.granted"]


def test_wrong_pins_are_forgotten_one_by_one() -> None:
    house = House()
    for _ in range(3 * TRIES):
        tries(house, False)
        assert not locked_ms(house)
        house.now += FORGET_MS / 1000
    for _ in range(TRIES - 1):
        tries(house, False)
    house.now += 2 * FORGET_MS / 1000
    tries(house, False)
    assert house.events[-1].data["count"] == TRIES - 2
    house.now += TRIES * FORGET_MS / 1000
    assert tries(house, True) == ["access.granted"]
    assert not house.state.wrong_pins


def test_a_lock_out_is_for_one_place() -> None:
    """A page without the screen's token guesses PINs all day: at the table's own screen, nobody notices."""
    house = House()
    for _ in range(TRIES):
        tries(house, False, via="local port")
    assert locked_ms(house, via="local port")
    assert tries(house, True, via="local port") == []
    assert tries(house, True, via="screen") == ["access.granted"]
    assert tries(house, True, via="socket") == ["access.granted"]


def test_in_a_journal_of_version_0_1_a_right_pin_forgets_the_wrong_ones() -> None:
    denied = AccessDenied(who="flo", via="screen", reason="wrong PIN", count=3, until_ms=0)
    state = fold([Entry(1, (), denied)])
    assert state.wrong_pins["flo"]["screen"].count == 3
    assert not fold([Entry(2, (), AccessGranted(who="flo", roles=["floor"], via="screen"))], state).wrong_pins


def test_strangers_share_one_lock_and_their_words_are_not_kept() -> None:
    house = House()
    for number in range(TRIES):
        tries(house, False, known=False, who=f"guess {number}")
    assert list(house.state.wrong_pins) == [UNKNOWN_NAME]
    assert tries(house, False, known=False, who="one more") == []
    assert tries(house, True) == ["access.granted"]  # known people are not affected
    assert "guess" not in str(house.events)


def test_another_floorperson_ends_a_lock_out() -> None:
    house = House()
    for _ in range(TRIES):
        tries(house, False)
    assert "their own" in house.refused(act.UnlockPerson, "flo").data["reason"]
    for _ in range(TRIES):
        tries(house, False, who="dana")
    made = house.do(act.UnlockPerson(person="dana", who="dana", role=Role.DEALER))
    assert made[-1].kind == "action.refused"
    house.ask(act.UnlockPerson, "dana")
    assert tries(house, True, who="dana") == ["access.granted"]
    assert house.refused(act.UnlockPerson, "ada").data["possible_when"]


def test_a_started_host_has_lost_its_devices_until_they_answer() -> None:
    house = House().open()
    made = house.handle(HostBoot("b1", 5000, 0, wall_ms=7))
    assert [event.kind for event in made][:3] == ["host.started", "device.lost", "device.lost"]
    assert house.device("shoe") is DeviceState.LOST
    assert house.state.host == Host("b1", 5000, house.state.now_ms, 7)


def test_the_grace_time_of_a_lost_link_begins_anew_with_every_start_of_the_host() -> None:
    """If the host was off for longer than the grace period, a device was given up before it could answer."""
    house = House().open()
    house.disconnect("shoe")
    house.now += 60
    house.handle(HostBoot("b1", 5000, 0))
    house.tick(5)
    house.handle(HostBoot("b1", 11000, 0))
    house.tick(5)
    assert not house.find("warning.raised")
    house.tick(6)
    assert set(house.state.warnings) == {"shoe.lost", "shuffler.lost"}


def test_within_a_life_of_the_computer_the_wall_clock_does_not_matter() -> None:
    state = State(now_ms=70_000, host=Host("b1", up_ms=1000, at_ms=60_000))
    for wall_ms in (0, 10**15):
        assert time_away_ms(state, "b1", 31_000, wall_ms, "2026-01-01T00:00:00.000000Z") == 20_000
    assert time_away_ms(state, "b1", 10_000, 0, "2026-01-01T00:00:00.000000Z") == 0


def test_over_a_reboot_the_wall_clock_counts_unless_it_is_impossible() -> None:
    state = State(now_ms=70_000, host=Host("b1", up_ms=1000, at_ms=60_000))
    last, last_ms = "2026-01-01T00:00:00.000000Z", 1_767_225_600_000
    assert time_away_ms(state, "b2", 500, last_ms + 45_000, last) == 45_000
    for wrong in (last_ms - 1, 0, last_ms + 20 * 365 * DAY_MS):
        assert (
            time_away_ms(state, "b2", 500, wrong, last) == 8 * 3_600_000
        )  # the longest time that a deck may be played
    assert time_away_ms(state, "b1", 500, 0, last) == 8 * 3_600_000  # a shorter up time in the same boot is impossible
    assert time_away_ms(State(), "b1", 500, 0, "") == 0


def test_a_wall_clock_that_ran_ahead_does_not_make_the_time_away_shorter() -> None:
    """It was set forward by three hours while the daemon ran, and back again while the computer was off."""
    hour_ms = 3_600_000
    last, last_ms = "2026-01-01T00:00:00.000000Z", 1_767_225_600_000
    host = Host("b1", up_ms=1000, at_ms=60_000, wall_ms=last_ms - 3 * hour_ms - 10_000)
    state = State(now_ms=70_000, host=host)
    really_ms = last_ms - 3 * hour_ms
    assert time_away_ms(state, "b2", 500, really_ms + 5 * hour_ms, last) == 5 * hour_ms
    behind = State(now_ms=70_000, host=Host("b1", up_ms=1000, at_ms=60_000, wall_ms=last_ms + hour_ms))
    assert time_away_ms(behind, "b2", 500, last_ms + hour_ms, last) == hour_ms, "it was corrected before the end"


def test_a_wall_clock_that_ran_ahead_is_remembered_when_the_daemon_restarts() -> None:
    hour_ms = 3_600_000
    really_ms = 1_767_225_600_000
    house = House(connect=False)
    began_ms = house.state.now_ms
    house.handle(HostBoot("b1", 5000, 0, wall_ms=really_ms))
    house.now += 60
    house.handle(HostBoot("b1", 65_000, 0, wall_ms=really_ms + 3 * hour_ms + 60_000))  # it was set forward
    passed_ms = house.state.now_ms - began_ms
    last = "2026-01-01T03:01:00.000000Z"
    away_ms = time_away_ms(house.state, "b2", 500, really_ms + passed_ms + 5 * hour_ms, last)
    assert abs(away_ms - 5 * hour_ms) < 3000, "three hours more than the wall clock says"


def test_the_computer_was_away_for_at_least_as_long_as_it_is_up_again() -> None:
    state = State(now_ms=70_000, host=Host("b1", up_ms=1000, at_ms=60_000))
    last, last_ms = "2026-01-01T00:00:00.000000Z", 1_767_225_600_000
    assert time_away_ms(state, "b2", 7_200_000, last_ms + 45_000, last) == 7_200_000


def test_the_clock_goes_on_from_a_reading() -> None:
    up = [100.0]
    clock = TableClock(5_000, lambda: up[0])
    assert clock.now() == 5.0
    up[0] += 2.5
    assert clock.now() == 7.5
