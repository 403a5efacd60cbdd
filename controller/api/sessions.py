"""Who is signed in at which screen. A browser is recognised by its cookie; people stay signed in for a limited time."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.core.actions import Role
from controller.daemon.people import PeopleFile, Person

MAX_SCREENS = 1024  # beyond this the oldest screen at which nobody is signed in is dropped
MINUTE_MS = 60_000


@dataclass
class SignedIn:
    """A person signed in at a screen in one role, until nothing has been done for some minutes, or `ends_ms`."""

    person: Person
    role: Role
    minutes: int
    until_ms: int
    ends_ms: int

    @property
    def name(self) -> str:
        """The person's name."""
        return self.person.name

    def touch(self, now_ms: int) -> None:
        """The person has just done something: their minutes begin again."""
        self.until_ms = min(now_ms + self.minutes * MINUTE_MS, self.ends_ms)

    def over(self, now_ms: int, people: PeopleFile | None) -> str:
        """Why this person is no longer signed in; empty if they are. `people` is None if the file cannot be read."""
        if now_ms >= self.ends_ms:
            return "they were signed in for the longest time allowed"
        if now_ms >= self.until_ms:
            return f"they did nothing for {self.minutes} minutes"
        if people is None:
            return ""
        found = next((one for one in people.person if one.name == self.name), None)
        if found is None:
            return "they are no longer registered"
        if self.role not in found.roles:
            return f"they no longer have the role {self.role}"
        return "" if found.pin == self.person.pin else "their PIN was changed"


@dataclass
class Screen:
    """One browser, recognised by its cookie. A dealer and a floorperson may be signed in at the same time."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    people: dict[Role, SignedIn] = field(default_factory=dict)


Ended = Callable[[str, tuple[Role, ...], str], None]


class TooManyScreens(Exception):
    """No more screens can be opened: somebody is signed in at every one."""


class Screens:
    """All open screens, by the value of their cookie. `ended` is called with who is no longer signed in, and why."""

    def __init__(self, ended: Ended) -> None:
        self._screens: dict[str, Screen] = {}
        self._ended = ended

    def get(self, cookie: str | None) -> Screen | None:
        """The screen with this cookie."""
        return self._screens.get(cookie) if cookie else None

    def add(self) -> tuple[str, Screen]:
        """A new screen and its cookie; TooManyScreens rather than sign anybody out."""
        if len(self._screens) >= MAX_SCREENS:
            unused = next((cookie for cookie, screen in self._screens.items() if not screen.people), None)
            if unused is None:
                raise TooManyScreens
            del self._screens[unused]
        cookie = secrets.token_urlsafe(32)
        self._screens[cookie] = screen = Screen()
        return cookie, screen

    def renew(self, cookie: str | None, screen: Screen) -> tuple[str, Screen]:
        """The same people under a new cookie and token. The old cookie is worthless from then on."""
        if cookie:
            self._screens.pop(cookie, None)
        new, fresh = self.add()
        fresh.people, screen.people = screen.people, {}
        return new, fresh

    def sign_in(self, screen: Screen, signed_in: SignedIn) -> None:
        """Somebody signs in, and replaces whoever had that role at this screen."""
        before = screen.people.get(signed_in.role)
        if before and before.name != signed_in.name:
            self.end(screen, (signed_in.role,), f"{signed_in.name} signed in instead")
        screen.people[signed_in.role] = signed_in

    def end(self, screen: Screen, roles: tuple[Role, ...], reason: str = "") -> None:
        """People are no longer signed in in these roles; without a reason they signed out themselves."""
        names: dict[str, list[Role]] = {}
        for role in roles:
            who = screen.people.pop(role, None)
            if who:
                names.setdefault(who.name, []).append(role)
        for name, theirs in names.items():
            self._ended(name, tuple(theirs), reason)

    def sweep(self, now_ms: int, people: PeopleFile | None) -> None:
        """End what is over, at all screens."""
        for screen in list(self._screens.values()):
            over: dict[str, list[Role]] = {}
            for role, who in screen.people.items():
                reason = who.over(now_ms, people)
                if reason:
                    over.setdefault(reason, []).append(role)
            for reason, roles in over.items():
                self.end(screen, tuple(roles), reason)
