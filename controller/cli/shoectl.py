"""`shoectl`: the command for operators and technicians.

This module has the list of verbs, and turns errors into messages and exit codes. The verbs have their own modules.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import click
import structlog

from controller.cli.terminal import print_message

DONE, FAILED, USAGE = 0, 1, 2

# Module and attribute of each verb. A module is loaded when its verb is used, so that completion is fast.
VERBS: dict[str, dict[str, str]] = {
    "The table": {
        "status": "controller.cli.table:status",
        "do": "controller.cli.do:do_verb",
        "flow": "controller.cli.flow:flow_verb",
        "events": "controller.cli.events:events",
        "rounds": "controller.cli.history:rounds_verb",
        "sim": "controller.cli.sim:sim",
    },
    "The devices": {
        "devices": "controller.cli.devices:devices",
        "counters": "controller.cli.devices:counters",
        "frames": "controller.cli.devices:frames",
        "ports": "controller.cli.probe:ports",
        "probe": "controller.cli.probe:probe_verb",
        "monitor": "controller.cli.wire:monitor",
        "capture": "controller.cli.wire:capture",
        "replay": "controller.cli.wire:replay",
        "self-test": "controller.cli.device_tests:self_test_verb",
        "conform": "controller.cli.device_tests:conform_verb",
    },
    "The records": {
        "journal": "controller.cli.journal:journal",
        "round": "controller.cli.history:round_verb",
        "impact": "controller.cli.history:impact_verb",
        "rules": "controller.cli.rules:rules_verb",
        "odds": "controller.cli.odds:odds_verb",
        "diagram": "controller.cli.rules:diagram_verb",
    },
    "This machine": {
        "doctor": "controller.cli.doctor:doctor_verb",
        "bundle": "controller.cli.bundle:bundle_verb",
        "config": "controller.cli.config:config",
        "person": "controller.cli.person:person",
        "screen": "controller.cli.screen:screen_verb",
        "completion": "controller.cli.completion:completion_verb",
        "man": "controller.cli.manual:man_verb",
    },
}


class Shoectl(click.Group):
    """A group that prints every error as one line on standard error, and uses the project's exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, section by section."""
        return [name for section in VERBS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb with this name; its module is loaded if necessary."""
        for section in VERBS.values():
            if cmd_name in section:
                module, _, attribute = section[cmd_name].partition(":")
                found: click.Command = getattr(importlib.import_module(module), attribute)
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was named; if there is none, the error suggests the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:  # click knows only the verbs that are loaded
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=self.list_commands(ctx), ctx=ctx
            ) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs and their summaries, section by section."""
        width = max(map(len, self.list_commands(ctx)))
        for title, section in VERBS.items():
            rows = [
                (name.ljust(width), _short(self.get_command(ctx, name), formatter.width - width - 6))
                for name in section
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run the command and exit."""
        extra |= {"prog_name": "shoectl", "standalone_mode": False}
        sys.exit(_run(partial(super().main, args, **extra)))


def _short(verb: click.Command | None, width: int) -> str:
    return verb.get_short_help_str(width) if verb else ""


def _discard_output() -> None:
    """Drop unwritten output: at exit, Python would report the same error again and replace the exit code."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(work: Callable[[], Any]) -> int:
    try:
        code = work()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "shoectl"
        print_message(f"{error.format_message()} (see `{verb} --help`)")
        return USAGE
    except click.ClickException as error:
        print_message(error.format_message())
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        print_message("interrupted")
        return FAILED
    except BrokenPipeError:
        _discard_output()
        return FAILED
    except OSError as error:  # such as standard output on a full disk
        print_message(f"{error.filename or 'output'}: {error.strerror or error}")
        _discard_output()
        return FAILED
    return code if isinstance(code, int) else DONE


@click.group(cls=Shoectl, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="dragonshoe", prog_name="shoectl")
def cli() -> None:
    """Show and control a table, read its journal, and test its devices.

    PORT is the address of a device: /dev/ttyUSB0, usb:1209:5d0e, usb:1209:5d0e:SERIAL,
    socket://HOST:PORT, rfc2217://HOST:PORT or hwgrep://PATTERN. `shoectl ports` lists them.

    Almost every verb has --json: JSON on standard output, messages on standard error. Exit codes: 0
    for success, 1 for refused or failed, 2 for wrong usage.
    """
    structlog.configure(  # only critical messages: the verbs report what happens to a connection themselves
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # looked up late: tests replace it
        cache_logger_on_first_use=False,
    )


def main() -> None:
    """Run `shoectl`."""
    cli()
