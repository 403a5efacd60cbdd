"""The simulated Angel Eye II-EX: what the driver reads from it is what happened to the physical cards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from controller.games.dragon_baccarat.hands import baccarat_result, due_card
from controller.games.standard_cards import KINDS
from firmware_bridge.drivers.angel_eye.line import (
    DIGITS,
    AngelEyeLine,
    Answered,
    LineHappening,
    Reported,
    ShoeCommand,
    cancel_error,
)
from firmware_bridge.drivers.angel_eye.reports import (
    CardDrawn,
    CardDrawnOutside,
    CardFor,
    CutCardDrawn,
    ErrorCancelled,
    ErrorOccurred,
    GameResult,
    LockChanged,
    ShoeReport,
    StandBy,
    Started,
)
from firmware_bridge.drivers.angel_eye.telegram import CommandTelegram, encode
from firmware_bridge.ports.transport import PortLost, open_port
from simulators.angel_eye import CUT_CARD_BEFORE, HAND, RACK, SHOE, Dealer, endpoint_for
from simulators.devices.angel_eye import FAULTS

BEFORE_THE_PORT = 2  # reports that the shoe may have sent before the port was opened
HANDS = (CardFor.PLAYER, CardFor.BANKER)


class Played:
    """A dealer with the shoe in virtual time, and the driver's end of its line."""

    def __init__(self, seed: int = 1, **wire: float) -> None:
        self.dealer = Dealer(seed, **wire)
        self.line = AngelEyeLine(DIGITS)
        self.now = 0.0
        self.heard: list[LineHappening] = []

    def pass_on(self) -> None:
        """Let the shoe and the line hear each other."""
        self.heard += self.line.receive(self.dealer.shoe.take_output(), self.now)
        self.dealer.shoe.receive(self.line.take_output(), self.now)
        self.heard += self.line.receive(self.dealer.shoe.take_output(), self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self.dealer.shoe.deadline <= until:
            self.now = self.dealer.shoe.deadline
            self.dealer.shoe.tick(self.now)
            self.pass_on()
        self.now = until

    def deal(self, until: Callable[[], bool]) -> None:
        """Let the dealer go on until this is true."""
        while not until():
            seconds = self.dealer.next_thing(self.now)
            self.pass_on()
            self.wait(seconds)
        self.wait(5.0)

    @property
    def reports(self) -> list[ShoeReport]:
        return [one.report for one in self.heard if isinstance(one, Reported)]

    def dealt(self) -> list[tuple[str, ...]]:
        """The cards of each hand by their names, round by round, as the reports say."""
        return [tuple(name for _, name in cards) for cards in self._rounds()]

    def _rounds(self) -> list[list[tuple[CardFor, str]]]:
        rounds: list[list[tuple[CardFor, str]]] = [[]]
        for report in self.reports:
            if isinstance(report, CardDrawn) and report.to in HANDS:
                rounds[-1].append((report.to, f"{report.rank} of {report.suit}"))
            elif isinstance(report, GameResult):
                rounds.append([])
        return rounds[:-1]


def started() -> Played:
    """A shoe whose burnt cards are out."""
    played = Played()
    played.deal(lambda: bool(played.dealer.cards.count(SHOE)) and not played.dealer.shoe.burning)
    return played


def test_a_shoe_begins_with_start_and_stand_by_and_burns_as_its_first_card_says() -> None:
    played = started()
    assert played.reports[:2] == [Started(), StandBy()]
    first, *burnt = [report for report in played.reports if isinstance(report, CardDrawn)]
    assert first.to is CardFor.FIRST
    number = min(KINDS.index(f"{first.rank} of {first.suit}") % 13 + 1, 10)
    assert [report.to for report in burnt] == [CardFor.BURN] * number


def test_a_whole_shoe_is_reported_as_its_cards_were_drawn() -> None:
    """Every report says which card it is, whose, and who has won; by the cards themselves and the table of play."""
    played = Played()
    drawn: list[tuple[str, ...]] = []
    cards, shoe = played.dealer.cards, played.dealer.shoe

    def over() -> bool:
        if shoe.stands_by and cards.count(HAND):
            drawn.append(tuple(KINDS[card.kind] for card in reversed(cards.pile(HAND))))
        return shoe.cut_card_out and shoe.stands_by

    played.deal(over)
    assert len(drawn) > 60
    assert played.dealt() == drawn
    results = [report for report in played.reports if isinstance(report, GameResult)]
    for reported, hand in zip(results, played._rounds(), strict=True):
        player, banker = ([name for to, name in hand if to is whose] for whose in HANDS)
        for number in range(len(hand)):
            so_far = [[name for to, name in hand[:number] if to is whose] for whose in HANDS]
            assert due_card(*so_far) == hand[number][0].value
        expected = baccarat_result(player, banker)
        assert (reported.winner.value, reported.player_pair, reported.banker_pair) == (
            expected.result.value,
            expected.player_pair,
            expected.banker_pair,
        )
    assert played.reports.count(CutCardDrawn()) == 1
    assert CUT_CARD_BEFORE - 6 <= cards.count(SHOE) < CUT_CARD_BEFORE


def faults_on_a_bad_line() -> list[str]:
    """Play a shoe on a line that loses, repeats and corrupts reports: what is not true of what arrives."""
    bad, good = Played(lose=0.4, corrupt=0.2), Played()
    for played in (bad, good):
        played.deal(lambda played=played: played.dealer.shoe.cut_card_out)  # type: ignore[misc]
    missed = sum(one.missed or 0 for one in bad.heard if isinstance(one, Reported))
    there = iter(good.reports)
    true = {
        "a report arrives that the shoe has not sent, or out of order": all(
            any(report == sent for sent in there) for report in bad.reports
        ),
        "the number of reports is not that which the shoe has sent": len(bad.reports) + missed
        == good.dealer.shoe.reports_sent,
        "two reports with one number differ": bad.line.counters.contradicted == 0,
        "nothing was lost": missed > 0,
    }
    return [fault for fault, right in true.items() if not right]


def test_on_a_bad_line_what_arrives_is_true_and_what_does_not_is_noticed() -> None:
    assert faults_on_a_bad_line() == []


@pytest.mark.parametrize(
    ("defect", "where", "instead", "fault"),
    [
        ("checksums are ignored", "telegram.is_whole", lambda covered, sent: True, "a report arrives"),
        ("repeated reports are handled twice", "line._is_repeated", lambda last, now: False, "the number of reports"),
        ("gaps are ignored", "line.AngelEyeLine._missed", lambda line, last, sequence: 0, "the number of reports"),
    ],
)
def test_planted_defects_of_the_driver_are_noticed(
    mocker: MockerFixture, defect: str, where: str, instead: object, fault: str
) -> None:
    mocker.patch(f"firmware_bridge.drivers.angel_eye.{where}", instead)
    assert any(found.startswith(fault) for found in faults_on_a_bad_line()), defect


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_waits_until_it_is_cancelled_and_the_card_is_reported_once(fault: str) -> None:
    played = started()
    shoe = played.dealer.shoe
    before = len(played.reports)
    shoe.inject(fault)
    card = shoe.draw(HAND, played.now)
    assert card is not None
    played.wait(5.0)
    assert ErrorOccurred(FAULTS[fault], True) in played.reports[before:]
    played.line.give(cancel_error(FAULTS[fault]), played.now)
    played.pass_on()
    played.wait(5.0)
    after = played.reports[before:]
    assert ErrorCancelled(FAULTS[fault]) in after
    names = [f"{one.rank} of {one.suit}" for one in after if isinstance(one, CardDrawn)]
    assert names == [KINDS[card.kind]]


def test_a_card_that_nobody_should_get_is_an_overdraw() -> None:
    played = started()
    shoe = played.dealer.shoe
    while shoe.draw(HAND, played.now) and not shoe.stands_by:
        pass
    shoe.draw(HAND, played.now)
    played.wait(5.0)
    assert ErrorOccurred(2, True) in played.reports
    assert not any(isinstance(report, CardDrawnOutside) for report in played.reports)


def test_a_card_drawn_from_a_locked_shoe_is_outside_of_a_game() -> None:
    played = started()
    played.line.give(ShoeCommand.LOCK.value, played.now)
    played.pass_on()
    played.wait(5.0)
    card = played.dealer.shoe.draw(RACK, played.now)
    assert card is not None
    played.wait(5.0)
    locked, drawn = played.reports[-2:]
    assert locked == LockChanged(True)
    assert isinstance(drawn, CardDrawnOutside)
    assert f"{drawn.rank} of {drawn.suit}" == KINDS[card.kind]


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        (ShoeCommand.LOCK.value, ""),
        (ShoeCommand.CONFIRM.value, ""),
        (cancel_error(7), "another error"),
        (CommandTelegram("LK", "09"), "wrong format or length"),
        (CommandTelegram("XX", "00"), "unknown type"),
    ],
)
def test_commands_are_answered(command: CommandTelegram, refused: str) -> None:
    played = started()
    played.line.give(command, played.now)
    played.pass_on()
    assert [one for one in played.heard if isinstance(one, Answered)] == [Answered(command, refused)]


def test_a_damaged_command_is_refused_and_not_carried_out() -> None:
    played = started()
    whole = encode(ShoeCommand.LOCK.value)
    played.dealer.shoe.receive(whole[:-1] + b"0", played.now)
    assert played.dealer.shoe.take_output() == b"\x15\x02"
    assert not played.dealer.shoe.locked


# --- real ports -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["pty", "tcp"])
def test_a_whole_shoe_of_eight_decks_over_a_real_port(place: str, tmp_path: Path) -> None:
    """The same reports as in virtual time, over a pty and over the TCP port of a device server."""

    def over_port() -> list[ShoeReport]:
        return asyncio.run(deal())

    async def deal() -> list[ShoeReport]:
        dealer = Dealer(3)
        endpoint = endpoint_for(dealer, tmp_path / "shoe" if place == "pty" else None, 0, 1.0)
        await endpoint.start()
        inbox: asyncio.Queue[bytes | PortLost] = asyncio.Queue()
        port = await open_port(endpoint.address, inbox.put_nowait, inbox.put_nowait)
        line, reports = AngelEyeLine(DIGITS), list[ShoeReport]()
        now = 10.0  # the dealer's own time: what the shoe sends is waited for, not timed
        try:
            while not (dealer.shoe.cut_card_out and dealer.shoe.stands_by):
                now += dealer.next_thing(now)
                dealer.shoe.tick(now)
                endpoint.poke()
                await asyncio.sleep(0)
            while line.counters.reports < dealer.shoe.reports_sent - BEFORE_THE_PORT:
                arrived = await asyncio.wait_for(inbox.get(), 60)
                assert isinstance(arrived, bytes)
                reports += [one.report for one in line.receive(arrived, 0.0) if isinstance(one, Reported)]
        finally:
            port.close()
            await endpoint.close()
        return reports

    played = Played(3)
    played.deal(lambda: played.dealer.shoe.cut_card_out and played.dealer.shoe.stands_by)
    true, found = ([one for one in reports if isinstance(one, CardDrawn)] for reports in (played.reports, over_port()))
    assert len(found) > 300
    assert found == true[: len(found)]
