"""Every word of the scenario language does what docs/scenarios.md says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firmware_bridge.wire.messages import CardsPresent, EventMessage, Place
from simulators.devices.cards import CardPlace, Spot
from simulators.shoesim import cli
from simulators.table.people import People
from simulators.table.scenario import play, read_scenario
from simulators.table.scenario_house import ScenarioHouse
from simulators.table.scenario_steps import carry_out

OPEN = '[[step]]\nroutine = "open"\n'
DEALT = OPEN + '[[step]]\nroutine = "round"\nseats = [1, 3]\nto = "dealing.completed"\n'
SHOE, RACK, FLOOR = Spot(CardPlace.SHOE), Spot(CardPlace.RACK), Spot(CardPlace.FLOOR)
SPARES = 8  # one for each deck in the cupboard


def problems(text: str) -> list[str]:
    return play(read_scenario(f'title = "x"\n{text}')).problems


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[[str], ScenarioHouse]]:
    """Plays the steps of a scenario and leaves the house as it is then."""
    houses: list[ScenarioHouse] = []

    def played(text: str) -> ScenarioHouse:
        scenario = read_scenario(f'title = "x"\n{text}')
        house = ScenarioHouse(tmp_path / f"journal-{len(houses)}.db", scenario)
        houses.append(house)
        people = People(house)
        assert [problem for step in scenario.step if (problem := carry_out(house, people, step))] == []
        return house

    yield played
    for house in houses:
        house.close()


Stage = Callable[[str], ScenarioHouse]


def kinds(house: ScenarioHouse) -> list[str]:
    return [event.kind for event in house.events]


# --- what is expected -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "times"),
    [
        ('event = "round.started", data = { seats = [1, 3] }', 1),
        ('event = "round.started", data = { seats = [1] }', 0),
        ('event = "round.started", data = { seats = [3, 1] }', 0),
        ('event = "stack.taken", data = { moves = [["exit", "seat1", 3]] }', 1),
        ('event = "stack.taken", data = { moves = [["exit", "seat1", 2]] }', 0),
        ('event = "command.given", data = { device = "shoe", command = { name = "Dispense", cards = 3 } }', 3),
        ('event = "command.given", data = { device = "shoe", command = { name = "Dispense", cards = 4 } }', 0),
        ('event = "device.refused", data = { told = 0 }', 0),
        ('event = "device.lost", data = { device = "shoe", detail = "unplugged" }', 0),
    ],
)
def test_data_matches_lists_groups_and_defaults(data: str, times: int) -> None:
    assert problems(f"see = [{{ {data}, times = {times} }}]\n{DEALT}") == []


def test_a_field_that_has_its_default_value_matches_it() -> None:
    assert problems(f'see = [{{ event = "cards.presented", data = {{ late = false }}, times = 1 }}]\n{DEALT}'
                    '[[step]]\nroutine = "work"\n') == []  # fmt: skip


def test_events_are_expected_in_an_order() -> None:
    right = ["bets.closed", "round.started", "stack.taken", "stack.taken", "dealing.completed"]

    def order(kinds: list[str]) -> str:
        return "order = [" + ", ".join(f'{{ event = "{kind}" }}' for kind in kinds) + f"]\n{DEALT}"

    assert problems(order(right)) == []
    assert problems(order(right[::-1])) == ["order 2: stack.taken should be seen after dealing.completed, and was not"]
    assert problems(order(["round.voided"])) == ["order 1: round.voided should be seen, and was not"]


def test_events_are_counted_after_or_before_others() -> None:
    taken = 'event = "stack.taken", data = { target = "seat1" }'
    assert problems(f'see = [{{ {taken}, after = "round.started", times = 1 }}]\n{DEALT}') == []
    assert problems(f'see = [{{ {taken}, before = "round.started", times = 0 }}]\n{DEALT}') == []
    assert problems(f'see = [{{ {taken}, after = "dealing.completed" }}]\n{DEALT}') == [
        "stack.taken should be seen at least once after dealing.completed, and was seen 0 times"
    ]
    assert problems(f'see = [{{ {taken}, times = 0, after = "round.voided" }}]\n{DEALT}') == [
        "stack.taken should be seen after round.voided, which was not seen"
    ]


STATE = """
table = "acting"
warnings = []
decks = { red-1 = "in_play", blue-1 = "shuffling" }
ledger = { red-1 = { shoe = 44, seat1 = 3, seat3 = 3, dealer = 3 } }
devices = { shoe = "ready" }
"""


def test_the_state_at_the_end_is_checked() -> None:
    house = f"{DEALT}[end]\n{STATE}"
    assert problems(house.replace('devices = { shoe = "ready" }', "")) == []
    wrong = house.replace("shoe = 44", "shoe = 43").replace('"in_play"', '"retired"').replace('"ready"', '"jammed"')
    found = problems(wrong + 'headline = "Go home"\n')
    assert [problem.split(",")[0] for problem in found] == [
        "at the end deck red-1 should be retired",
        "at the end the ledger of deck red-1 should be shoe 43",
        "at the end the shoe should be jammed",
        "at the end the headline should contain 'Go home'",
    ]


def test_the_state_is_checked_between_steps_too() -> None:
    text = OPEN + '[[step]]\ncheck = { table = "%s", decks = { red-1 = "loaded" } }\n' + '[[step]]\nroutine = "round"\n'
    assert problems(text % "betting") == []
    assert problems(text % "dealing")[0].startswith(
        "step 2: the table should be dealing, and is betting; the table says"
    )


def test_a_headline_may_be_given_in_part(stage: Stage) -> None:
    headline = stage(OPEN).headline()
    assert problems(f'{OPEN}[end]\nheadline = "{headline[2:-2]}"\n') == []


# --- hands ----------------------------------------------------------------------------------------------------------


def spied(house: ScenarioHouse, device: str) -> list[tuple[Place, bool]]:
    """What a device reports from now on about cards that are put in or taken out."""
    reports: list[tuple[Place, bool]] = []
    mechanics = house.wired[device].device.mechanics
    report = mechanics.report

    def spy(what: type[EventMessage], **fields: Any) -> None:
        if what is CardsPresent:
            reports.append((fields["place"], fields["present"]))
        report(what, **fields)

    mechanics.report = spy
    return reports


def go_on(house: ScenarioHouse, text: str) -> list[str]:
    people = People(house)
    steps = read_scenario(f'title = "x"\n{text}').step
    return [problem for step in steps if (problem := carry_out(house, people, step))]


def test_a_deck_is_taken_out_of_the_shoe_and_the_shoe_notices(stage: Stage) -> None:
    house = stage(OPEN)
    reports = spied(house, "shoe")
    assert go_on(house, '[[step]]\nmove = "shoe"\nto = "rack"\ncards = 50\n') == []
    assert reports == []  # there are cards in it still
    assert go_on(house, '[[step]]\nmove = "shoe"\nto = "rack"\n') == []
    assert reports == [(Place.SHOE, False)]
    assert [house.cards.count(spot) for spot in (SHOE, RACK)] == [0, 53]
    assert go_on(house, '[[step]]\nmove = "rack"\nto = "shoe"\n') == []
    assert reports == [(Place.SHOE, False), (Place.SHOE, True)]


def test_a_hand_goes_to_the_rack_and_a_card_falls_to_the_floor(stage: Stage) -> None:
    house = stage(DEALT + '[[step]]\nmove = "seat1"\nto = "floor"\ncards = 1\n[[step]]\nmove = "seat1"\nto = "rack"\n')
    assert [house.cards.count(spot) for spot in (RACK, FLOOR, Spot(CardPlace.HAND, 1))] == [2, SPARES + 1, 0]
    assert go_on(house, '[[step]]\nmove = "floor"\nto = "table"\ncards = 1\n') == []
    assert house.cards.count(Spot(CardPlace.TABLE, 0)) == 1, "to the pile of its own deck"
    assert go_on(house, '[[step]]\nmove = "seat1"\nto = "rack"\n') == ["no such cards were at seat1"]
    assert go_on(house, '[[step]]\nmove = "seat3"\nto = "rack"\ncards = 9\n') == [
        "3 cards were moved from seat3 to rack, and should have been 9"
    ]


@pytest.mark.parametrize("place", ["infeed", "shelves", "output", "tray", "shoe", "held", "exit", "manual_shoe", "hand",
                                   "seat2", "dealer", "rack", "floor"])  # fmt: skip
def test_cards_are_moved_to_every_place_and_back(stage: Stage, place: str) -> None:
    there = f'[[step]]\nmove = "table"\nto = "{place}"\ndeck = "red-2"\ncards = 5\n'
    back = f'[[step]]\nmove = "{place}"\nto = "table"\ndeck = "red-2"\ncards = 5\n'
    house = stage('[[step]]\ndo = "configure"\n' + there)
    assert house.cards.count(Spot(CardPlace.TABLE, 2)) == 48
    assert go_on(house, back) == []
    assert house.cards.count(Spot(CardPlace.TABLE, 2)) == 53
    house.cards.check()


def test_only_the_cards_of_one_deck_are_moved(stage: Stage) -> None:
    house = stage(OPEN + '[[step]]\nmove = "table"\nto = "rack"\ndeck = "red-2"\n')
    assert {card.deck for card in house.cards.pile(RACK)} == {"red-2"}
    assert house.cards.count(RACK) == 53


def test_the_deck_in_the_shoe_is_swapped_for_another(stage: Stage) -> None:
    house = stage(OPEN)
    before = house.cards.pile(SHOE)
    reports = spied(house, "shoe")
    assert go_on(house, '[[step]]\nswap = "shoe"\ndeck = "red-2"\n') == []
    assert reports == [(Place.SHOE, False), (Place.SHOE, True)]
    assert {card.deck for card in house.cards.pile(SHOE)} == {"red-2"}
    assert house.cards.pile(Spot(CardPlace.TABLE, 0)) == before, "in the order in which it was"
    house.cards.check()


def test_a_load_of_a_deck_that_lies_elsewhere_is_a_problem() -> None:
    text = '[[step]]\nload = "shuffler"\ndeck = "red-1"\n'
    (problem,) = problems(f"{OPEN}{text.replace('red-1', 'red-1')}")
    assert problem.startswith("step 2: no cards of deck red-1 are on its pile")


# --- devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ('lacks = ["counts"]', "it lacks what this table needs"),
        ("other_journal = true", "from another journal"),
    ],
)
def test_a_device_is_replaced_by_one_that_cannot_be_used_here(stage: Stage, keys: str, reason: str) -> None:
    house = stage(OPEN + f'[[step]]\nreplace = "shuffler"\n{keys}\n[[step]]\nwait_s = 5\n')
    (refused,) = [event for event in house.events if event.kind == "device.refused"]
    assert reason in refused.data["reason"]


def test_a_device_is_replaced_by_another_of_the_same_kind(stage: Stage) -> None:
    house = stage(OPEN)
    box = house.wired["shoe"].device
    serials = [box.plate.serial]
    for serial in ("", "", 'serial = "X-9"\nhas = ["recognises"]'):
        assert go_on(house, f'[[step]]\nreplace = "shoe"\n{serial}\n') == []
        serials.append(box.plate.serial)
    assert len(set(serials)) == 4
    assert serials[-1] == "X-9"
    assert house.cards.count(SHOE) == 53, "the cards stay inside"
    house.run(lambda: False, 5)
    connected = [event for event in house.events if event.kind == "device.connected"]
    assert connected[-1].data["restarted"]
    house.cards.check()


def test_a_device_is_out_for_a_while_when_it_is_replaced(stage: Stage) -> None:
    house = stage(OPEN + '[[step]]\nreplace = "shoe"\nfor_s = 20\n[[step]]\nwait_s = 15\n')
    assert not house.state.devices["shoe"].online
    house.run(lambda: False, 10)
    assert house.state.devices["shoe"].online


def test_a_device_that_keeps_its_memory_is_the_same_one_after_a_loss_of_power() -> None:
    fault = '[[step]]\nfault = "power_loss"\ndevice = "shoe"\nfor_s = 2\n[[step]]\nwait_s = 10\n'
    again = 'see = [{ event = "device.powered_up", times = %d }]\n'
    assert problems(again % 0 + OPEN + fault) == []
    assert problems(again % 1 + 'devices = { shoe = { has = ["keeps_memory"] } }\n' + OPEN + fault) == []


def test_a_shoe_that_does_not_count_plays_a_round(stage: Stage) -> None:
    house = stage('devices = { shoe = { lacks = ["counts"] } }\n' + OPEN + '[[step]]\nroutine = "round"\n')
    (stub,) = [event for event in house.events if event.kind == "stub.removed"]
    assert stub.data["cards"] == -1


# --- time and the host ----------------------------------------------------------------------------------------------


def test_the_host_is_down_for_a_while_and_the_devices_go_on(stage: Stage) -> None:
    house = stage(OPEN + "[[step]]\nhost_dies = true\nfor_s = 300\n")
    (_, started) = [event for event in house.events if event.kind == "host.started"]
    assert 300_000 <= started.data["away_ms"] < 310_000
    assert house.wired["shuffler"].device.mechanics.doing is None, "the shuffle that was going on has ended"
    assert go_on(house, '[[step]]\nroutine = "work"\n[[step]]\nroutine = "round"\n') == []


def test_the_time_away_is_what_the_wall_clock_says(stage: Stage) -> None:
    house = stage(OPEN + "[[step]]\nclock_s = 3600\n[[step]]\nhost_dies = true\nfor_s = 60\n")
    (_, started) = [event for event in house.events if event.kind == "host.started"]
    assert 3_660_000 <= started.data["away_ms"] < 3_670_000
    assert house.now_ms - house.now * 1000 == pytest.approx(3_600_000, abs=5)
    assert house.state.now_ms == house.now_ms
    assert house.journal.last(1)[0].ts > "2026-01-01T01:"


@pytest.mark.parametrize(("moment", "stored", "sent"), [("unstored", 0, 0), ("stored", 1, 0), ("sent", 1, 1)])
def test_the_host_dies_at_a_moment_of_a_decision(stage: Stage, moment: str, stored: int, sent: int) -> None:
    kill = f'[[step]]\nhost_dies = true\nat = "round.started"\nmoment = "{moment}"\nfor_s = 1\n'
    house = stage(OPEN + kill + '[[step]]\ndo = "close_bets"\nseats = [1, 3]\n')
    assert (house.deaths, house.death) == (1, None)
    assert kinds(house).count("round.started") == stored
    assert (house.cards.count(Spot(CardPlace.EXIT)) > 0) == bool(sent), "the shoe goes on while the host is down"
    again = "" if stored else '[[step]]\nroutine = "round"\nseats = [1, 3]\n'
    assert go_on(house, again + '[[step]]\nroutine = "work"\n') == []
    assert kinds(house).count("round.completed") == 1
    assert "round.voided" not in kinds(house)


def test_a_host_that_should_have_died_and_did_not_is_a_problem() -> None:
    assert problems(OPEN + '[[step]]\nhost_dies = true\nat = "round.voided"\n') == [
        "the host should have died with round.voided, and did not"
    ]
    opened = '[[step]]\nhost_dies = true\nat = "table.opened"\nmoment = "sent"\n'
    assert problems(opened + OPEN) == [
        "the host should have died with table.opened once a command was sent, and did not"
    ]


# --- the story ------------------------------------------------------------------------------------------------------


def test_the_story_is_printed_step_by_step(tmp_path: Path) -> None:
    file = tmp_path / "story.toml"
    file.write_text(f'title = "x"\n{OPEN}[[step]]\nfault = "jam"\ndevice = "shoe"\nafter_cards = 4\n'
                    '[[step]]\nroutine = "round"\nseats = [1, 3]\n')  # fmt: skip
    done = CliRunner().invoke(cli, ["play", "--verbose", str(file)])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    steps = [line for line in lines if line.startswith("step")]
    assert steps == [
        'step 1: routine = "open"',
        'step 2: fault = "jam", device = "shoe", after_cards = 4',
        'step 3: routine = "round", seats = [1, 3]',
    ]
    jam = next(number for number, line in enumerate(lines) if line.endswith("The shoe is jammed. [13.G]"))
    assert lines.index(steps[2]) < jam
    assert lines[jam].startswith("  00:01:")
    assert lines[-1] == f"passed  {file}: x"
    assert CliRunner().invoke(cli, ["play", str(file)]).output == f"passed  {file}: x\n"
