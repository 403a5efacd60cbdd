"""`shoectl odds` for people and for programs, and the games that verbs take."""

from __future__ import annotations

import json

import pytest

from tests.support.shoectl import complaint, shoectl


def test_programs_get_every_line_with_exact_numbers() -> None:
    found = json.loads(shoectl("odds", "dragon-poker", "--json").stdout)
    assert found["game"] == "dragon-poker"
    assert [(bet["bet"], bet["paytable"]) for bet in found["bets"]] == [
        ("ante, ante bonus and play", "A"),
        ("ante, ante bonus and play", "B"),
        ("three card bonus", "A"),
        ("three card bonus", "B"),
        ("dragon wager", "A"),
    ]
    for bet in found["bets"]:
        assert {line["of"] for line in bet["lines"]} == {sum(line["ways"] for line in bet["lines"])}
        assert bet["edge"] == pytest.approx(-sum(line["p"] * line["pays"] for line in bet["lines"]))


def test_people_read_the_edge_and_the_chance_of_every_outcome() -> None:
    text = shoectl("odds", "dragon-poker").stdout
    assert "dragon wager, paytable A: the house keeps 14.3985% of the wager" in text
    assert "three red dragons                   +1000  0.004269%   1 of 23,426" in text


def test_a_session_adds_the_dragon_bets_with_whole_numbers_of_any_length() -> None:
    without = json.loads(shoectl("odds", "dragon-baccarat-tournament", "--decks", "6", "--json").stdout)
    with_it = json.loads(
        shoectl("odds", "dragon-baccarat-tournament", "--decks", "6", "--session", "9", "--json").stdout
    )
    added = with_it["bets"][len(without["bets"]) :]
    assert [bet["bet"] for bet in added] == [f"{side} dragon, 9 rounds" for side in ("player", "banker", "any")]
    of = without["bets"][0]["lines"][0]["of"]
    assert {line["of"] for bet in added for line in bet["lines"]} == {of**9}
    assert "see --json" in shoectl("odds", "dragon-baccarat-tournament", "--session", "9").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["whist"], "'whist' is not one of 'dragon-poker', 'dragon-baccarat-tournament'"),
        (["dragon-poker", "--decks", "8"], "--decks does not apply to dragon-poker"),
        (["dragon-baccarat-tournament", "--decks", "3"], "3 decks: the game is played with 4 to 10 (2.1)"),
        (["dragon-baccarat-tournament", "--session", "999"], "a session of 999 rounds: enter 1 to 200"),
        (["dragon-poker-chinese-deck", "--players", "5"], "the game is played by 2 to 4 players, not 5"),
        (["dragon-baccarat-tournament", "--decks", "many"], "'many' is not a valid integer"),
    ],
)
def test_a_wrong_word_is_explained(words: list[str], expected: str) -> None:
    assert expected in complaint(shoectl("odds", *words), 2)


def test_the_rules_of_a_game_are_listed_by_its_name() -> None:
    assert shoectl("rules", "--game", "dragon-poker", "--json").stdout == shoectl("rules", "--json").stdout
    assert "'whist' is not one of 'dragon-poker'" in complaint(shoectl("rules", "--game", "whist"), 2)
