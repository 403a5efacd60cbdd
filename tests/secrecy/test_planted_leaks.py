"""The searches for hidden cards find every leak that is planted, in every game."""

from __future__ import annotations

from typing import Any

import pytest

from controller.games.game import Method
from simulators.campaign import planted_leaks  # noqa: F401 - it fills the list
from simulators.campaign.planting import planted
from simulators.faulty_firmware import MECHANICAL
from tests.secrecy import plants
from tests.secrecy.plants import Plant
from tests.secrecy.stories import begin, hidden_to_the_end, play_on
from tests.secrecy.table import EVERY, Overheard, SecretTable
from tests.secrecy.test_every_game import other_world
from tests.secrecy.test_requests import WITH_SHOE

GAMES_ONCE = list({name: (name, method) for name, method in EVERY}.values())  # with their last method
every = pytest.mark.parametrize(("name", "method"), GAMES_ONCE)


@every
@pytest.mark.parametrize(
    ("plant", "where"),
    [
        (plants.stored_when_dealt, "journal"),
        (plants.next_card_in_the_view, "view"),
        (plants.hands_on_the_board, "board"),
        (plants.refusal_with_the_card, "EnterCards"),
        (plants.kept_in_the_state, "snapshot"),
        (plants.stub_in_the_collection, "journal"),
    ],
)
def test_a_hidden_card_that_is_named_is_found(
    name: str, method: Method, plant: Plant, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SecretTable(name, method)
    plant(monkeypatch, table)
    begin(table)
    play_on(table, lambda: where in found_in(table))


def found_in(table: SecretTable) -> set[str]:
    """Where hidden cards were named."""
    return {channel.partition(" ")[0] for channel, _, _ in table.leaks}


@every
@pytest.mark.parametrize("plant", [plants.refused_because_it_is_hidden, plants.a_number_in_the_view])
def test_what_depends_on_a_hidden_card_is_found(
    name: str, method: Method, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = other_world(name, method, hidden_to_the_end, lambda table: plant(monkeypatch, table))
    assert first.leaks == []  # nothing is named
    assert any(one != other for one, other in zip(first.said, second.said, strict=False))


@pytest.mark.parametrize("name", WITH_SHOE)
def test_a_shoe_that_names_a_stack_is_found(name: str) -> None:
    kind: Any = type("NamesTheStack", (MECHANICAL["TellsTheStack"].build, Overheard), {})
    table = SecretTable(name, Method.AUTOMATED_SHOE, build=kind)
    hidden_to_the_end(table)
    assert {channel for channel, _, _ in table.leaks} == {"wire"}


@pytest.mark.parametrize("name", WITH_SHOE)
def test_what_a_shoe_says_about_a_hidden_stack_is_not_stored(name: str) -> None:
    kind: Any = type("ShowsAll", (MECHANICAL["ShowsEveryStack"].build, Overheard), {})
    table = SecretTable(name, Method.AUTOMATED_SHOE, build=kind)
    hidden_to_the_end(table)
    assert {channel for channel, _, _ in table.leaks} == {"wire"}


@pytest.mark.parametrize("name", [name for name in WITH_SHOE if not name.startswith("dragon-bacc")])
def test_hands_that_are_asked_for_too_early_are_found(name: str) -> None:
    table = SecretTable(name, Method.AUTOMATED_SHOE)
    with planted("hand_asked_for_early"):
        begin(table)
        play_on(table, lambda: {"wire", "journal"} <= found_in(table))
