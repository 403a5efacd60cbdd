"""Every fault of the simulation's panel: its alarm with clause, text and steps, the people who follow the steps and
clear it by name, and the next round.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from simulators.devices.faults import FaultName
from tests.browser.conftest import OFFER, Person

QUIET = "!document.querySelector('article.alarm') && document.body.dataset.state === 'betting'"
CLEAR = "#offers button[data-action=clear_warning]"
SHOWN = """[Number(document.body.dataset.seq),
  [...document.querySelectorAll('#alarms article[data-warning]')].map(one => one.dataset.warning),
  document.querySelector('#alarms article.void') !== null]"""
ROUNDS = "Number(/^\\d+/.exec(document.querySelector('#round').textContent)?.[0] ?? NaN)"
DEALER, FLOOR = "Dana", "Flo"


@dataclass(frozen=True)
class Alarm:
    """The alarm that a device fault must show on the screen, and who clears it."""

    device: str
    fault: FaultName
    clause: str
    words: str
    step: str  # of its checklist
    warning: str = ""  # the end of its key; a round that is void without a warning is an alarm of its own
    by: str = DEALER
    repair: str = ""  # the fault to press in the panel so that the cause goes away
    later: str = ""  # what the step becomes once its first part is done; the robot may have been that quick

    def __str__(self) -> str:
        return f"{self.device}-{self.fault}"

    @property
    def article(self) -> str:
        """The selector of its element."""
        return f"article.alarm[data-warning$='{self.warning}']" if self.warning else "article.alarm.void"


F = FaultName
FREE, CHECK_LINK, WAGERS = "Free the jam", "Check the cable and power", "Return all wagers"
GATHER, OFF = "Gather deck", "off the table"
ALARMS = [
    Alarm("shoe", F.JAM, "13.G", "Cards are stuck in the shoe", FREE, "shoe.jam"),
    Alarm("shuffler", F.JAM, "13.F", "Cards are stuck in the shuffler", FREE, "shuffler.jam"),
    Alarm("shoe", F.STALL, "13.G", "did not finish its", "Switch the shoe off and on", "shoe.fail",
          FLOOR, repair="reboot"),
    Alarm("shuffler", F.INCOMPLETE_CYCLE, "13.F", "did not complete its", "Check the shuffler",
          "shuffler.cycle"),
    Alarm("shuffler", F.MISCOUNT, "5.D", "cards", GATHER, ".count", FLOOR, later=OFF),
    Alarm("shuffler", F.MISSING_CARD, "5.D", "52 cards", GATHER, ".count", FLOOR, later=OFF),
    Alarm("shuffler", F.EXTRA_CARD, "5.D", "54 cards", GATHER, ".count", FLOOR, later=OFF),
    Alarm("shoe", F.DOUBLE_FEED, "13.D", "4 cards", WAGERS),
    Alarm("shoe", F.SHORT_FEED, "13.D", "2 cards", WAGERS),
    Alarm("shoe", F.REBOOT, "13.G", "The shoe has restarted", "Check the shoe", "shoe.restart"),
    Alarm("shoe", F.POWER_LOSS, "13.G", "The shoe does not answer", CHECK_LINK, "shoe.lost", repair="power_loss"),
    Alarm("shuffler", F.POWER_LOSS, "13.F", "The shuffler does not answer", CHECK_LINK, "shuffler.lost",
          repair="power_loss"),
    Alarm("shoe", F.SILENCE, "13.G", "The shoe does not answer", CHECK_LINK, "shoe.lost", repair="silence"),
    Alarm("shuffler", F.SILENCE, "13.F", "The shuffler does not answer", CHECK_LINK, "shuffler.lost", repair="silence"),
    Alarm("shuffler", F.UNPLUG, "13.F", "The shuffler does not answer", CHECK_LINK, "shuffler.lost", repair="unplug"),
]  # fmt: skip
IN_TESTS_OF_THEIR_OWN = {F.FACE_UP, F.NOISE, F.DEAD}


@pytest.fixture
def playing(screen: Callable[..., Person]) -> Person:
    """A table where the robot plays, and dealer and floorperson are signed in."""
    person = screen()
    person.refusals = True  # the robot may have been quicker
    person.robot()
    person.sign_in(DEALER)
    person.sign_in(FLOOR)
    person.page.wait("document.body.dataset.state === 'betting'", within=60)
    return person


@pytest.mark.parametrize("alarm", ALARMS, ids=str)
def test_an_alarm_stands_until_people_have_seen_to_it(playing: Person, alarm: Alarm) -> None:
    page = playing.page
    provoke(playing, alarm)
    playing.pause()
    text = page.see(alarm.article, alarm.words)
    assert f"§ {alarm.clause}" in text
    assert alarm.step in text or (alarm.later and alarm.later in text), text
    assert page.js(f'document.querySelectorAll("{alarm.article} .checklist li").length') >= 2, text
    assert page.js("document.querySelector('#step').classList.contains('alarm')")
    assert page.js("document.querySelector('#alarm-bar').getAttribute('aria-live')") == "assertive"
    if alarm.repair:
        page.see(f"{alarm.article} .next", alarm.step)  # it cannot be cleared while its cause remains
        playing.press_fault(alarm.device, alarm.repair)
        online_again(playing, alarm.device)  # until then, the way out is to take it out of service
    cleared = see_to_it(playing)
    if alarm.warning:
        assert {who for key, who in cleared.items() if key.endswith(alarm.warning)} == {alarm.by}
    plays_on(playing)


def provoke(playing: Person, alarm: Alarm) -> None:
    """Press a fault until its alarm shows.

    A fault may have no consequence: an empty shoe may restart, and not every card that a shuffler moves is counted.
    """
    page, shown = playing.page, f'document.querySelector("{alarm.article}") !== null'
    for _ in range(10):
        if alarm.fault not in playing.shoed.get("simulation")["devices"][alarm.device]["faults"]:
            page.wait(f"{shown} || document.body.dataset.state === 'betting'", within=60)
            if page.js(shown):
                return
            playing.press_fault(alarm.device, alarm.fault)
        with contextlib.suppress(AssertionError):
            page.see(alarm.article, within=15)
            return
    raise AssertionError(f"no alarm:\n{page.words()}")


def online_again(person: Person, name: str) -> None:
    """Wait until a device is connected."""
    end = time.monotonic() + 60
    while not next(device["online"] for device in person.shoed.get("table")["devices"] if device["name"] == name):
        assert time.monotonic() < end, f"the {name} did not come back"


def see_to_it(person: Person) -> dict[str, str]:
    """Follow the screen until no alarm is left; returns who cleared each warning.

    At every step the screen must show exactly the alarms that stand by the journal, none that is over and none too few.
    """
    seen: list[tuple[int, list[str], bool]] = []

    def look() -> None:
        seen.append(person.page.js(SHOWN))

    while True:
        person.follow(f"({QUIET}) || document.querySelector('{CLEAR}:not(:disabled)') !== null", look=look)
        if person.page.js(QUIET):
            break
        clear(person)
    history = events(person, "warning") + events(person, "round.voided") + events(person, "void.completed")
    for seq, warnings, void in seen:
        assert (sorted(warnings), void) == standing(history, seq), f"at event {seq}"
    return {event["data"]["warning"]: event["data"]["who"] for event in history if event["kind"] == "warning.cleared"}


def clear(person: Person) -> None:
    """A warning is only cleared by a signed-in person with the right role."""
    page = person.page
    key = page.js(f"document.querySelector('{CLEAR}').dataset.warning")
    (needs,) = (warning["needs"] for warning in person.shoed.get("table")["warnings"] if warning["key"] == key)
    article = f"article.alarm.gone[data-warning='{key}']"
    name = FLOOR if needs == "floor" else DEALER
    person.sign_everybody_out()
    page.click(CLEAR)
    choices = page.see("dialog.pin .choices", name)
    assert name != FLOOR or DEALER not in choices, choices
    page.press("Escape")
    page.wait("!document.querySelector('dialog').open")
    page.see(article)
    person.sign_in(name)
    page.wait(f"document.querySelector('{OFFER}') !== null")
    person.take_step()
    page.unseen(article)
    person.sign_in(DEALER if name == FLOOR else FLOOR)


def standing(history: list[dict[str, Any]], seq: int) -> tuple[list[str], bool]:
    """The warnings after an event, and whether a round was void."""
    warnings: set[str] = set()
    void = False
    for event in sorted(history, key=lambda event: int(event["seq"])):
        if event["seq"] > seq:
            break
        if event["kind"] == "warning.raised":
            warnings.add(event["data"]["warning"])
        elif event["kind"] == "warning.cleared":
            warnings.remove(event["data"]["warning"])
        elif event["kind"] in ("round.voided", "void.completed"):
            void = event["kind"] == "round.voided"
    return sorted(warnings), void


def events(person: Person, kind: str) -> list[dict[str, Any]]:
    """The journal's events of this kind."""
    found: list[dict[str, Any]] = person.shoed.get(f"events?kind={kind}&limit=1000")["events"]
    return found


def plays_on(person: Person) -> None:
    """The robot plays another round to its end."""
    before = len(events(person, "round.completed"))
    person.robot()
    end = time.monotonic() + 60
    while len(events(person, "round.completed")) == before:
        assert time.monotonic() < end, f"no round is played to its end:\n{person.page.words()}"
    person.page.unseen("article.alarm")


def play_by_clicks(person: Person) -> list[str]:
    """Play a whole round with the buttons of the screen, with any dealing method."""
    person.follow("document.body.dataset.state === 'betting'")
    before = len(events(person, "round.completed"))
    steps = person.follow(f"{ROUNDS} > {person.page.js(ROUNDS)}")
    assert len(events(person, "round.completed")) == before + 1
    return steps


def test_a_face_up_card_is_told_with_its_clause(playing: Person) -> None:
    """Not an alarm: the card goes to the rack and another takes its place."""
    page = playing.page
    for _ in range(10):  # a card of the stub has no such consequence
        playing.press_fault("shoe", "face_up")
        end = time.monotonic() + 120
        while "face_up" in playing.shoed.get("simulation")["devices"]["shoe"]["faults"]:
            assert time.monotonic() < end, f"no card is found face up:\n{page.words()}"
        plays_on(playing)  # before the next one: a second card in the same deal is a void
        if found := events(playing, "card.face_up"):
            break
    page.unseen("article.alarm")
    page.click("nav a", "Journal")  # where it stays: in the latest events, others soon take its place
    page.click("#rounds .round-link", f"Round {found[0]['data']['round']}")
    page.click("#round-viewer button", "Show events")
    page.see("#results", "§ 13.A")


def test_noise_on_the_wire_is_shown_and_stops_nobody(playing: Person) -> None:
    """Not an alarm: damaged frames are sent again. The devices page shows when it starts and ends."""
    page = playing.page
    playing.press_fault("shoe", "noise")
    plays_on(playing)
    assert not events(playing, "round.voided")
    page.click("nav a", "Devices")
    page.wait("document.querySelector('[data-device=shoe] .plot .band-degraded') !== null", within=60)
    page.click("[data-device=shoe] summary")
    page.wait(f"{counter('Crc errors')} > 0")
    page.click("nav a", "Table")
    playing.press_fault("shoe", "noise")
    page.click("nav a", "Devices")
    last = (
        "[...document.querySelectorAll('[data-device=shoe] .plot [class^=band]')].at(-1).classList.contains('band-ok')"
    )
    page.wait(last, within=180)  # a machine that is busy makes frames late, too
    page.click("nav a", "Table")
    plays_on(playing)
    assert not events(playing, "round.voided")


def counter(name: str) -> str:
    """The value of a link's counter on the devices page."""
    terms = "[...document.querySelectorAll('[data-device=shoe] .counters dt')]"
    return f"Number({terms}.find(term => term.innerText === '{name}')?.nextElementSibling.innerText)"


def test_a_lost_device_is_shown_as_lost(playing: Person) -> None:
    """Shown in the picture and on the devices page until the cable is plugged in again."""
    page = playing.page
    playing.press_fault("shuffler", "unplug")
    page.wait("document.querySelector('.device.is-lost') !== null")
    page.click("nav a", "Devices")
    page.see("[data-device=shuffler]", "Not connected")
    page.click("nav a", "Table")
    playing.press_fault("shuffler", "unplug")
    page.wait("document.querySelector('.device.is-lost') === null")


def take_out_of_service(person: Person, device: str, fault: str = "dead") -> None:
    """A device stays lost: people follow the screen, and the floorperson records that it is covered."""
    page = person.page
    person.press_fault(device, fault)
    text = page.see(f"article.alarm[data-warning='{device}.lost']", "does not answer", within=60)
    assert "or have a floorperson take it out of service" in text
    person.pause()
    steps = person.follow("document.querySelector('.device.is-out_of_service') !== null")
    assert any("a floorperson take it out of service" in step for step in steps), steps
    (out,) = events(person, "device.out_of_service")
    assert (out["data"]["who"], out["clause"]) == (FLOOR, ["13.H"])
    page.unseen("article.alarm")
    aside = page.see(f"article.set-aside[data-warning='{device}.lost']", "out of service: covered")
    assert "back in service" in aside, "it is not forgotten"


def test_a_dead_shoe_gives_way_to_a_manual_one(playing: Person) -> None:
    """The floorperson covers it and chooses the manual shoe, and rounds are dealt from that."""
    page = playing.page
    take_out_of_service(playing, "shoe")
    page.see("#step-text", "A floorperson changes the dealing method")
    page.see("#step-clause", "§ 13.H")
    steps = play_by_clicks(playing)
    (changed,) = events(playing, "method.changed")
    assert (changed["data"]["who"], changed["data"]["method"]) == (FLOOR, "manual_shoe")
    assert any("Deal to seat 1" in step for step in steps), steps
    plays_on(playing)


def test_a_dead_shuffler_gives_way_to_hands(playing: Person) -> None:
    """The floorperson covers it and takes one deck away; the other is shuffled by hand, cut, and played."""
    page = playing.page
    take_out_of_service(playing, "shuffler")
    page.see("#step-text", "off the table")
    page.see("#step-clause", "§ 3.B")
    play_by_clicks(playing)
    assert len(events(playing, "deck.removed")) == 1
    assert len(events(playing, "deck.shuffled_by_hand")) == len(events(playing, "cut.made")) >= 1
    plays_on(playing)


def test_a_covered_shuffler_comes_back(playing: Person) -> None:
    """Its power is back: the floorperson puts it in service, its warning is cleared, a second deck comes."""
    page = playing.page
    take_out_of_service(playing, "shuffler", "power_loss")
    play_by_clicks(playing)
    playing.press_fault("shuffler", "power_loss")
    page.wait("document.querySelector('.device.is-out_of_service:not(.link-down)') !== null")
    playing.act("put_in_service", device="shuffler")
    page.see("article.alarm.gone[data-warning='shuffler.lost']")
    assert see_to_it(playing)["shuffler.lost"] == DEALER
    assert page.js("document.querySelectorAll('#decks .deck').length") == 2
    plays_on(playing)


# --- in sight and to be heard on every page ---------------------------------------------------------------------------

IN_VIEW = """(box => box.top >= 0 && box.bottom <= innerHeight && box.height > 40)(
  document.querySelector('#alarm-bar').getBoundingClientRect())"""
# Whether nothing covers the bar's text.
UNCOVERED = """(box => document.elementFromPoint(box.left + 20, box.top + box.height / 2)
  ?.closest('#alarm-bar') !== null)(document.querySelector('.alarm-link').getBoundingClientRect())"""
RED = "(c => c[0] > 120 && c[0] > 2 * c[1] && c[0] > 2 * c[2])(getComputedStyle(%s).%s.match(/\\d+/g).map(Number))"


def red(selector: str, part: str = "color") -> str:
    """Whether an element has a red colour."""
    return RED % (f'document.querySelector("{selector}")', part)


@pytest.mark.parametrize(("width", "height"), [(1024, 600), (1440, 900), (390, 844)])
def test_an_alarm_is_in_sight_on_every_page(playing: Person, width: int, height: int) -> None:
    page = playing.page
    provoke(playing, ALARMS[0])
    playing.pause()
    page.size(width, height)
    for name in ("Table", "Devices", "Journal"):
        page.click("nav a", name)
        page.see("#alarm-bar", "Cards are stuck in the shoe")
        for top in ("0", "document.documentElement.scrollHeight"):
            page.js(f"scrollTo(0, {top})")
            assert page.js(IN_VIEW), (name, top)
            assert page.js(UNCOVERED), (name, top)
        assert page.js("document.title").startswith("⚠ Cards are stuck in the shoe")
        assert page.js(red("#alarm-bar", "backgroundColor"))
        page.js("scrollTo(0, 0)")
    playing.open_simulation()
    assert page.js(IN_VIEW)
    assert page.js(UNCOVERED)
    playing.close_simulation()
    page.click("nav a", "Devices")
    page.see("[data-device=shoe] .chip.bad", "Jammed")
    assert page.js(red("[data-device=shoe] .chip.bad"))
    page.see("#alarm-bar .way-out", "Free jam")
    page.click(".alarm-link")
    page.see("#page-table #step.alarm")
    see_to_it(playing)
    page.unseen("#alarm-bar")
    assert "⚠" not in page.js("document.title")


# Every tone is counted.
TONES = """(() => {
  window.tones = 0;
  const create = AudioContext.prototype.createOscillator;
  AudioContext.prototype.createOscillator = function () { window.tones++; return create.call(this); };
})()"""


def test_an_alarm_sounds_until_it_is_seen_or_muted(playing: Person) -> None:
    page = playing.page
    page.js(TONES)
    provoke(playing, ALARMS[0])
    page.wait("window.tones >= 2")
    page.wait("window.tones >= 4", within=20)  # again, as long as nobody has seen it
    page.click("#alarm-bar button[data-key=mute]")
    page.see("#alarm-bar button[aria-pressed=true]")
    assert page.js("localStorage.getItem('muted')") == "yes"
    before = page.js("window.tones")
    page.click("#alarm-bar button[data-key=mute]")
    page.wait(f"window.tones > {before}")  # it sounds at once
    page.click(".alarm-link")
    playing.pause()
    see_to_it(playing)
    before = page.js("window.tones")
    provoke(playing, ALARMS[1])  # another alarm sounds again
    page.wait(f"window.tones > {before}", within=20)


# --- a dead shuffler, and guided flows --------------------------------------------------------------------------------


def test_a_dead_shuffler_has_its_way_out_as_a_button_during_a_round(playing: Person) -> None:
    page = playing.page
    start_round(playing)
    step = page.text("#step-text")
    playing.press_fault("shuffler", "dead")
    page.see("article.alarm[data-trouble=shuffler]", "does not answer")
    page.see("article.alarm[data-warning='shuffler.lost']", "does not answer", within=60)
    page.see("#alarm-bar", "The shuffler does not answer")
    assert page.text("#step-text") == step, "the round goes on"
    page.click("article[data-warning='shuffler.lost'] .way-out", "Take out of service")
    page.click("dialog .choice", "covered")
    playing.submit()
    page.see("article.set-aside[data-warning='shuffler.lost']", "out of service: covered")
    page.unseen("#alarm-bar")
    assert page.text("#step-text") == step


def start_round(person: Person) -> None:
    """Pause the robot, close the bets of a new round, and wait until the players have to act."""
    person.pause()
    person.follow("document.body.dataset.state === 'betting'")
    person.take_step()
    person.follow("document.querySelector('#step-text').innerText.includes('play or forfeit')")


def begin_flow(person: Person, title: str) -> None:
    """Choose a flow from the list of all actions."""
    person.page.click("#dock .more")
    person.page.click("dialog [data-flow]", title)
    person.page.see("#flow", title.removesuffix(" …"))


def test_a_newcomer_closes_the_table_step_by_step(playing: Person) -> None:
    page = playing.page
    start_round(playing)
    begin_flow(playing, "Close the table …")
    page.see("#flow .checklist .next", "to its end")
    steps = playing.follow("document.body.dataset.state === 'closed'")
    assert any("Take deck" in step for step in steps), steps
    assert steps[-1] == "A floorperson closes the table."
    page.unseen("#flow article")
    page.see("#step-text", "Open the table")
    (closed,) = events(playing, "table.closed")
    assert closed["data"]["who"] == FLOOR


def test_a_newcomer_changes_a_deck_step_by_step(playing: Person) -> None:
    page = playing.page
    playing.pause()
    playing.follow("document.body.dataset.state === 'betting'")
    begin_flow(playing, "Change deck red-1 …")
    page.js("window.before = true; location.reload()")
    page.wait("!window.before && document.querySelector('#flow article') !== null")  # it is kept
    steps = playing.follow("document.querySelector('#flow article') === null")
    assert any("deck red-1 off the table" in step for step in steps), steps
    page.see("[data-deck=red-2]")
    plays_on(playing)


def test_a_device_is_taken_out_of_service_from_its_own_page(playing: Person) -> None:
    page = playing.page
    playing.pause()
    playing.follow("document.body.dataset.state === 'betting'")
    page.click("nav a", "Devices")
    page.click("[data-device=shoe] button", "Take out of service …")
    page.see("#flow", "Take the shoe out of service")
    playing.follow("document.querySelector('#flow article') === null")
    (changed,) = events(playing, "method.changed")
    assert changed["data"]["method"] == "manual_shoe"
    plays_on(playing)


def test_a_flow_can_be_left(playing: Person) -> None:
    page = playing.page
    playing.pause()
    playing.follow("document.body.dataset.state === 'betting'")
    begin_flow(playing, "Close the table …")
    page.see("#step-text", "out.")
    page.click("#flow button", "Stop guiding")
    page.unseen("#flow article")
    page.see("#step-text", "Take the bets")


def test_every_fault_has_its_switch_and_its_test(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.open_simulation()
    faults = {fault["name"] for fault in person.shoed.get("simulation")["faults"]}
    assert faults == {alarm.fault for alarm in ALARMS} | IN_TESTS_OF_THEIR_OWN
    shown = person.page.js("[...document.querySelectorAll('[data-fault]')].map(button => button.dataset.fault)")
    assert set(shown) == faults
