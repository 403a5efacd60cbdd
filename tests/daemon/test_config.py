"""The configuration: the example is valid, and errors say where they are, what was found and what is expected."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from controller.core.setup import RANGES_MS, Limits, Setup
from controller.daemon.config import EXAMPLE, Config, ConfigError, parse_config, read_config
from controller.games import DRAGON_POKER, described
from controller.games.game import Method

GOOD = '[shuffler]\nport = "/dev/a"\n[shoe]\nport = "/dev/b"\n'

MISTAKES = [
    ("[shoe\n", ["not valid TOML", "line 1"]),
    (GOOD + 'colour = "red"', ["shoe.colour: unknown key; expected one of port, baud"]),
    (GOOD + '[toaster]\nport = "/dev/x"', ["toaster: unknown key; expected one of name, table, shuffler"]),
    ('[shuffler]\nport = "/dev/a"\n[shoe]\nbaud = 9600', ["shoe.port: missing"]),
    ('[shuffler]\nport = "/dev/a"\n[shoe]\nport = 5', ["shoe.port: found 5; expected str"]),
    (GOOD + 'baud = "fast"', ["shoe.baud: found 'fast'; expected int"]),
    (GOOD + "baud = 0", ["shoe.baud: found 0; expected int >= 50"]),
    (
        '[shuffler]\nport = "COM1"\n[shoe]\nport = "socket://a..b:1"',
        ["shuffler.port: 'COM1' is not a port", "shoe.port: "],
    ),
    ("", ["shoe: missing section; the dealing method automated_shoe needs [shoe] with a port"]),
    (GOOD + "[table]\nseats = 9", ["table.seats: the table has 9 player positions", "(2.A)"]),
    (
        GOOD + '[table]\nmethod = "cannon"',
        ["table.method: found 'cannon'; expected one of 'automated_shoe', 'manual_shoe'"],
    ),
    (GOOD + '[table]\ngame = "whist"', ["table.game: unknown game 'whist'; expected one of dragon-poker"]),
    (GOOD + '[table]\nbacks = ["red", "red"]', ["(3.B(1))"]),
    (GOOD + '[table]\nbacks = ["red", "Red "]', ["(3.B(1))"]),
    (GOOD + '[table]\nbacks = ["red", " "]', ["(3.B(1))"]),
    (
        GOOD + "[table.limits]\ngrace_ms = -1",
        ["table.limits.grace_ms: limits.grace_ms is -1; allowed when it is from 1000 to 60000"],
    ),
    (GOOD + "[table.limits]\nshuffle_ms = 950_400_000", ["limits.shuffle_ms is 950400000"]),
    (
        GOOD + '[table]\nmethod = "manual_shoe"',
        ["shoe: unexpected section; the dealing method manual_shoe uses no automated shoe"],
    ),
    (GOOD + "[table.limits]\ngrace = 5", ["table.limits.grace: unknown key; expected one of shuffle_ms"]),
    (GOOD + '[screen]\nlisten = "0.0.0.0:80"', ["screen.listen: found '0.0.0.0:80'; expected a loopback address"]),
    (GOOD + '[screen]\nlisten = "127.0.0.1"', ["screen.listen"]),
    (
        GOOD + '[journal]\nfile = "/x/a"\n[control]\nsocket = "/x/../x/a"',
        ["control.socket: found '/x/../x/a', which is used for journal.file; expected a file of its own"],
    ),
    (GOOD + '[journal]\nfile = "/x/a"\n[control]\nsocket = "/x/a-wal"', ["which is used for journal.file"]),
    (GOOD + '[control]\nsocket = "/x/a"\n[screen]\npeople = "/x/a"', ["screen.people", "used for control.socket"]),
    (GOOD + '[journal]\nfile = "/x/a"\n[screen]\npeople = "/x/a.index"', ["screen.people", "used for journal.file"]),
    (GOOD + '[journal]\nfile = "/x/a"\n[screen]\ntoken = "/x/a"', ["screen.token", "used for journal.file"]),
    (GOOD + '[screen]\npeople = "/x/a"\ntoken = "/x/a"', ["screen.token", "used for screen.people"]),
    (GOOD + '[journal]\nfile = "table.toml"', ["journal.file", "which is used for this configuration"]),
    (GOOD + '[journal]\nid = "7"', ["journal.id: found '7'; expected the 16 digits that `shoectl journal verify`"]),
    ('name = " "\n' + GOOD, ["name: found ''"]),
    ("[shoe]\nport = 1\n[journal]\nfile = 2\n", ["shoe.port: found 1", "journal.file: found 2"]),  # all at once
]


@pytest.mark.parametrize(("text", "about"), MISTAKES)
def test_a_mistake_is_named(text: str, about: list[str]) -> None:
    with pytest.raises(ConfigError) as wrong:
        parse_config(text, "table.toml")
    lines = str(wrong.value).splitlines()
    assert all(line.startswith("table.toml: ") for line in lines)
    assert all(part in str(wrong.value) for part in about)


def test_the_example_is_good_and_says_the_defaults() -> None:
    config = parse_config(EXAMPLE, "example")
    assert config.setup() == Setup()
    plain = parse_config('[shuffler]\nport = "/dev/shoed/shuffler"\n[shoe]\nport = "/dev/shoed/shoe"\n[screen]\n', "x")
    assert config == plain
    assert config == Config(shuffler=config.shuffler, shoe=config.shoe, screen=config.screen)


def test_the_example_names_all_that_the_house_may_choose_with_its_defaults() -> None:
    chosen = EXAMPLE[EXAMPLE.index("# [table.options]") : EXAMPLE.index("# [table.limits]")]
    uncommented = "".join(line.removeprefix("# ") for line in chosen.splitlines(keepends=True))
    config = parse_config(EXAMPLE.replace(chosen, uncommented), "example")
    assert config.table.options == {**described(DRAGON_POKER).options, "progressive": []}


@pytest.mark.parametrize("name", ["dragon-poker", "dragon_poker"])
def test_a_game_is_named_with_a_hyphen_and_the_spelling_of_the_first_version_still_works(name: str) -> None:
    assert parse_config(GOOD + f'[table]\ngame = "{name}"', "x").setup().game is DRAGON_POKER


@pytest.mark.parametrize("name", [field.name for field in msgspec.structs.fields(Limits)])
def test_every_limit_has_a_range_around_its_default(name: str) -> None:
    least, most = RANGES_MS[name]
    for value, good in (
        (least - 1, False),
        (least, True),
        (getattr(Limits(), name), True),
        (most, True),
        (most + 1, False),
    ):
        text = f"{GOOD}[table.limits]\n{name} = {value}"
        if good:
            assert getattr(parse_config(text, "x").setup().limits, name) == value
        else:
            with pytest.raises(
                ConfigError, match=f"limits.{name} is {value}; allowed when it is from {least} to {most}"
            ):
                parse_config(text, "x")
    assert f"# {name} = {getattr(Limits(), name)} " in EXAMPLE
    assert f"# {least} to {most}" in next(line for line in EXAMPLE.splitlines() if f"# {name} =" in line)


def test_backs_are_stored_in_one_form() -> None:
    assert parse_config(GOOD + '[table]\nbacks = [" Red", "BLUE"]', "x").setup().backs == ("red", "blue")


def test_a_table_dealt_by_hand_needs_no_shoe() -> None:
    text = '[table]\nmethod = "hand"\n[shuffler]\nport = "/dev/a"\nfeeds_shoe = false\n'
    assert parse_config(text, "x").setup().method is Method.HAND


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00"])
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "table.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"table\.toml: not "):
        read_config(tmp_path / "table.toml")


def test_two_names_of_one_file_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "journal.db")
    text = f'{GOOD}[journal]\nfile = "{tmp_path}/journal.db"\n[control]\nsocket = "{tmp_path}/alias"'
    with pytest.raises(ConfigError, match=r"which is used for journal\.file"):
        parse_config(text, "table.toml")
