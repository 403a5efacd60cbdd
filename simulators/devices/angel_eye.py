"""A simulated Angel Eye II-EX: it reads the cards that a dealer draws from it, and says whose each of them is.

The shoe works out by itself whose a card is and who has won, as the real one does. Where nothing is public about the
real one, this is chosen here: it begins with "starts to communicate" and "stands by", reports a result a moment after
the last card, sends the copies of a report one after another before the next report, and sends a card as a
retransmission once the error that it had with it is cancelled.

Pure: bytes and time in, bytes out. The cards are physical, and the same ones as everywhere else.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Mapping
from typing import Final

from firmware_bridge.drivers.angel_eye.reports import SUITS
from firmware_bridge.drivers.angel_eye.telegram import (
    Acknowledged,
    BadBytes,
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    TelegramFlaw,
    TelegramReader,
    encode,
)
from simulators.devices.cards import Card, Cards, Spot

FAULTS: Final[Mapping[str, int]] = {  # what happens to the next card, and the error that the shoe reports
    "read_error": 1,
    "button_misuse": 3,
    "reverse_run": 4,
    "pulled_back": 5,
    "bad_card_code": 6,
    "time_out": 7,
}
OVERDRAW: Final = 2
REPORTED_ANYWAY: Final = ("button_misuse", "time_out")  # the card itself has been read
RESULT_AFTER_S: Final = 0.5
REPEAT_AFTER_S: Final = 0.1
_SUIT_NUMBERS: Final = {suit: number for number, suit in SUITS.items()}
_RANKS: Final = ("ace", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king")
_LOCKED, _IN_ERROR = 0, 1  # why a card was drawn outside of a game
_PLAYER, _BANKER, _BURNT, _FIRST = 0b000, 0b001, 0b010, 0b100
_HIGH_BIT: Final = 0x80


class SimulatedAngelEye:
    """One shoe with its cards. Call `take_output` after every other call, and `tick` at `deadline`."""

    def __init__(
        self,
        cards: Cards,
        spot: Spot,
        names: Mapping[int, str],
        *,
        rng: random.Random,
        times: int = 3,
        sequence: str = "0123456789",
        now: float = 0.0,
    ) -> None:
        """`names` has the kinds of cards by name, such as "ace of spades"; each report is sent this many `times`."""
        self.cards = cards
        self.spot = spot
        self.locked = False
        self.error = 0
        self.cut_card_before = -1  # the cut card lies before the last cards, this many; -1 for none
        self.cut_card_out = False
        self.lose = 0.0  # chance that a copy of a report does not arrive
        self.corrupt = 0.0  # chance that one of its bits is flipped
        self.plugged = True
        self.in_session = False  # it knows of none
        self._names = names
        self._rng = rng
        self._times = times
        self._sequence = sequence.encode("ascii")
        self.reports_sent = 0
        self._reader = TelegramReader()
        self._output = bytearray()
        self._agenda: deque[tuple[float, bytes]] = deque()
        self._free_at = now  # when the next report can be sent
        self._faults: list[str] = []
        self._unread: tuple[int, int, int] | None = None  # whose, which, and its byte: sent again after the error
        self._hands: dict[int, list[int]] = {_PLAYER: [], _BANKER: []}  # ranks, from 1
        self._to_burn = 0
        self._result_at = -math.inf  # when the result of the last game is reported; no card may be drawn before
        self._switch_on(now)

    @property
    def stands_by(self) -> bool:
        """Whether no game is on."""
        return not self._to_burn and not self._hands[_PLAYER] and not self.error

    @property
    def burning(self) -> bool:
        """Whether the next card is burnt."""
        return self._to_burn != 0

    # --- the pipe -----------------------------------------------------------------------------------------------------

    def attached(self, now: float) -> None:
        """The host is connected: an RS-232 line does not show it."""
        self.tick(now)

    def detached(self, now: float) -> None:
        """The host is gone: an RS-232 line does not show it."""
        self.tick(now)

    @property
    def deadline(self) -> float:
        """When `tick` must be called."""
        return self._agenda[0][0] if self._agenda else math.inf

    def tick(self, now: float) -> None:
        """Send what is due."""
        while self._agenda and self._agenda[0][0] <= now:
            self._send(self._agenda.popleft()[1])

    def take_output(self) -> bytes:
        """The bytes to the host."""
        data, self._output = bytes(self._output), bytearray()
        return data if self.plugged else b""

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the host."""
        for one in self._reader.feed(data):
            if isinstance(one, BadBytes):
                if one.flaw is not TelegramFlaw.STRAY:
                    code = 0x02 if one.flaw is TelegramFlaw.CHECKSUM else 0x11
                    self._output += encode(NotAcknowledged(code))
            elif isinstance(one, CommandTelegram):
                refused = self._obey(one, now)
                self._output += encode(NotAcknowledged(refused) if refused else Acknowledged())

    def _obey(self, command: CommandTelegram, now: float) -> int:
        """Carry out a command; returns the code with which it is refused, or 0."""
        if command.type == "LK" and command.digits in ("01", "02"):
            self._set_lock(command.digits == "02", now)
        elif command.type == "EC":
            if not self.error or command.digits != f"{self.error:02}":
                return 0xFF
            self.cancel_error(now)
        elif command != CommandTelegram("GP", "00"):
            return 0x11 if command.type in ("LK", "GP") else 0x14
        return 0

    # --- reports ------------------------------------------------------------------------------------------------------

    def _report(self, now: float, code: str, *content: int, after_s: float = 0.0) -> None:
        """Send a report as often as the shoe does, under the next sequence byte."""
        data = code.encode() + bytes(_HIGH_BIT | byte for byte in content)
        wire = encode(ReportTelegram(self._sequence[self.reports_sent % len(self._sequence)], data))
        self.reports_sent += 1
        at = max(now + after_s, self._free_at)
        self._agenda += ((at + number * REPEAT_AFTER_S, wire) for number in range(self._times))
        self._free_at = at + self._times * REPEAT_AFTER_S
        self.tick(now)

    def _send(self, wire: bytes) -> None:
        if self._rng.random() < self.lose:
            return
        if self._rng.random() < self.corrupt:
            at = self._rng.randrange(len(wire))
            wire = bytes((*wire[:at], wire[at] ^ 1 << self._rng.randrange(8), *wire[at + 1 :]))
        self._output += wire

    # --- hands --------------------------------------------------------------------------------------------------------

    def new_shoe(self, cut_card_before: int) -> None:
        """Another pack is in the shoe: its first card says how many more are burnt."""
        self.cut_card_before, self.cut_card_out = cut_card_before, False
        self._hands = {_PLAYER: [], _BANKER: []}
        self._to_burn = -1

    def inject(self, fault: str) -> None:
        """Let something go wrong with the next card."""
        if fault not in FAULTS:
            raise ValueError(f"unknown fault {fault!r}; expected one of {', '.join(FAULTS)}")
        self._faults.append(fault)

    def restart(self, now: float) -> None:
        """Its power goes off and on."""
        self._agenda.clear()
        self._output.clear()
        self._free_at = now
        self.error, self._unread, self.reports_sent = 0, None, 0
        self._hands = {_PLAYER: [], _BANKER: []}
        self._switch_on(now)

    def _switch_on(self, now: float) -> None:
        self._report(now, "S")
        self._report(now, "P")

    def cancel_error(self, now: float) -> None:
        """The error is cancelled, by its button or by a command; the card that it was about is sent again."""
        code, self.error = self.error, 0
        if code:
            self._report(now, "e", code)
        if self._unread is not None:
            to, index, card = self._unread
            self._unread = None
            self._report(now, "R", to << 4 | index, card)
        self._finish_if_over(now)

    def _set_lock(self, locked: bool, now: float) -> None:
        self.locked = locked
        self._report(now, "L", int(locked))

    def draw(self, target: Spot, now: float) -> Card | None:
        """The dealer draws the next card and puts it somewhere; None if the shoe is empty."""
        left = self.cards.count(self.spot)
        if not left:
            return None
        if left == self.cut_card_before:
            self.cut_card_before, self.cut_card_out = -1, True
            self._report(now, "C")
        (card,) = self.cards.move_top(1, self.spot, target)
        rank, suit = self._face(card)
        byte = _SUIT_NUMBERS[suit] << 4 | rank
        if self.error or self.locked:
            self._report(now, "d", (_IN_ERROR if self.error else _LOCKED) << 4, byte)
        elif self._to_burn:
            self._burn(rank, byte, now)
        elif now < self._result_at:
            self._fail(OVERDRAW, now)
        else:
            to = next_hand(self._hands[_PLAYER], self._hands[_BANKER])
            assert to is not None, "a game that is over has no hands"
            self._hands[to].append(rank)
            self._read(to, len(self._hands[to]) - 1, byte, now)
            self._finish_if_over(now)
        return card

    def _face(self, card: Card) -> tuple[int, str]:
        """Rank, from 1, and suit."""
        rank, _, suit = self._names[int(card.kind)].partition(" of ")
        return _RANKS.index(rank) + 1, suit

    def _burn(self, rank: int, byte: int, now: float) -> None:
        if self._to_burn < 0:  # the first card of the shoe says how many
            self._to_burn = min(rank, 10)
            self._report(now, "D", _FIRST << 4, byte)
        else:
            self._to_burn -= 1
            self._report(now, "D", _BURNT << 4, byte)

    def _read(self, to: int, index: int, byte: int, now: float) -> None:
        fault = self._faults.pop(0) if self._faults else ""
        if not fault or fault in REPORTED_ANYWAY:
            self._report(now, "D", to << 4 | index, byte)
        else:
            self._unread = (to, index, byte)
        if fault:
            self._fail(FAULTS[fault], now)

    def _fail(self, code: int, now: float) -> None:
        self.error = code
        self._report(now, "E", 0x40 | code)

    def _finish_if_over(self, now: float) -> None:
        if self.error or next_hand(self._hands[_PLAYER], self._hands[_BANKER]) is not None:
            return
        player, banker = (_points(self._hands[to]) for to in (_PLAYER, _BANKER))
        winner = 0b010 if player == banker else 0b001 if player > banker else 0b100
        pairs = [len(hand) > 1 and hand[0] == hand[1] for hand in self._hands.values()]
        self._report(now, "G", winner << 4 | pairs[0] | pairs[1] << 1, after_s=RESULT_AFTER_S)
        self._report(now, "P", after_s=RESULT_AFTER_S)
        self._result_at = now + RESULT_AFTER_S
        self._hands = {_PLAYER: [], _BANKER: []}


def _points(ranks: list[int]) -> int:
    return sum(min(rank, 10) for rank in ranks) % 10


def next_hand(player: list[int], banker: list[int]) -> int | None:
    """Whose the next card is; None if the game is over."""
    if len(player) + len(banker) < 4:
        return _PLAYER if len(player) == len(banker) else _BANKER
    first, second = _points(player[:2]), _points(banker[:2])
    if max(first, second) >= 8:
        return None
    if len(player) == 2 and first <= 5:
        return _PLAYER
    if len(banker) == 3:
        return None
    if len(player) == 2:
        return _BANKER if second <= 5 else None
    third = min(player[2], 10) % 10
    least = {3: 0, 4: 2, 5: 4, 6: 6}.get(second, 0)
    draws = second <= 2 or (second <= 6 and least <= third <= 7) or (second == 3 and third == 9)
    return _BANKER if draws else None
