"""Luck: what one seed decides, namely how a table is set up and which mishaps occur there, when, and to what.

A campaign is a series of shifts. A shift is one table, newly opened and played for a number of rounds; its bad luck is
a list that is drawn before the first card is dealt. So a shift can be repeated with any part of that list.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

import msgspec

from controller.core.setup import Setup
from controller.games.game import Method
from simulators.campaign.games import campaign_game, first_game
from simulators.campaign.games.model import CampaignGame
from simulators.devices.faults import OF_THE_MECHANICS, FaultName

DEFAULT_RATE: Final = 0.5  # mishaps in each round, on average

# A mishap of a device is named after its fault: `jam`, `power_loss` and so on.
OF_DEVICES: Final = tuple(str(fault) for fault in FaultName)
OF_WIRES: Final = ("wire_loss", "wire_flips", "wire_delay", "wire_repeats")
OF_THE_HOST: Final = ("host_dies", "host_dies_before_commit", "host_dies_after_commit", "host_dies_after_send")
OF_THE_DISK: Final = ("disk_full", "disk_error", "disk_lies")  # `lies`: written, and a failure reported
OF_THE_CLOCK: Final = ("clock_jumps", "clock_late")  # the wall clock; a report that comes with an earlier time
OF_PEOPLE: Final = (
    "wrong_button",  # any action, by anybody
    "wrong_deck",  # a deck goes where it does not belong
    "missed_step",  # done, and not reported
    "pressed_twice",
    "two_at_once",
    "hasty_hand",  # cards are taken before they are all out
    "open_door",
    "dropped_card",
    "short_cut",  # the cover card goes in too near the top, or not at all
    "early_clear",  # a dealer clears every warning
    "ignored_warning",  # people go on and leave it for a while
    "long_pause",
)
_USUAL: Final = (*OF_DEVICES, *OF_WIRES, *OF_THE_HOST, *OF_THE_DISK, *OF_THE_CLOCK, *OF_PEOPLE)
TAMPERED: Final = (  # simulators/campaign/tampering.py
    "deck_swapped",  # the deck in the shoe is taken out; it comes back in another order, or another deck does, or none
    "deck_from_hand",  # the deck that is to be dealt goes into the shuffler
    "recut",  # another cut is ordered, then the shoe restarts or jams, or loses a card
    "other_device",  # the device is replaced with one that was used with another journal
    "lesser_device",  # the device is replaced with one that lacks a capability
    "fails_with_memory",  # a part fails in a device that keeps its memory
    "shoe_covered",  # a shoe that works is taken out of service
    "counts_disagree",  # the shuffler reports two counts
    "counted_at_infeed",  # the shuffler reports the count before the shuffle
    "kinds_missing",  # a recognising shuffler reports a count alone
    "counts_unasked",  # a shuffler that should not count does, and has lost a card
    "clock_corrected",  # the wall clock runs ahead, and is right after the computer was off
    "typo",  # a wrong number is entered after a count, and corrected
    "idled",  # the players leave after they have wagered
)
KINDS: Final = (*_USUAL, *TAMPERED)
GROUPS: Final = {
    "devices": OF_DEVICES,
    "wires": OF_WIRES,
    "host": OF_THE_HOST,
    "disk": OF_THE_DISK,
    "clock": OF_THE_CLOCK,
    "people": OF_PEOPLE,
    "tampering": TAMPERED,
}
OWN_WEIGHT: Final = 4.0  # a mishap of the game itself comes more often than each of the others
_RARE: Final = {"dead": 0.15, "long_pause": 0.3}  # they cost the rest of a shift, or much virtual time
_WEIGHTS: Final = [_RARE.get(kind, 1.0) for kind in _USUAL]
_ALONE_EVERY: Final = 3  # every third shift has one kind of mishap only
_TAMPERED_EVERY: Final = 12  # and every fourth of the others has tampering alone
_TAMPERED_SHARE: Final = len(TAMPERED) / len(_USUAL)


@dataclass(frozen=True, slots=True)
class Mishap:
    """One thing that goes wrong, `after_s` seconds into a round."""

    number: int  # in its shift, from 1: what `--only` names
    kind: str
    round: int  # of the shift, from 0
    after_s: float
    device: str
    after_cards: int
    for_s: float
    salt: int  # seed of whatever is still undecided when it occurs

    def __str__(self) -> str:
        where = f" of the {self.device}" if self.kind in OF_DEVICES or self.kind in OF_WIRES else ""
        return f"{self.number}: {self.kind}{where} in round {self.round + 1}, {self.after_s:.1f} s after its start"


@dataclass(frozen=True, slots=True)
class Shift:
    """One table and its mishaps."""

    game: str
    seed: int
    number: int
    rate: float
    rounds: int
    setup: Setup
    seats: tuple[int, ...]
    mishaps: tuple[Mishap, ...]


def draw(
    seed: int,
    number: int,
    rate: float = DEFAULT_RATE,
    rounds: int | None = None,
    *,
    game: str = "",
    setup: Setup | None = None,
    kinds: tuple[str, ...] = (),
) -> Shift:
    """Draw one shift of a game; without its name, of the first. Fewer `rounds` cut it short and change nothing before.

    With `setup` and `kinds` the table is this one, and nothing else goes wrong.
    """
    game = game or first_game()
    played = campaign_game(game)
    source = f"{seed}/{number}" if game == first_game() else f"{seed}/{number}/{game}"
    rng = random.Random(source)
    drawn = rng.choice(played.setups)
    if rng.random() < 0.3 and played.short_life:
        lives = dict.fromkeys(Method, 1)
        drawn = msgspec.structs.replace(drawn, game=msgspec.structs.replace(drawn.game, life_h=lives))
    usual, weights = (*_USUAL, *played.mishaps), [*_WEIGHTS, *(OWN_WEIGHT for _ in played.mishaps)]
    alone = usual[number // _ALONE_EVERY % len(usual)] if number % _ALONE_EVERY == 0 else None
    tampered = TAMPERED[number // _TAMPERED_EVERY % len(TAMPERED)] if number % _TAMPERED_EVERY == 1 else None
    if kinds:
        alone = tampered = None
    if tampered is not None and tampered in played.suited:
        drawn = rng.choice(played.suited[tampered])
    setup = setup or drawn
    mishaps: list[Mishap] = []
    for at in range(played.shift_rounds):
        for _ in range(_how_many(rate, rng)):
            kind = rng.choice(kinds) if kinds else rng.choices(usual, weights)[0]
            mishaps.append(_mishap(len(mishaps) + 1, alone or kind, at, rng, played.round_s))
    if tampered:
        mishaps = []
    if not kinds and not alone:
        own_luck = random.Random(f"{source}/tampering")
        mishaps += _tampering(len(mishaps), rate, tampered, own_luck, played)
    seats = tuple(sorted(rng.sample(range(1, setup.seats + 1), min(setup.seats, rng.choice(played.seats)))))
    most = played.shift_rounds
    return Shift(game, seed, number, rate, min(rounds or most, most), setup, seats, tuple(mishaps))


def _tampering(after: int, rate: float, alone: str | None, rng: random.Random, played: CampaignGame) -> list[Mishap]:
    """The mishaps of tampering, numbered after the others. They have their own luck: the others do not change."""
    mishaps: list[Mishap] = []
    for at in range(played.shift_rounds):
        for _ in range(_how_many(rate if alone else rate * _TAMPERED_SHARE, rng)):
            kind = alone or rng.choice(TAMPERED)
            mishaps.append(_mishap(after + len(mishaps) + 1, kind, at, rng, played.round_s))
    return mishaps


def _how_many(rate: float, rng: random.Random) -> int:
    """A whole number that is `rate` on average; sometimes twice as many, since faults also come together."""
    whole, part = divmod(rate, 1)
    number = int(whole) + (rng.random() < part)
    return number * 2 if number and rng.random() < 0.25 else 0 if number and rng.random() < 1 / 3 else number


def _mishap(number: int, kind: str, at: int, rng: random.Random, round_s: float) -> Mishap:
    mechanical = kind in {str(fault) for fault in OF_THE_MECHANICS}
    return Mishap(
        number,
        kind,
        at,
        round(rng.uniform(0.0, round_s), 3),
        rng.choice(("shuffler", "shoe")),
        rng.choice((0, 1, 2, 5, 11, 50)) if mechanical else 0,
        round(rng.choice((0.05, 1.0, 6.0, 20.0)) * rng.uniform(0.2, 1.8), 3),
        rng.randrange(2**32),
    )
