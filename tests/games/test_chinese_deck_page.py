"""The example in docs/games/dragon-poker-chinese-deck.md is a configuration that can be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.daemon.config import ConfigError, parse_config
from controller.games.chinese_deck.pack import EXAMPLE_PACK

PAGE = Path(__file__).parents[2] / "docs" / "games" / "dragon-poker-chinese-deck.md"
EXAMPLE = PAGE.read_text().partition("```toml\n")[2].partition("```")[0]


def test_a_table_opens_with_the_example_of_the_page() -> None:
    config = parse_config(EXAMPLE, "example")
    assert config.table.options["pack"] == EXAMPLE_PACK
    assert config.setup().game.deck_size == 52


def test_without_the_pack_the_key_and_the_page_are_named() -> None:
    with pytest.raises(ConfigError) as found:
        parse_config(EXAMPLE.partition("[table.options.pack]")[0], "example")
    assert "[table.options.pack]" in str(found.value)
    assert PAGE.name in str(found.value)
