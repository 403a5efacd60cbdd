"""Dialogs, buttons and messages: nothing is hidden or covered, and a button that does nothing says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.chromium import Page
from tests.browser.conftest import Person

SIZES = [(1024, 600), (1440, 900), (390, 844)]
BETTING = "document.body.dataset.state === 'betting'"
LONG = "Refused: the rack holds cards of deck blue-1 and the shoe is not ready. Possible when they have left the rack."

# Makes the page believe that every action is possible, so that all of its dialogs can be opened.
EVERYTHING = """(() => {
  const parse = JSON.parse, json = Response.prototype.json;
  const all = {includes: () => true};
  JSON.parse = (...text) => {
    const value = parse(...text);
    if (value?.step) value.step.allowed_actions = all;
    return value;
  };
  Response.prototype.json = async function () {
    const value = await json.call(this);
    for (const action of value.actions ?? []) action.allowed = true;
    return value;
  };
})()"""

# What a person needs of the open dialog and cannot reach or read: outside the screen, or under something else.
HIDDEN = """[...document.querySelectorAll("dialog :is(button, input, .form-answer, .pin-answer, .clause-words)")]
  .filter(node => node.checkVisibility() && node.getClientRects().length).filter(node => {
    const box = node.getBoundingClientRect();
    if (box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight) return true;
    return [[box.x + 4, box.y + 4], [box.right - 4, box.bottom - 4]].some(([x, y]) => {
      const top = document.elementFromPoint(x, y);
      return !(top && (node === top || node.contains(top) || top.contains(node)) && top.closest("dialog"));
    });
  }).map(node => `${node.innerText || node.className} ${JSON.stringify(node.getBoundingClientRect())}`)"""

# What the message covers, or what covers it.
COVERED = """(() => {
  const box = document.querySelector(".notice").getBoundingClientRect();
  if (box.top < 0 || box.bottom > innerHeight) return ["out of sight"];
  return [...document.querySelectorAll("button, a, h1, h2, #picture, .person, .chip, .deck, #events")]
    .filter(node => node.checkVisibility() && !node.closest("#notice")).filter(node => {
      const other = node.getBoundingClientRect();
      return other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top;
    }).map(node => node.id || node.innerText);
})()"""


def reachable(page: Page, dialog: str) -> None:
    """Everything in the open dialog can be reached, also below an error."""
    assert page.js(HIDDEN) == [], dialog
    page.js(f"document.querySelector('dialog :is(.form-answer, .pin-answer)')?.replaceChildren({LONG!r})")
    assert page.js(HIDDEN) == [], f"{dialog}, with an error"


def touch_disabled(page: Page, action: str) -> None:
    """Touch a button of the dealer that cannot be used now."""
    button = f"document.querySelector('#dock [data-action={action}][aria-disabled=true]')"
    page.wait(f"{button} !== null && ({button}.click(), true)")


@pytest.mark.parametrize(("width", "height"), SIZES, ids=str)
def test_no_dialog_hides_its_button_its_keys_or_its_error(
    screen: Callable[..., Person], width: int, height: int
) -> None:
    person = screen("--paused", width=width, height=height)
    page = person.page
    for name in ("Dana", "Flo", "Tess"):
        page.click(".sign-in")
        page.see("dialog .choice", name)
        reachable(page, "who signs in")
        page.click("dialog .choice", name)
        page.see("dialog .pad")
        reachable(page, f"the PIN of {name}")
        person.enter_pin({"Dana": "2580", "Flo": "147036", "Tess": "7913"}[name])
        page.see(".person", name)
    person.follow(BETTING)
    page.js(EVERYTHING)
    page.click("[data-seat='1']")  # a new view, in which everything is possible
    page.wait("[...document.querySelectorAll('#dock button')].every(one => one.ariaDisabled === null && !one.disabled)")
    actions = {action["action"]: action for action in person.shoed.get("actions")["actions"]}
    opened = 0
    for name, action in actions.items():
        if not action["in_game"]:
            continue
        page.click("#dock .more")
        page.see("dialog .action")
        if not action["fields"] and name not in ("report_drawn_in_error", "report_dealer_exposed", "idle_table"):
            page.press("Escape")
            page.wait("document.querySelector('dialog').childElementCount === 0")  # it has closed
            continue
        page.click(f"dialog .action[data-action={name}]")
        page.see("dialog button[type=submit]")
        reachable(page, name)
        if name == "cut_deck":
            assert "At least 10 cards" in page.text("dialog")
            assert page.js("document.querySelector('dialog .pad') === null"), "nobody knows the number"
        opened += 1
        page.press("Escape")
        page.wait("document.querySelector('dialog').childElementCount === 0")  # it has closed
    assert opened > 25
    page.click("#step-clause .clause")
    page.see("dialog .clause-words")
    reachable(page, "a clause")


def test_a_finger_that_slips_out_of_a_dialog_does_not_close_it(screen: Callable[..., Person]) -> None:
    page = screen("--paused").page
    page.click("#dock .more")
    page.see("dialog .action[data-flow]")  # they are there from the beginning: nothing moves under a finger
    page.wait("document.querySelectorAll('dialog .action').length > 40")
    x, y = page.js(
        "(box => [box.x + box.width / 2, box.y + box.height / 2])"
        "(document.querySelector('dialog .dialog-head').getBoundingClientRect())"
    )
    for away in ((x, y), (2, 2)):
        for kind, at in (("mousePressed", away), ("mouseReleased", (2, 2))):
            assert page.js("document.querySelector('dialog').open")
            page.send("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
    page.wait("!document.querySelector('dialog').open")


def test_a_double_tap_opens_a_dialog_and_does_not_close_it(screen: Callable[..., Person]) -> None:
    """The button lies outside the dialog that it opens."""
    page = screen("--paused").page
    x, y = page.js(
        "(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('.sign-in').getBoundingClientRect())"
    )
    for click in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=click)
        page.see("dialog .choice", "Dana")
    assert page.js("document.querySelector('dialog').open")


@pytest.mark.parametrize("apart", [False, True], ids=["quick", "slow"])
def test_a_double_tap_is_one_tap(screen: Callable[..., Person], apart: bool) -> None:
    """The second tap is neither refused, nor taken for the next step if that has come up in the meantime."""
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow("document.querySelector('#step-text').innerText.startsWith('Turn deck red-1')")
    page.wait("document.querySelector('#offers button:not(:disabled)') !== null")
    x, y = page.js("(b => [b.x + 9, b.y + 9])(document.querySelector('#offers button').getBoundingClientRect())")
    for click in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=click)
        if apart:
            page.see("#step-text", "Stack deck red-1")
    page.see(".notice", "Wash deck: done.")
    page.see("#step-text", "Stack deck red-1")
    kinds = [event["kind"] for event in person.shoed.get("events?newest=1&limit=20")["events"]]
    assert not [kind for kind in kinds if "refused" in kind or kind == "deck.stacked"]


def test_no_null_is_shown(screen: Callable[..., Person]) -> None:
    page = screen("--paused").page
    page.click(".sign-in")
    page.see("dialog .choice", "Dana")
    assert "null" not in page.text("dialog")
    page.click("dialog .choice", "Dana")
    page.see("dialog .pad")
    assert "null" not in page.text("dialog")


def test_a_button_that_cannot_be_used_says_why_and_when(screen: Callable[..., Person]) -> None:
    page = screen("--paused").page
    touch_disabled(page, "reveal_dealer")
    text = page.see(".notice.refused", "Reveal dealer: not possible now.")
    assert "The table is closed." in text
    assert "Possible when the table is" in text
    page.click("#dock .more")
    page.see("dialog .action:disabled")
    for reason in page.js(
        "[...document.querySelectorAll('dialog .action:disabled')]"
        ".map(action => [...action.querySelectorAll('.action-why')].map(why => why.innerText))"
    ):
        assert len(reason) == 2, reason
        assert reason[1].startswith("Possible when"), reason


def test_wagers_are_marked_by_touching_the_seats(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow(BETTING)
    for seat in (2, 5, 4, 5):
        page.click(f"[data-seat='{seat}']")
    page.wait("[...document.querySelectorAll('.seat.playing')].map(seat => seat.dataset.seat).join() === '2,4'")
    page.wait("document.querySelector('[data-seat=\"4\"]').ariaPressed === 'true'")
    page.wait("fetch('/api/v1/table').then(answer => answer.json()).then(table => table.wagered.join() === '2,4')")
    page.click("#offers button", "Close bets")
    page.see("#step-who", "Round 1")
    assert not page.js("document.querySelector('dialog').open"), "the seats are known"
    assert person.shoed.get("table")["round"]["seats"] == [2, 4]
    assert page.js("document.querySelector('[data-seat=\"4\"]').getAttribute('role')") is None


def test_a_face_up_card_asks_for_the_hand(screen: Callable[..., Person]) -> None:
    person = screen("--paused", speed=3)
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow(BETTING)
    person.take_step()
    page.click("#dock [data-action=report_face_up]")
    page.see("dialog legend", "Which hand?")
    hands = page.js("[...document.querySelectorAll('dialog .choice')].map(choice => choice.innerText)")
    assert hands == ["seat 1", "seat 3", "seat 6", "dealer"]
    assert page.js("document.querySelector('dialog button[type=submit]').ariaDisabled") == "true", "choose one first"
    page.click("dialog .choice", "seat 3")
    assert page.js("document.querySelector('dialog button[type=submit]').ariaDisabled") == "false"


@pytest.mark.parametrize(("width", "height"), SIZES, ids=str)
def test_a_message_covers_nothing(screen: Callable[..., Person], width: int, height: int) -> None:
    person = screen("--paused", width=width, height=height)
    page = person.page
    person.sign_in("Dana")
    page.see(".notice", "Dana has signed in.")
    page.wait(f"{COVERED}[0] !== 'out of sight' || innerWidth < 900")
    assert [thing for thing in page.js(COVERED) if thing != "out of sight"] == []
    touch_disabled(page, "reveal_dealer")
    page.see(".notice.refused")
    assert page.js(COVERED) == []
    page.click("nav a", "Devices")
    page.click(".person button")
    page.see(".notice", "Dana has signed out.")
    assert page.js(COVERED) == []


def test_the_pattern_of_a_back_belongs_to_its_colour(screen: Callable[..., Person]) -> None:
    """Also while the other deck has not come yet."""
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.take_step()
    page.see("#step-text", "Bring a new red deck")
    pattern = "document.querySelector('[data-deck={}] .swatch path').getAttribute('d')"
    for back in ("blue", "red"):
        page.click("#dock .more")
        page.click("dialog .action[data-action=receive_deck]")
        page.click("dialog fieldset[data-field=deck] .choice", f"{back}-1")
        page.click("dialog fieldset[data-field=back] .choice", back)
        page.click("dialog button[type=submit]")
        page.see(f"[data-deck={back}-1]")
        if back == "blue":
            alone = page.js(pattern.format("blue-1"))
    assert page.js(pattern.format("blue-1")) == alone
    assert page.js(pattern.format("red-1")) != alone
    cards = "new Set([...document.querySelectorAll('.card path')].map(path => path.getAttribute('d'))).size"
    assert page.js(cards) == 2


def test_the_dealing_method_is_shown(screen: Callable[..., Person]) -> None:
    screen("--paused").page.see("#method", "Dealt from the automated shoe")


def test_a_pulled_cable_is_in_the_headline_at_once(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow(BETTING)
    person.press_fault("shuffler", "unplug")
    page.see("#step-text", "The shuffler is offline. Take the bets")
