"""Every game by its screen alone: the buttons beside the headline, the pad for cards, and forms."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.cli.client import Client
from controller.games import GAMES
from controller.games.record import RoundRecord
from controller.games.standard_cards import KINDS
from tests.browser.conftest import OFFER, Person
from tests.browser.test_dialogs import EVERYTHING, reachable
from tests.browser.test_look import check

PAGE = Path(__file__).parents[2] / "docs" / "games.md"
# `shoed` with the game that docs/games.md contains, exactly as it stands there.
WITH_HIGH_CARD = f"""
import re, sys
(program,) = re.findall(r"^```python\\n(.*?)^```", open({str(PAGE)!r}).read(), re.S | re.M)
exec(compile(program, "high_card", "exec"), {{"__name__": "high_card"}})
from controller.cli.shoed import main
sys.argv[0] = "shoed"
main()
"""
BETTING = "document.body.dataset.state === 'betting'"
PARTS = ("#entry .card-pad", "#entry .card-choice", "#offers [data-action=decide_hand]", "#result.now *")
OVERFLOWING = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture
def dealer(screen: Callable[..., Person]) -> Callable[..., Dealer]:
    """Opens a table of a game by its screen; the robot dealer is paused throughout."""

    def start(name: str, program: tuple[str, ...] = (), **size: int) -> Dealer:
        person = screen("--paused", "--game", name, speed=60, program=program, **size)
        person.refusals = True  # a device may change the table just before the click
        person.sign_in("Dana")
        person.follow(BETTING)
        return Dealer(person)

    return start


class Dealer:
    """A dealer who does what the headline says, with nothing but taps."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.page = person.page
        self.said: list[str] = []
        self.checked: set[str] = set()

    def check(self, part: str) -> None:
        """Check names, contrast and touch targets the first time that the page has this part."""
        if part in self.checked or not self.page.js(f"document.querySelector({part!r}) !== null"):
            return
        self.checked.add(part)
        for dark in (True, False):
            self.page.look(dark=dark)
            check(self.page)

    def look(self) -> dict[str, Any]:
        """What the table believes, to know what a dealer sees on the felt."""
        found: dict[str, Any] = self.person.shoed.get("table")
        return found

    def hidden(self) -> list[str]:
        """The kinds on the page that the table's view does not have face up."""
        shown = self.page.js("[...document.querySelectorAll('#picture .face')].map(face => face.dataset.kind)")
        open_ = [kind for hand in self.look()["hands"] for kind in hand["kinds"]]
        return [kind for kind in shown if kind not in open_]

    def tap_card(self, kind: str, place: str = "#entry") -> None:
        """Tap one card on the pad."""
        rank, _, suit = kind.partition(" of ")
        if not suit and kind[-1].isdigit():
            suit, rank = kind[:-2], kind[-1]
        if suit:
            self.page.click(f"{place} [data-rank='{rank}']")
            self.page.click(f"{place} [data-suit='{suit}']")
        else:
            self.page.click(f"{place} [data-kind='{kind}']")

    def bet(self) -> None:
        """Mark two seats by touching them."""
        for seat in (1, 2):
            self.page.click(f".seat[role=button][data-seat='{seat}']")
            self.page.wait(f"document.querySelector('.seat[data-seat=\"{seat}\"]').matches('.playing')")
        self.page.wait("fetch('/api/v1/table').then(one => one.json()).then(table => table.wagered.length === 2)")

    def record_bet(self, seat: int, bet: str, amount: int) -> None:
        """Record a bet with the form."""
        self.page.click("#dock [data-action=record_bet]")
        self.page.see("dialog fieldset[data-field=seat]")
        choose = self.page.js("document.querySelector('dialog fieldset[data-field=bet]') !== null")  # there are several
        self.page.click(f"dialog fieldset[data-field=seat] [data-value='{seat}']")
        if choose:
            self.page.click("dialog fieldset[data-field=bet] .choice", bet)
        for digit in str(amount):
            self.page.click("dialog .pad button", digit)
        reachable(self.page, "record_bet")
        self.page.click("dialog button[type=submit]")
        self.page.see("dialog .form-done", str(amount))
        self.page.click("dialog .dialog-head button")

    def step(self) -> None:
        """Do what the headline asks for, with the pad where it asks for cards."""
        before = self.look()
        offers = before["step"]["do"]
        self.said.append(before["step"]["text"])
        first = offers[0] if offers else {}
        if first.get("action") == "decide_hand":
            self.decide(before)
        elif self.page.js("document.querySelector('#entry .card-pad') !== null"):
            (hand,) = [one for one in before["hands"] if one["name"] == first["target"]]
            wanted = hand["to_enter"] or first["cards"]
            for kind in self.unseen(before)[:wanted]:
                self.tap_card(kind)
            if wanted > 1:
                self.page.click(OFFER)
        else:
            self.person.take_step()
            return
        self.page.wait(f"Number(document.body.dataset.seq) > {before['seq']}")

    def unseen(self, view: dict[str, Any]) -> list[str]:
        """Cards that have not been seen in this round."""
        seen = [kind for hand in view["hands"] for kind in hand["kinds"]]
        return [kind for kind in KINDS if kind not in seen]

    def decide(self, view: dict[str, Any]) -> None:
        """Decide for the hand whose turn it is: place a card, pass, or win."""
        turn = view["turn"]
        if turn["anybody"]:
            self.win(turn)
        elif turn["cards"]:
            self.page.click(f"#entry .card-choice [data-kind='{turn['cards'][0]}']")
            self.page.click("#offers button", turn["choices"][0].capitalize())
        else:
            self.page.click("#offers button", turn["choices"][-1].capitalize())

    def win(self, turn: dict[str, Any]) -> None:
        """A player has exchanged a card in the round before, and now declares a winning hand."""
        if "Pass" in self.page.text("#offers") and len(self.said) < 16:
            self.page.click("#offers button", "Exchange")
            self.page.see("dialog fieldset[data-field=number]")
            reachable(self.page, "exchange")
            self.page.click("dialog fieldset[data-field=number] .choice", "1")
            self.page.wait("!document.querySelector('dialog').open")
            return
        self.page.click("#offers button", turn["anybody"][0].capitalize())
        self.page.click("dialog fieldset[data-field=target] .choice", turn["hand"].replace("seat", "seat "))
        for kind in (*(f"feng shui {number}" for number in range(1, 6)), "green dragon"):
            self.tap_card(kind, "dialog")
        reachable(self.page, "win")
        self.page.click("dialog button[type=submit]")
        self.page.wait("!document.querySelector('dialog').open")

    def play(self, most: int = 150) -> None:
        """A whole round, until bets can be made again."""
        rounds = self.look()["rounds"]
        for _ in range(most):
            self.page.wait(f"{BETTING} || document.querySelector('{OFFER}') !== null")
            assert self.hidden() == []
            for part in PARTS:
                self.check(part)
            if self.look()["rounds"] > rounds and self.page.js(BETTING):
                return
            if self.page.js(f"document.querySelector('{OFFER}') !== null"):
                self.step()
        raise AssertionError(f"no end after: {self.said}")


@pytest.mark.parametrize("name", GAMES)
def test_a_round_is_played_by_the_screen_alone(dealer: Callable[..., Dealer], name: str) -> None:
    table = dealer(name)
    description = GAMES[name]
    table.bet()
    between = RoundRecord(seats=(), held={}, kinds={}, options=dict(description.options))
    for seat in (1, 2) if description.needed_bets else ():
        assert description.needed_bets
        for bet, amount in description.needed_bets(between, f"seat{seat}").items():
            table.record_bet(seat, bet, amount)
    rounds = table.look()["rounds"]
    table.play()
    found = table.look()
    assert found["rounds"] == rounds + 1, table.said
    if description.must_settle:
        assert "#result.now *" in table.checked, "the result is on top while the hands are collected"
        assert table.page.see("#result .result-card", "result")
        assert found["settled"]["result"]


def test_a_scoreboard_can_be_read_without_its_colours(dealer: Callable[..., Dealer]) -> None:
    table = dealer("dragon-baccarat-tournament")
    table.bet()
    table.play()
    page = table.page
    for board in ("bead-plate", "big-road"):
        cell = f"document.querySelector('.board-{board} .cell')"
        letter, said = page.js(f"{cell}.innerText.charAt(0)"), page.js(f"{cell}.title")
        assert letter == said[0].upper()
        assert page.js(f"parseFloat(getComputedStyle({cell}).fontSize)") > 8
        heard = page.js(f"document.querySelector('.board-{board} [role=img]').ariaLabel")
        assert heard.endswith(f"; from the newest: {said}")


def test_a_win_is_declared_instead_of_the_reshuffle(dealer: Callable[..., Dealer]) -> None:
    """Thirteen exchanges of three cards leave one card: the button beside the reshuffle opens the pad."""
    table = dealer("dragon-poker-chinese-deck")
    page, client = table.page, Client(table.person.shoed.socket)
    table.bet()
    table.person.take_step()  # no more bets
    for _ in range(13):
        page.wait("document.querySelector('#offers')?.textContent.includes('Pass')")
        exchange = {"action": "decide_hand", "target": table.look()["turn"]["hand"], "choice": "exchange", "number": 3}
        seq = client.post("actions", exchange)["events"][-1]["seq"]
        page.wait(f"Number(document.body.dataset.seq) > {seq}")
    page.wait("document.querySelector('#offers [data-action=reshuffle_stock]') !== null")
    page.click("#offers button", "Win")
    page.click("dialog fieldset[data-field=target] .choice", "seat 2")
    for kind in (*(f"feng shui {number}" for number in range(1, 6)), "green dragon"):
        table.tap_card(kind, "dialog")
    page.click("dialog button[type=submit]")
    page.see("#result .result-card", "class 5")


def test_a_game_that_nobody_has_drawn_is_played_by_the_same_screen(dealer: Callable[..., Dealer]) -> None:
    """High Card of docs/games.md: no code knows it, and the screen has its seats, its cards and its result."""
    table = dealer("high-card", program=(sys.executable, "-c", WITH_HIGH_CARD))
    table.bet()
    table.record_bet(1, "bet", 25)
    table.play()
    settled = table.look()["settled"]
    assert [(one["hand"], abs(one["net"]) in (0, 25)) for one in settled["payments"]] == [("seat1", True)]
    table.page.see("#result .payments", "Seat 1")
    assert "Turn all cards over." in table.said


def test_a_card_is_two_taps_and_a_slip_is_corrected(screen: Callable[..., Person]) -> None:
    """With a manual shoe the dealer enters every card, on a pad that opens by itself."""
    person = screen("--paused", "--game", "dragon-baccarat-tournament", speed=60)
    person.refusals = True
    person.sign_in("Dana")
    person.sign_in("Flo")
    person.take_step()
    person.act("take_out_of_service", device="shoe", how="covered")
    person.follow(BETTING)
    table, page = Dealer(person), person.page
    table.bet()
    table.person.take_step()  # no more bets
    table.person.take_step()  # the burn card
    page.see("#entry h2", "1 card of the player")
    page.js("window.taps = 0; addEventListener('click', () => { window.taps += 1; }, true)")
    table.tap_card("nine of hearts")
    page.see("#entry h2", "1 card of the banker")
    assert page.js("window.taps") == 2
    page.wait("document.querySelector('#picture .face[data-kind=\"nine of hearts\"]') !== null")
    page.click("#dock [data-action=correct_cards]")
    table.tap_card("eight of hearts", "dialog")
    page.click("dialog button[type=submit]")
    page.wait("document.querySelector('#picture .face[data-kind=\"eight of hearts\"]') !== null")
    assert page.js("document.querySelector('#picture .face[data-kind=\"nine of hearts\"]') === null")


@pytest.mark.parametrize("name", [name for name in GAMES if name != "dragon-poker"])
@pytest.mark.parametrize(("width", "height"), [(1024, 600), (390, 844)], ids=str)
def test_no_form_of_a_game_hides_its_button(dealer: Callable[..., Dealer], name: str, width: int, height: int) -> None:
    """As for the first game, where the same test opens all dialogs."""
    table = dealer(name, width=width, height=height)
    page = table.page
    page.js(EVERYTHING)
    page.click("[role=button][data-seat='1']")  # a new view, in which everything is possible
    page.wait("[...document.querySelectorAll('#dock button')].every(one => one.ariaDisabled === null && !one.disabled)")
    assert not page.js(OVERFLOWING)
    listed = table.person.shoed.get("actions")["actions"]
    own = {"record_bet", "correct_cards", "enter_cards", "decide_hand", "report_irregularity", "deal_cards"}
    opened = [one["action"] for one in listed if one["in_game"] and one["action"] in own]
    for action in opened:
        page.click("#dock .more")
        page.click(f"dialog .action[data-action={action}]")
        page.see("dialog button[type=submit]")
        reachable(page, action)
        page.press("Escape")
        page.wait("document.querySelector('dialog').childElementCount === 0")
    assert len(opened) > 2
    assert not page.js(OVERFLOWING)


def test_a_recorded_bet_is_enough_to_close_bets_and_to_play(dealer: Callable[..., Dealer]) -> None:
    """No seat has to be marked, and a play wager that can only equal the ante is not asked for."""
    table = dealer("dragon-poker")
    page = table.page
    for bet in ("ante", "ante bonus"):
        page.click("#dock .more")
        page.click("dialog .action[data-action=record_bet]")
        page.click("dialog fieldset[data-field=seat] [data-value='2']")
        page.click(f"dialog fieldset[data-field=bet] [data-value='{bet}']")
        page.click("dialog .pad button", "5")
        page.click("dialog button[type=submit]")
        page.see("dialog .form-done", f"Recorded: seat 2, {bet} 5.")
        page.click("dialog .dialog-head button")
    page.click("#offers button", "Close bets")
    page.see("#step-text", "Ask seat 2 to play or forfeit.")
    page.click("#offers button", "Play")
    page.see(".notice", "Play: done.")
    page.see("#step-text", "Report that all players have acted.")
    (hand,) = [one for one in table.look()["hands"] if one["name"] == "seat2"]
    assert [(one["choice"], one["number"]) for one in hand["decisions"]] == [("play", 5)]


def test_a_bet_that_names_a_seat_is_not_an_amount(dealer: Callable[..., Dealer]) -> None:
    table = dealer("face-up-chinese-poker")
    page = table.page
    table.record_bet(1, "stack", 500)
    page.click("#dock [data-action=record_bet]")
    page.click("dialog fieldset[data-field=seat] [data-value='3']")
    page.click("dialog fieldset[data-field=bet] .choice", "second hand of seat")
    page.see("dialog fieldset[data-field=amount] legend", "Which seat?")
    choices = page.js("[...document.querySelectorAll('dialog [data-field=amount] .choice')].map(one => one.innerText)")
    assert choices == ["1", "2", "4", "5", "None"]
    page.click("dialog fieldset[data-field=amount] .choice", "1")
    page.click("dialog button[type=submit]")
    page.see("dialog .form-done", "Recorded: seat 3, second hand of seat 1.")
    page.see("#bets", "second hand of seat 1")
    titles = "[...document.querySelectorAll('.named-hand .place-name')].map(title => title.textContent)"
    assert page.js(titles) == ["Seat 1  500", "Seat 2", "Seat 3", "Seat 4", "Seat 5"]


@pytest.mark.parametrize(("width", "height"), [(1024, 600), (390, 844)], ids=str)
def test_every_seat_is_large_enough_for_a_finger(dealer: Callable[..., Dealer], width: int, height: int) -> None:
    page = dealer("dragon-baccarat-tournament", width=width, height=height).page
    sizes = page.js(
        "[...document.querySelectorAll('.seat[role=button]')].map(seat => seat.getBoundingClientRect())"
        ".map(box => Math.min(box.width, box.height))"
    )
    assert len(sizes) == 6
    assert min(sizes) >= 44, sizes


@pytest.mark.parametrize(("width", "height"), [(1024, 600), (1440, 900), (390, 844)], ids=str)
def test_cards_that_are_not_placed_yet_can_be_read(dealer: Callable[..., Dealer], width: int, height: int) -> None:
    """Five cards lie before each player: of each, at least the rank and half of the suit are visible."""
    table = dealer("face-up-chinese-poker", width=width, height=height)
    page = table.page
    table.bet()
    for seat in (1, 2):
        table.record_bet(seat, "stack", 500)
    page.click("#offers button", "Close bets")
    page.see("#entry .card-choice")
    boxes = (
        "[...document.querySelectorAll('#picture .card:has(.face)')].map(card => card.getBoundingClientRect())"
        ".map(box => [box.bottom, box.left / box.width])"
    )
    page.wait(f"(all => Math.max(...all) - Math.min(...all) < 9)({boxes}.map(([bottom]) => bottom))")  # all are at rest
    lefts = sorted(left for _, left in page.js(boxes))
    assert len(lefts) == 10
    for row in (lefts[:5], lefts[5:]):
        apart = [after - before for before, after in itertools.pairwise(row)]
        assert min(apart) > 0.7, apart
