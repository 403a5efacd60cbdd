"""A table's set-up: its devices, decks, seats and game. A set-up that the rules do not allow is refused."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from controller.core import ledger
from controller.core.enforcement import enforces
from controller.core.names import is_place, plural, spoken, stored_name
from controller.core.refusal import Refusal
from controller.games import described, rulebook_of
from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.game import Game, Method, game_fault
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import LARGEST_PACK, Capability


class ShufflerKind(msgspec.Struct, frozen=True):
    """What the shuffler can do beyond shuffling."""

    counts: bool = False
    feeds_shoe: bool = False
    reshuffles: bool = False  # without being asked; it must then count too
    recognises: bool = False


class Limits(msgspec.Struct, frozen=True):
    """How long things may take, in milliseconds."""

    shuffle_ms: int = 180_000
    deliver_ms: int = 30_000
    dispense_ms: int = 15_000
    release_ms: int = 15_000
    eject_ms: int = 30_000
    clear_jam_ms: int = 30_000
    self_test_ms: int = 60_000
    grace_ms: int = 10_000  # a link that is back within this time counts as never lost
    change_ahead_ms: int = 900_000  # how long before a deck must be changed this is announced


# The shortest and the longest time that each limit may be set to. Shorter ones would call a healthy device broken,
# longer ones would leave a broken one unnoticed.
RANGES_MS: Final = {
    "shuffle_ms": (10_000, 900_000),
    "deliver_ms": (1_000, 300_000),
    "dispense_ms": (1_000, 120_000),
    "release_ms": (1_000, 120_000),
    "eject_ms": (1_000, 300_000),
    "clear_jam_ms": (1_000, 300_000),
    "self_test_ms": (1_000, 600_000),
    "grace_ms": (1_000, 60_000),
    "change_ahead_ms": (0, 7_200_000),
}


class Setup(msgspec.Struct, frozen=True):
    """How a table is equipped and what is played on it."""

    method: Method = Method.AUTOMATED_SHOE
    backs: tuple[str, ...] = ("red", "blue")  # one colour for each deck
    shuffler: ShufflerKind | None = ShufflerKind(counts=True, feeds_shoe=True)
    hold_dealer: bool = False  # the dealer's stack stays in the shoe until the players have acted
    seats: int = 6
    game: Game = DRAGON_POKER
    limits: Limits = Limits()
    options: dict[str, Any] = {}  # what the house has chosen where the game leaves a choice


def stored(setup: Setup) -> dict[str, Any]:
    """The set-up as the journal has it. What was added later is left out where it has its usual value."""
    found: dict[str, Any] = msgspec.to_builtins(setup, str_keys=True, order="deterministic")
    game = found["game"]
    deals = [deal for programme in game["programme"].values() for deal in programme]
    for part, names in ((found, ("options",)), (game, _ADDED_TO_GAMES), *((deal, ("face_up",)) for deal in deals)):
        for name in names:
            if not part[name] or part[name] == _USUAL.get(name):
                del part[name]
    return found


_ADDED_TO_GAMES: Final = ("keeps_dealing", "draws", "fewest_seats", "has_button", "most_hands", "burnt", "packed")
_USUAL: Final = {"fewest_seats": 1, "packed": 1}


class SetupFault(Refusal, frozen=True):
    """Why a set-up is not allowed."""

    key: str = ""  # in the configuration


@enforces(Rule.SEATS)
def _seats(setup: Setup) -> SetupFault | None:
    fewest, most = setup.game.fewest_seats, setup.game.most_seats
    if fewest <= setup.seats <= most:
        return None
    return SetupFault(
        f"the table has {plural(setup.seats, 'player position')}; {setup.game.name} has {fewest} to {most}",
        f"{fewest} to {most} positions are set up",
        (Rule.SEATS,),
        key="table.seats",
    )


@enforces(Rule.DECK_COMPOSITION)
def _game(setup: Setup) -> SetupFault | None:
    fault = game_fault(setup.game)
    if fault:
        return SetupFault(fault, "the composition of the deck is correct", (Rule.DECK_COMPOSITION,), key="table.game")
    if setup.game.deck_size > LARGEST_PACK:
        reason = f"a deck would have {setup.game.deck_size} cards, more than a device can report"
        when = f"it has at most {LARGEST_PACK}"
        return SetupFault(reason, when, (Rule.DECK_COMPOSITION,), key="table.options")
    taken = [hand for hand in setup.game.hands() if hand != ledger.DEALER and is_place(hand)]
    if taken:
        reason = f"no hand of {setup.game.name} can be called {taken[0]!r}: that is another place at the table"
        return SetupFault(reason, "it has another name", (Rule.DECK_COMPOSITION,), key="table.game")
    if setup.method in setup.game.programme and setup.game.most_cards(setup.method, setup.seats) > setup.game.deck_size:
        most = setup.game.most_cards(setup.method, setup.seats)
        reason = f"a full table needs {most} cards, more than the {setup.game.deck_size} of a deck"
        return SetupFault(reason, "fewer positions are set up", (Rule.SEATS,), key="table.seats")
    return None


DEALT_HOW: Final = {
    Method.AUTOMATED_SHOE: "from an automated shoe",
    Method.MANUAL_SHOE: "from a manual shoe",
    Method.HAND: "by hand",
}


@enforces(Rule.DEAL_STACKS)
def no_such_method(game: Game, method: Method) -> Refusal | None:
    """Refuse a dealing method that the game does not have."""
    if method in game.programme:
        return None
    known = " or ".join(spoken(one) for one in game.programme)
    return Refusal(
        f"{game.name} is not dealt {DEALT_HOW[method]}", f"the dealing method is {known}", (Rule.DEAL_STACKS,)
    )


def _method(setup: Setup) -> SetupFault | None:
    found = no_such_method(setup.game, setup.method)
    return SetupFault(found.reason, found.possible_when, found.rules, key="table.method") if found else None


@enforces(Rule.TWO_DECKS)
def _two_decks(setup: Setup) -> SetupFault | None:
    needs_shuffler = Rule.TWO_DECKS in rulebook_of(setup.game).rules
    if len(setup.backs) == 1 or (len(setup.backs) == 2 and (setup.shuffler or not needs_shuffler)):
        return None
    if len(setup.backs) != 2:
        reason = f"{len(setup.backs)} decks are set up"
        return SetupFault(reason, "one or two decks are set up", (Rule.TWO_DECKS,), key="table.backs")
    return SetupFault(
        "two decks are set up without an automated shuffler",
        "a shuffler or only one deck is set up",
        (Rule.TWO_DECKS,),
        key="table.backs",
    )


@enforces(Rule.BACKS_DIFFER)
def _backs(setup: Setup) -> SetupFault | None:
    backs = {stored_name(back) for back in setup.backs}
    if len(backs) == len(setup.backs) and all(backs):
        return None
    reason = "the two decks have backs of the same colour"
    return SetupFault(reason, "the backs differ", (Rule.BACKS_DIFFER,), key="table.backs")


@enforces(Rule.HAND_NEEDS_SHUFFLER, Rule.DEALING)
def _hand(setup: Setup) -> SetupFault | None:
    if (
        setup.method is not Method.HAND
        or setup.shuffler
        or Rule.HAND_NEEDS_SHUFFLER not in rulebook_of(setup.game).rules
    ):
        return None
    reason = "dealing from the hand requires a shuffler"
    return SetupFault(reason, "a shuffler is set up", (Rule.HAND_NEEDS_SHUFFLER,), key="table.method")


@enforces(Rule.FEED_SHOE)
def _feeding(setup: Setup) -> SetupFault | None:
    if setup.method is not Method.HAND or not (setup.shuffler and setup.shuffler.feeds_shoe):
        return None
    return SetupFault(
        "the shuffler feeds a shoe, but dealing from the hand uses none",
        "a shoe is used",
        (Rule.FEED_SHOE, Rule.DEALING),
        key="shuffler.feeds_shoe",
    )


@enforces(Rule.SELF_RESHUFFLING)
def _self_reshuffling(setup: Setup) -> SetupFault | None:
    if not setup.shuffler or setup.shuffler.counts or not (setup.shuffler.reshuffles or setup.shuffler.recognises):
        return None
    return SetupFault(
        "a device that reshuffles or recognises cards must also count them",
        "the device counts them",
        (Rule.SELF_RESHUFFLING,),
        key="shuffler.counts",
    )


@enforces(Rule.DEALER_STACK)
def _holding(setup: Setup) -> SetupFault | None:
    if not setup.hold_dealer:
        return None
    key, rules = "table.hold_dealer", (Rule.DEALER_STACK,)
    if not any(deal.last for deals in setup.game.programme.values() for deal in deals):
        return SetupFault(f"{setup.game.name} has no stack of the dealer's", "no stack is held", rules, key=key)
    if setup.method is Method.AUTOMATED_SHOE:
        return None
    return SetupFault("only an automated shoe can hold the dealer's stack", "an automated shoe is used", rules, key=key)


def _options(setup: Setup) -> SetupFault | None:
    game = described(setup.game)
    unknown = [name for name in setup.options if name not in game.options]
    if unknown:
        reason, known = f"{setup.game.name} has no option {unknown[0]}", ", ".join(game.options) or "none"
        return SetupFault(reason, f"the options are {known}", key=f"table.options.{unknown[0]}")
    fault = game.fault_of(setup.options)
    reason, clause = rulebook_of(setup.game).split(fault)
    rules = (clause,) if clause else ()
    return SetupFault(reason, "", rules, key="table.options") if fault else None  # the reason says what to enter


def _limits(setup: Setup) -> SetupFault | None:
    for name, (least, most) in RANGES_MS.items():
        found = getattr(setup.limits, name)
        if not least <= found <= most:
            when = f"it is from {least} to {most} (milliseconds)"
            return SetupFault(f"limits.{name} is {found}", when, key=f"table.limits.{name}")
    return None


_CHECKS = (_options, _seats, _game, _method, _two_decks, _backs, _hand, _feeding, _self_reshuffling, _holding, _limits)


def setup_fault(setup: Setup) -> SetupFault | None:
    """The first thing about this set-up that is not allowed, with its clauses; None if there is nothing."""
    found = next((fault for check in _CHECKS if (fault := check(setup))), None)
    if found is None:
        return None
    return msgspec.structs.replace(found, rules=rulebook_of(setup.game).cite(found.rules, setup.method))


def devices_of(setup: Setup) -> tuple[str, ...]:
    """The devices that this set-up uses."""
    shoe = ("shoe",) if setup.method is Method.AUTOMATED_SHOE else ()
    return (("shuffler",) if setup.shuffler else ()) + shoe


@enforces(Rule.ONE_STACK, Rule.FEED_SHOE, Rule.SELF_RESHUFFLING)
def missing_capabilities(setup: Setup, device: str, capabilities: list[int]) -> list[str]:
    """How the capabilities of a device differ from what the set-up requires; empty if they match."""
    kind = setup.shuffler or ShufflerKind()
    if device == "shoe":
        wanted = {Capability.HOLDS_STACK: setup.hold_dealer}
    else:
        wanted = {
            Capability.COUNTS: kind.counts,
            Capability.RESHUFFLES: kind.reshuffles,
            Capability.RECOGNISES: kind.recognises,
            Capability.FEEDS_SHOE: kind.feeds_shoe,
        }
    found = [c.name.lower() for c, needed in wanted.items() if needed and c not in capabilities]
    if device == "shuffler" and not kind.feeds_shoe and Capability.FEEDS_SHOE in capabilities:
        found.append("delivery to the dealer")  # it would put the deck into the shoe instead
    return found
