"""Everything that can go wrong, from the simulation's panel: the alarm with its clause and steps, and its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Person

QUIET = "!document.querySelector('article.alarm') && document.body.dataset.state === 'betting'"


@pytest.fixture
def playing(screen: Callable[..., Person]) -> Person:
    """A table where the robot plays and dealer and floorperson are signed in."""
    return start(screen)


def start(screen: Callable[..., Person]) -> Person:
    """As `playing`."""
    person = screen()
    person.refusals = True  # the robot may have been quicker
    person.robot()
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.page.wait("document.body.dataset.state === 'betting'", within=60)
    return person


@pytest.mark.parametrize(
    ("device", "fault", "words", "clause"),
    [
        ("shoe", "jam", "jam", "13.G"),
        ("shuffler", "jam", "jam", "13.F"),
        ("shoe", "double_feed", "", "13.D"),
        ("shoe", "short_feed", "", "13.D"),
        ("shuffler", "missing_card", "", "5.D"),
        ("shuffler", "miscount", "", "5.D"),
        ("shuffler", "extra_card", "", "5.D"),
        ("shuffler", "incomplete_cycle", "", "13.F"),
        ("shoe", "reboot", "", "13.G"),
    ],
)
def test_an_alarm_shows_its_clause_and_its_steps_until_it_is_cleared(
    playing: Person, device: str, fault: str, words: str, clause: str
) -> None:
    page = playing.page
    alarm = provoke(playing, device, fault, words)
    page.see("article.alarm, #step-clause, #events", f"§ {clause}")
    assert page.js("document.querySelectorAll('article.alarm .checklist li').length") >= 2, alarm
    assert page.js("document.querySelector('#step').classList.contains('alarm')")
    assert page.js("document.querySelector('#alarms').getAttribute('aria-live')") == "assertive"
    playing.pause()
    steps = playing.follow(QUIET)
    assert steps, "a person had to do something"
    page.unseen("article.alarm")


def provoke(playing: Person, device: str, fault: str, words: str) -> str:
    """Press a fault until its alarm shows. One that waits for the next card is pressed once.

    A restart takes hold at once, and that of an empty shoe is nobody's concern.
    """
    tries, within = (8, 12.0) if fault == "reboot" else (1, 90.0)
    for left in reversed(range(tries)):
        playing.press_fault(device, fault)
        try:
            return playing.page.see("article.alarm", words, within=within)
        except AssertionError:
            if not left:
                raise
    raise AssertionError("no try was left")


def test_a_face_up_card_is_told_with_its_clause(playing: Person) -> None:
    """It is no alarm: the card goes to the rack and another takes its place."""
    page = playing.page
    playing.press_fault("shoe", "face_up")
    page.see("#events li", "§ 13.A", within=60)
    page.unseen("article.alarm")


def test_a_cable_that_is_pulled(playing: Person) -> None:
    """The device is shown as lost; when the cable is back and a person has cleared it, play goes on."""
    page = playing.page
    playing.press_fault("shuffler", "unplug")
    page.wait("document.querySelector('.device.is-lost') !== null")
    page.see("article.alarm", "shuffler", within=60)
    page.click("nav a", "Devices")
    page.see("[data-device=shuffler]", "not connected")
    page.click("nav a", "Table")
    playing.press_fault("shuffler", "unplug")
    page.wait("document.querySelector('.device.is-lost') === null")
    playing.pause()
    playing.follow(QUIET)


def test_a_dead_device_is_taken_out_of_service(playing: Person) -> None:
    """The floorperson sees it covered, removed or marked; the step asks for it with its clause."""
    page = playing.page
    playing.press_fault("shuffler", "dead")
    page.see("article.alarm", "shuffler", within=60)
    playing.pause()
    playing.follow("document.querySelector('.device.is-out_of_service') !== null")
    page.see("#events", "out of service")


def test_a_stall_is_seen_when_its_time_is_over(screen: Callable[..., Person]) -> None:
    """The shoe says nothing; after the time that a stack may take, the round is void."""
    person = start(screen)
    person.press_fault("shoe", "stall")
    person.page.see("article.alarm", within=60)
    person.page.see("article.alarm, #step-clause", "§ 13.G")


def test_every_fault_has_its_switch(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.open_simulation()
    faults = {fault["name"] for fault in person.shoed.get("simulation")["faults"]}
    assert len(faults) == 15
    shown = person.page.js("[...document.querySelectorAll('[data-fault]')].map(button => button.dataset.fault)")
    assert set(shown) == faults
