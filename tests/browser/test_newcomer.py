"""What a newcomer at the screen must not stumble over: forms that explain themselves, and buttons that differ."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.chromium import Page
from tests.browser.conftest import Person
from tests.browser.test_people import betting, dealt_to_six, enter, void

__all__ = ["betting"]  # a fixture

SUBMIT = "document.querySelector('dialog button[type=submit]')"


def tap_submit(page: Page) -> None:
    """Tap the form's button, whether it is enabled or not."""
    x, y = page.js(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({SUBMIT}.getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def test_a_form_says_what_is_still_to_be_answered(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.sign_in("Dana")
    page = person.page
    page.click("#offers button", "Open table")
    page.click("#offers button", "Receive deck")
    page.see("dialog fieldset[data-field=deck]")
    tap_submit(page)
    page.see("dialog .form-answer", "Answer this first: Which deck?")
    assert page.js("document.querySelector('dialog input').maxLength") == 24
    page.click("dialog fieldset[data-field=deck] .choice", "red-1")
    page.unseen("dialog .form-answer", "Answer this first")
    page.click("dialog fieldset[data-field=prepared] .choice", "Yes")
    tap_submit(page)
    page.see("dialog .form-answer", "Answer this first: Who prepared it, and where?")
    page.click("dialog fieldset[data-field=prepared] .choice", "No")
    page.click("dialog button[type=submit]")
    page.see("#step-text", "Bring a new blue deck.")


def test_nobody_gives_a_reason_by_leaving_the_form_as_it_is(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.sign_in("Dana")
    page = person.page
    page.click("#offers button", "Open table")
    page.click("#offers button", "Receive deck")
    page.click("dialog fieldset[data-field=deck] .choice", "red-1")
    page.click("dialog button[type=submit]")
    page.see("#step-text", "Bring a new blue deck.")
    page.click("#dock .more")
    page.click("dialog .action[data-action=reject_deck]")
    page.see("dialog .consequence", "locked out for good")
    tap_submit(page)
    page.see("dialog .form-answer", "Answer this first: What is the reason?")
    page.click("dialog fieldset[data-field=reason] .choice", "a card is damaged")
    page.click("dialog button[type=submit]")
    page.see("#step-text", "A floorperson takes deck red-1 off the table.")
    page.see("article.alarm .small", "Deck red-1 · a floorperson can clear it")
    (locked,) = person.shoed.get("events?kind=deck.locked_out")["events"]
    assert locked["data"]["reason"] == "a card is damaged"


def test_many_ways_to_go_on_differ_and_leave_the_table_in_sight(betting: Person) -> None:
    """A card is missing: look for it in one place, in either device, declare it, or correct the count."""
    dealt_to_six(betting)
    void(betting)
    page = betting.page
    page.click("#offers button", "Return wagers")
    page.click("#offers button", "Gather all")
    enter(betting, 52)
    page.click("dialog button", "I counted again: 52")
    page.see("#step-text", "Find 1 card of deck red-1")
    page.wait("document.querySelectorAll('#offers button').length > 3")
    titles = page.js("[...document.querySelectorAll('#offers button')].map(button => button.innerText)")
    assert len(set(titles)) == len(titles), titles
    height = page.js("document.querySelector('.picture').getBoundingClientRect().height")
    assert height > 100, f"the table is {height} pixels high"
    lines = page.js("document.querySelector('#step-text .unbroken').getClientRects().length")
    assert (page.text("#step-text .unbroken"), lines) == ("red-1,", 1), "the name of the deck is broken"
    inside = "[...document.querySelectorAll('#offers button')].every(one => one.scrollWidth <= one.clientWidth)"
    assert page.js(inside), "a button's words do not fit"


def test_a_button_names_the_device_that_the_headline_does_not_mention(betting: Person) -> None:
    """Cards are missing and the shoe is jammed: "Empty device" would be about the shuffler, of all devices."""
    page = betting.page
    betting.press_fault("shoe", "jam")
    page.click("#dock [data-action=close_bets]")
    page.click("dialog .seats .choice", "All seats")
    page.click("dialog button[type=submit]")
    page.click("#offers button", "Return wagers")
    page.click("#offers button", "Gather cards")
    enter(betting, 35)
    page.click("dialog button", "I counted again: 35")
    page.see("#step-text", "Find 18 cards of deck red-1")
    page.see("#offers button", "Empty device: shuffler")


def test_a_dead_device_of_the_simulation_is_not_called_ready(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.press_fault("shoe", "dead")
    person.open_simulation()
    person.page.see("#simulation > .small", "No power")
    assert person.page.text("#simulation > .small") == "No power"
