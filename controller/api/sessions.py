"""Who is signed in at which screen. A browser is recognised by its cookie; people stay signed in for a limited time."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from controller.core.actions import Role

MAX_SCREENS = 1024  # beyond this the oldest screen at which nobody is signed in is dropped


@dataclass
class SignedIn:
    """A person signed in at a screen in one role, until the time runs out."""

    name: str
    role: Role
    minutes: int
    until_ms: int


@dataclass
class Screen:
    """One browser, recognised by its cookie. A dealer and a floorperson may be signed in at the same time."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    people: dict[Role, SignedIn] = field(default_factory=dict)

    def signed_in(self, now_ms: int) -> list[SignedIn]:
        """Who is signed in now."""
        self.people = {role: who for role, who in self.people.items() if who.until_ms > now_ms}
        return list(self.people.values())

    def touch(self, role: Role, now_ms: int) -> None:
        """Restart the time of whoever has this role: they have just done something."""
        who = self.people.get(role)
        if who:
            who.until_ms = now_ms + who.minutes * 60_000


class Screens:
    """All open screens, by the value of their cookie."""

    def __init__(self) -> None:
        self._screens: dict[str, Screen] = {}

    def get(self, cookie: str | None) -> Screen | None:
        """The screen with this cookie."""
        return self._screens.get(cookie) if cookie else None

    def add(self) -> tuple[str, Screen]:
        """A new screen and its cookie."""
        if len(self._screens) >= MAX_SCREENS:
            unused = (cookie for cookie, screen in self._screens.items() if not screen.people)
            del self._screens[next(unused, next(iter(self._screens)))]
        cookie = secrets.token_urlsafe(32)
        self._screens[cookie] = screen = Screen()
        return cookie, screen

    def remove(self, cookie: str | None) -> None:
        """Drop a screen with everyone signed in at it."""
        if cookie:
            self._screens.pop(cookie, None)
