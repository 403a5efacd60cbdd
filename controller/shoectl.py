"""`shoectl`: the command of operators and technicians. Here is the group and how its errors are told; the verbs have
modules of their own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import click
import structlog

from controller import actions_cli, daemon_cli, history_cli, journal_cli, rules_cli, technician
from controller.completion import completion_verb
from controller.manual import man_verb
from controller.show import tell

DONE, FAILED, USAGE = 0, 1, 2


class Shoectl(click.Group):
    """A group that tells every error in one line on standard error and ends with the project's exit codes."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run, and exit."""
        extra |= {"prog_name": "shoectl", "standalone_mode": False}
        sys.exit(_run(partial(super().main, args, **extra)))


def _run(work: Callable[[], Any]) -> int:
    try:
        code = work()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "shoectl"
        tell(f"{error.format_message()} (`{verb} --help` tells more)")
        return USAGE
    except click.ClickException as error:
        tell(error.format_message())
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        tell("interrupted")
        return FAILED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it closes the pipe.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:  # standard output on a full disk, say
        tell(f"{error.filename or 'output'}: {error.strerror or error}")
        return FAILED
    return code if isinstance(code, int) else DONE


@click.group(cls=Shoectl, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="dragonshoe", prog_name="shoectl")
def cli() -> None:
    """Ask the daemon of a table, act at the table, read its journal, and test its devices.

    PORT is the address of a device: /dev/ttyUSB0, usb:1209:5d0e, usb:1209:5d0e:SERIAL,
    socket://HOST:PORT, rfc2217://HOST:PORT or hwgrep://PATTERN. `shoectl ports` lists what is here.

    Every verb that tells something has --json: JSON on standard output, messages on standard error.
    Exit code 0 is done, 1 refused or failed, 2 wrong usage.
    """
    structlog.configure(  # silent but for the worst: the verbs tell themselves what happens to a connection
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # as it is now: it may be replaced
        cache_logger_on_first_use=False,
    )


VERBS = (
    *daemon_cli.VERBS,
    *actions_cli.VERBS,
    *technician.VERBS,
    journal_cli.journal,
    history_cli.round_verb,
    history_cli.impact_verb,
    rules_cli.rules_verb,
    rules_cli.diagram_verb,
    completion_verb,
    man_verb,
)
for verb in VERBS:
    cli.add_command(verb)


def main() -> None:
    """The command."""
    cli()
