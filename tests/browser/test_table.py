"""A dealer's work at the screen: a whole round, a step by keyboard alone, wrong PINs, a daemon that is killed."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.conftest import Person

LIVE = """[...document.querySelectorAll("#dock button:not(.more, :disabled, [aria-disabled=true])")]
  .map(button => button.dataset.action)"""


def test_a_whole_round_by_clicks(screen: Callable[..., Person]) -> None:
    """From a closed table to a round in the journal, with nothing but the screen's own buttons."""
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    steps = person.follow("document.body.dataset.state === 'betting'")
    for words in ("Open the table", "inspects", "verifies", "Spread", "wash", "Stack", "into the shuffler"):
        assert any(words in step for step in steps), (words, steps)
    page.wait("document.querySelectorAll('.card').length === 106")
    page.js("document.querySelectorAll('.card').forEach((card, at) => card.dataset.at = at)")
    page.wait(f"{LIVE}.join() === 'close_bets'")  # the only enabled button of the dealer
    assert not page.js("document.querySelector('#dock [data-action=close_bets]').disabled")
    person.take_step()
    page.see("#step-who", "Round 1")
    page.wait("document.querySelectorAll('.seat.playing').length === 3")
    page.wait(f"{LIVE}.includes('players_acted')")
    deck = page.see("[data-deck=red-1] .deck-places")
    assert all(words in deck for words in ("3 seat 1", "3 seat 3", "3 seat 6", "3 dealer")), deck
    assert {hand["seen"] for hand in person.shoed.get("rounds/1")["hands"].values()} == {"hidden"}
    person.follow("document.querySelector('#round').textContent === '1 round'")
    page.see("[data-deck=red-1]", "rack")
    page.see("[data-deck=blue-1]", "Next")
    moved = page.js("document.querySelectorAll('.card[data-at]').length")
    assert moved == 106, "the cards that were moved are the cards that were there"
    page.click("nav a", "Journal")
    page.click("#rounds .round-link", "Round 1")
    hands = page.see("#round-viewer", "Round 1")
    assert "Completed" in hands
    assert all(hand in hands for hand in ("Seat 1", "Seat 3", "Seat 6", "Dealer")), hands
    for hand in person.shoed.get("rounds/1")["hands"].values():
        assert hand["seen"] == "known"
        assert ", ".join(hand["kinds"]) in hands, "turned over, and recognised by the shoe"
    page.click("#round-viewer button", "Show events")
    page.see("#results", "Round 1 started")


def test_the_hands_of_a_void_round_are_shown_after_a_floorperson_has_requested_them(
    screen: Callable[..., Person],
) -> None:
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow("document.body.dataset.state === 'betting'")
    person.take_step()
    page.wait(f"{LIVE}.includes('players_acted')")
    page.click("[data-action=report_dealer_exposed]")
    person.submit()
    page.wait("document.body.dataset.state === 'voiding'")
    page.js("location.hash = '#journal/1'")
    assert page.see("#round-viewer", "Round 1").count("hidden") == 4
    page.js("location.hash = '#table'")
    page.click("#dock .more")
    page.click("dialog button", "Request hands")
    page.see("dialog [data-field=round] [aria-pressed=true]", "1")
    page.click("dialog [data-field=reason] input")
    page.type("seat 3 claims three dragons")
    person.submit()
    page.js("location.hash = '#journal/1'")
    shown = page.see("#round-viewer", "Flo requested the cards of the hands: seat 3 claims three dragons")
    assert "hidden" not in shown
    for hand in person.shoed.get("rounds/1")["hands"].values():
        assert ", ".join(hand["kinds"]) in shown


def test_a_step_by_keyboard_alone(screen: Callable[..., Person]) -> None:
    """Sign in and open the table with the keyboard alone."""
    page = screen("--paused").page
    page.see("#offers button", "Open table")
    page.press("Tab")
    assert page.js("document.activeElement.className") == "skip"
    page.press("Enter")
    assert page.js("document.activeElement.id") == "main"
    page.press("Tab")
    for _ in range(4):
        if page.js("document.activeElement.dataset.action") == "open_table":
            break
        page.press("Tab")
    assert page.js("document.activeElement.dataset.action") == "open_table"
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") != "none", "the focus is to be seen"
    page.press("Enter")
    page.see("dialog", "Dana")
    assert "Dana" in page.js("document.activeElement.innerText")
    page.press("Escape")
    page.wait("!document.querySelector('dialog').open")
    page.press("Enter")
    page.see("dialog", "Dana")
    page.press("Enter")
    page.see("dialog .pad")
    page.type("2580")
    page.press("Enter")
    page.see("#step-text", "Bring a new red deck")


def test_a_pin_refused_and_a_lock_out_that_the_floor_ends(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    person.refusals = True
    page = person.page
    page.click(".sign-in")
    page.click("dialog .choice", "Dana")
    person.enter_pin("1111")
    page.see("dialog .pin-answer", "wrong")
    assert page.js("document.querySelector('.pin-input').value") == "", "the next attempt starts empty"
    for _ in range(9):
        if "is locked" in page.text("dialog .pin-answer"):
            break
        page.js("document.querySelector('.pin-answer').textContent = ''")
        person.enter_pin("1111")
        page.wait("document.querySelector('.pin-answer').textContent !== ''")
    page.see("dialog .pin-answer", "is locked")
    person.enter_pin("2580")
    page.see("dialog .pin-answer", "is locked")
    page.press("Escape")
    page.see(".lock-out", "Dana is locked out")
    assert page.js("document.querySelectorAll('.person').length") == 0
    page.click(".sign-in")
    page.see("dialog .choice .locked")
    page.press("Escape")
    page.click(".lock-out button")
    page.click("dialog .choice", "Flo")
    person.enter_pin("147036")
    page.unseen(".lock-out")
    assert page.js("document.querySelectorAll('.person').length") == 0, "the PIN was for this alone"
    person.sign_in("Flo")
    person.sign_in("Dana")
    page.click(".person.role-floor button")
    page.unseen(".person", "Flo")
    page.see(".person", "Dana")


def test_a_daemon_that_is_killed_and_comes_back(screen: Callable[..., Person]) -> None:
    """The screen is stale at once, all buttons are disabled, and it recovers by itself."""
    person = screen("--paused")
    person.refusals = True
    page = person.page
    person.sign_in("Dana")
    person.take_step()
    page.see("#step-text", "Bring a new red deck")
    page.js("window.same = true")
    person.shoed.kill()
    page.see("#stale", "STALE")
    assert page.js("[...document.querySelectorAll('#dock button, #offers button')].every(button => button.disabled)")
    person.shoed.start()
    page.unseen("#stale")
    assert page.js("window.same"), "without loading the page again"
    page.see("#step-text", "Open the table")
    page.wait("!document.querySelector('#offers button').disabled")
    page.unseen(".person")
    person.sign_in("Dana")
    person.take_step()
    page.see("#events", "opened the table")


def test_a_daemon_that_hangs(screen: Callable[..., Person]) -> None:
    """A connection that stays open but delivers nothing counts as broken."""
    person = screen("--paused")
    person.page.see("#events", "The controller started")  # nothing that was asked before is given up when it goes on
    person.shoed.freeze()
    person.page.see("#stale", "STALE")
    person.shoed.thaw()
    person.page.unseen("#stale")
    person.page.wait("document.querySelector('#offers button')?.disabled === false")


def test_actions_that_could_not_be_fetched_are_fetched_again(screen: Callable[..., Person]) -> None:
    """Without them the page has no buttons; the list of all actions was empty, and stayed empty, if opened before."""
    person = screen("--paused")
    person.refusals = True
    page = person.page
    page.send("Network.enable")
    page.send("Network.setBlockedURLs", urls=["*/api/v1/actions"])
    page.send("Page.reload")
    page.wait("document.querySelector('#dock .more')?.disabled && document.querySelector('#step-text').innerText")
    page.wait("performance.getEntriesByName(`${location.origin}/api/v1/actions`).length > 1")
    assert page.js("document.querySelector('#dock .more').disabled")
    page.send("Network.setBlockedURLs", urls=[])
    page.click("#dock .more")
    page.see("dialog h2", "All actions")
    assert page.js("document.querySelectorAll('dialog .action').length") > 40
    assert page.js("document.querySelectorAll('#offers button').length") == 1


def test_an_action_that_is_refused_says_why(screen: Callable[..., Person]) -> None:
    """Allowed by the state machines but refused by a guard: the screen shows reason, remedy and clause."""
    person = screen("--paused")
    person.refusals = True
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.follow("document.querySelector('#step-text').innerText.includes('blue deck')")
    page.click("#dock .more")
    page.wait("document.querySelectorAll('dialog .action').length > 40")
    page.see("dialog .action:disabled .action-why")
    page.click("dialog .action[data-action=close_table]")
    page.see("dialog h2", "Close table")
    page.press("Escape")
    page.click("#offers button", "Receive deck")
    page.click("dialog fieldset[data-field=deck] input")
    page.type("red-1")  # which is at the table
    page.click("dialog button[type=submit]")
    answer = page.see("dialog .form-answer", "Refused")
    assert "Possible when" in answer
    assert "§" in answer


def test_a_prepared_deck_is_brought_by_one_person_and_accepted_by_another(screen: Callable[..., Person]) -> None:
    person = screen("--paused")
    page = person.page
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.take_step()
    page.see("#step-text", "Bring a new red deck")
    page.click("#offers button")
    page.click("dialog fieldset[data-field=deck] .choice", "red-1")
    page.unseen("dialog fieldset[data-field=came_from]")
    page.click("dialog fieldset[data-field=prepared] .choice", "Yes")
    page.see("dialog fieldset[data-field=came_from]")
    assert page.js("document.querySelector('dialog button[type=submit]').ariaDisabled") == "true", (
        "its origin is missing"
    )
    page.click("dialog fieldset[data-field=came_from] input")
    page.type("the card room")
    page.click("dialog button[type=submit]")
    page.see("#step-text", "Bring a new blue deck")
    person.follow("document.querySelector('#step-text').innerText.includes('accepts deck red-1')")
    page.click("#offers button", "Accept deck")
    page.see("dialog .pin-who", "Flo")
    person.submit()
    page.see("#events", "Flo accepted deck red-1, inspected and shuffled beforehand (the card room).")
