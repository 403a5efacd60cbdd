"""`shoectl odds`: how often each outcome of a game's bets comes up, and how much the house keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from controller.cli import terminal
from controller.cli.options import GameName, json_option
from controller.games import GAMES
from controller.games.odds import BetOdds, OddsLine, odds_choices

_LONGEST_NUMBER = 20  # digits that are printed; --json has all of them


def _choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """An option for each choice that the odds of some game depend on."""
    texts: dict[str, list[str]] = {}
    kinds: dict[str, type] = {}
    for game, count in ((name, found.odds) for name, found in GAMES.items() if found.odds):
        for choice in odds_choices(count):
            kinds.setdefault(choice.name, type(choice.usual))
            texts.setdefault(choice.name, []).append(f"{game}: {choice.text} ({choice.usual}).")
    for name in reversed(texts):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, type=kinds[name], help=" ".join(texts[name]))(command)
    return command


@click.command("odds")
@click.argument("game", type=GameName())
@_choice_options
@json_option
def odds_verb(game: str, as_json: bool, **chosen: int | str | None) -> None:
    """Print the exact odds of a game's bets.

    Every possible deal is counted, and the player decides as well as possible. The edge is what the
    player loses on average of one unit staked.

    \b
    Examples:
      shoectl odds dragon-poker
      shoectl odds dragon-baccarat-tournament --decks 6 --session 30
    """
    found = _odds(game, {name: value for name, value in chosen.items() if value is not None})
    if as_json:
        # The standard library writes whole numbers of any length: the deals of a session have hundreds of digits.
        click.echo(json.dumps({"game": game, "bets": [_bet_row(bet) for bet in found]}))
        return
    for number, bet in enumerate(found):
        _print_bet(bet, first=number == 0)


def _odds(game: str, options: dict[str, int | str]) -> list[BetOdds]:
    count = GAMES[game].odds
    if count is None:
        raise click.UsageError(f"the description of {game} has no odds")
    for name in options.keys() - {choice.name for choice in odds_choices(count)}:
        raise click.UsageError(f"--{name.replace('_', '-')} does not apply to {game}")
    try:
        return count(**options)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _bet_row(bet: BetOdds) -> dict[str, Any]:
    lines = [
        {"outcome": line.outcome, "ways": line.ways, "of": line.of, "p": float(line.p), "pays": line.pays}
        for line in bet.lines
    ]
    return {"bet": bet.bet, "paytable": bet.paytable, "edge": float(bet.edge), "lines": lines}


def _print_bet(bet: BetOdds, first: bool) -> None:
    if not first:
        terminal.print_line()
    edge = float(bet.edge)
    who = "the house keeps" if edge >= 0 else "the player gains"
    table = f"paytable {bet.paytable}" if bet.paytable.isalpha() else bet.paytable
    terminal.print_line(f"{bet.bet}, {table}: {who} {abs(edge):.4%} of {bet.unit}", bold=True)
    cells = [(line.outcome, _net(line.pays), f"{float(line.p):.6%}", _ways(line)) for line in bet.lines]
    terminal.print_table(("OUTCOME", "NET", "CHANCE", "WAYS"), cells)


def _ways(line: OddsLine) -> str:
    return f"{line.ways:,} of {line.of:,}" if len(str(line.of)) <= _LONGEST_NUMBER else "see --json"


def _net(pays: int) -> str:
    return f"{pays:+d}" if pays else "0"
