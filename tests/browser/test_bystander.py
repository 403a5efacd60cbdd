"""A page that anybody has opened, without the screen's token: it shows what can be seen at the table."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.chromium import Browser
from tests.browser.conftest import PINS, READY, Person, Shoed
from tests.browser.test_look import check
from tests.browser.test_people import betting

__all__ = ["betting"]  # a fixture

SEEN = "document.body.dataset.reads === 'false' && document.body.dataset.state && !document.body.matches('.stale')"


def test_a_bystander_sees_the_table_and_signs_in_by_name(browser: Browser, table: Callable[..., Shoed]) -> None:
    shoed = table("--paused")
    page = browser.page(1024, 600)
    person = Person(page, shoed)
    page.goto(shoed.address)
    page.wait(SEEN)
    page.see("#step-text", "Open")
    page.see(".bystander-words", "Sign in to act")
    page.wait("document.querySelector('#picture').textContent.includes('Shuffler')")
    assert not page.js("document.querySelector('nav').checkVisibility()")
    assert not page.js("document.querySelector('.side').checkVisibility()")
    check(page)
    page.click(".sign-in")
    page.see("dialog .name-form")
    assert "Dana" not in page.words(), "who works here is nobody's business"
    check(page)
    page.js("document.querySelector('dialog input').value = 'Dana'")
    page.click("dialog button[type=submit]")
    person.enter_pin(PINS["Dana"])
    page.see(".person", "Dana")
    page.wait(READY)
    page.see("#offers button", "Open table")
    page.see("#dock .more")
    page.wait("document.querySelectorAll('#events li').length > 0")
    page.click(".person button")
    page.wait(SEEN)
    assert not page.js("document.querySelector('.side').checkVisibility()")
    assert not page.complaints
    page.close()


def test_cards_that_a_bystander_cannot_see_are_drawn_once_they_can_be_seen(browser: Browser, betting: Person) -> None:
    page = browser.page(1024, 600)
    page.goto(betting.shoed.address)
    page.wait(SEEN)
    page.wait("document.querySelector('#picture').ariaLabel.includes('Deck red-1')")
    assert page.js("document.querySelectorAll('#picture .card').length") < 106, "cards inside a device are not shown"
    page.click(".sign-in")
    page.js("document.querySelector('dialog input').value = 'Dana'")
    page.click("dialog button[type=submit]")
    Person(page, betting.shoed).enter_pin(PINS["Dana"])
    page.wait(READY)
    page.wait("document.querySelectorAll('#picture .card').length === 106")
    page.close()


def test_the_token_is_taken_out_of_the_address_and_lasts(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    page = person.page
    assert person.shoed.token not in page.js("location.href")
    page.goto(person.shoed.address)
    page.wait(READY)
    page.see("nav a", "Journal")
