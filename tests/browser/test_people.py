"""Numbers and PINs at the screen: a void with six seats, slips of the finger, and steps that need two people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import PINS, Person

MOST_TAPS = 6  # from the void to the end of its procedure; it took 26 when every place was counted on its own


@pytest.fixture
def betting(screen: Callable[..., Person]) -> Person:
    """A table at which bets can be made; the dealer is signed in."""
    person = screen("--paused")
    person.refusals = True
    person.sign_in("Dana")
    person.follow("document.body.dataset.state === 'betting'")
    return person


def dealt_to_six(person: Person) -> None:
    """All six seats have their cards, and the stub is in the rack."""
    page = person.page
    page.click("#dock [data-action=close_bets]")
    page.click("dialog .seats .choice", "All seats")
    page.click("dialog button[type=submit]")
    page.wait("document.querySelectorAll('.seat.playing').length === 6")
    page.wait("document.querySelector('#dock [data-action=players_acted]:not(:disabled)') !== null", within=60)
    page.see("[data-deck=red-1] .deck-places", "32 rack", within=60)


def void(person: Person) -> None:
    """The dealer reports an exposed card; the dialog says what follows from it."""
    page = person.page
    page.click("#dock [data-action=report_dealer_exposed]")
    page.see("dialog .consequence", "The round becomes void and all wagers are returned.")
    page.click("dialog button[type=submit]")
    page.wait("document.body.dataset.state === 'voiding'")


def enter(person: Person, number: int) -> None:
    for digit in str(number):
        person.page.click("dialog .pad button", digit)
    person.page.click("dialog button[type=submit]")


def test_a_void_with_six_seats_takes_few_taps(betting: Person) -> None:
    dealt_to_six(betting)
    void(betting)
    page = betting.page
    page.js("window.taps = 0; addEventListener('click', () => { window.taps += 1; }, true)")
    page.click("#offers button", "Return wagers")
    page.click("#offers button", "Gather all")
    page.see("dialog.blind fieldset[data-field=cards]")
    assert "53" not in page.text("dialog"), "the count is blind"
    enter(betting, 53)
    page.wait("document.body.dataset.state !== 'voiding'")
    taps = page.js("window.taps")
    assert taps <= MOST_TAPS, taps


def test_a_slip_of_the_finger_is_not_final(betting: Person) -> None:
    dealt_to_six(betting)
    void(betting)
    page = betting.page
    page.click("#offers button", "Return wagers")
    page.click("#offers button", "Gather cards")
    enter(betting, 99)
    page.see("dialog .form-answer", "99 is not a possible count")
    page.click("dialog .pad button[aria-label=Clear]")
    enter(betting, 33)
    page.see("dialog .confirm", "The count of 33 does not match. Count the cards again.")
    page.click("dialog button", "Enter another number")
    enter(betting, 33)
    page.click("dialog button", "I counted again: 33")
    page.wait("!document.querySelector('dialog').open")
    page.click("#offers button", "Correct count")
    page.see("dialog", "Dana counted 33 cards of deck red-1")
    enter(betting, 3)
    page.wait("!document.querySelector('dialog').open")
    (corrected,) = betting.shoed.get("events?kind=count.corrected")["events"]
    assert (corrected["data"]["who"], corrected["data"]["was"], corrected["data"]["cards"]) == ("Dana", 33, 3)
    assert corrected["data"]["origin"] == "screen"


def test_a_mistyped_hand_does_not_make_the_round_void(betting: Person) -> None:
    dealt_to_six(betting)
    page = betting.page
    page.click("#dock [data-action=report_wrong_number]")
    page.click("dialog .choice", "seat 2")
    enter(betting, 44)
    page.see("dialog .confirm", "A hand of 44 cards is unlikely. Count the cards again.")
    assert page.js("document.body.dataset.state") != "voiding"
    page.click("dialog button", "Enter another number")
    page.click("dialog .choice", "seat 2")
    enter(betting, 4)
    page.wait("document.body.dataset.state === 'voiding'")


def test_a_step_of_the_floorperson_asks_for_the_pin_although_the_session_is_open(betting: Person) -> None:
    page = betting.page
    betting.sign_in("Flo")
    page.click("#dock .more")
    page.click("dialog .action[data-action=direct_reshuffle]")
    page.click("dialog .choice", "red-1")
    page.click("dialog button[type=submit]")
    page.see("dialog .pin-who", "Flo")
    betting.enter_pin(PINS["Dana"])
    page.see("dialog .pin-answer", "wrong")
    assert not betting.shoed.get("events?kind=reshuffle")["events"]
    betting.enter_pin(PINS["Flo"])
    page.wait("!document.querySelector('dialog').open")
    (directed,) = betting.shoed.get("events?kind=reshuffle.directed")["events"]
    assert directed["data"]["who"] == "Flo"
    page.click(".person.role-floor button")
    page.unseen(".person", "Flo")
    assert [event["text"] for event in betting.shoed.get("events?kind=access.ended")["events"]] == [
        "Flo signed out at the screen."
    ]


# Counts how many session requests are in flight at once. The response to a sign-in is delayed, so the stream announces
# the sign-in first, and the page then asks who is signed in.
SLOW_ANSWERS = """(() => {
  const send = window.fetch;
  let onTheWay = 0;
  window.most = 0;
  window.fetch = async (path, options) => {
    if (!path.endsWith("/session")) return send(path, options);
    onTheWay += 1;
    window.most = Math.max(window.most, onTheWay);
    const answer = await send(path, options);
    if (options.method === "POST") await new Promise((resolve) => setTimeout(resolve, 1000));
    onTheWay -= 1;
    window.answered = (window.answered ?? 0) + 1;
    return answer;
  };
})()"""


def test_nothing_asks_with_the_old_cookie_while_somebody_signs_in(screen: Callable[..., Person]) -> None:
    """Its answer would be that of a new screen, with a cookie of its own, and sign everybody out."""
    person = screen("--paused")
    page = person.page
    page.js(SLOW_ANSWERS)
    person.sign_in("Dana")
    person.sign_in("Flo")
    page.wait("window.answered >= 4")  # two sign-ins, each followed by a question
    assert page.js("window.most") == 1
    page.see(".person", "Dana", within=1)
    page.see(".person", "Flo", within=1)
