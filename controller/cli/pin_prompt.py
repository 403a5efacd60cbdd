"""Asks for a PIN, which is never an argument: other users could see it in the list of processes."""

from __future__ import annotations

import sys

import click


def read_pin(name: str, *, twice: bool = False) -> str:
    """A PIN, typed without echo, or read from standard input if that is not a terminal; empty if there is none."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    again = "Again" if twice else False
    return str(click.prompt(f"PIN of {name}", hide_input=True, confirmation_prompt=again, err=True))
