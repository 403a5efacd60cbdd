"""Who may do what: people with PINs at the screen, users and groups of the system at the socket."""

from __future__ import annotations

import base64
import contextlib
import functools
import grp
import hashlib
import hmac
import os
import pwd
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from controller.core.actions import Role
from controller.daemon.config import ConfigError, ControlConfig, parse_toml

PIN_DIGITS = (4, 12)
SCRYPT = {"n": 2**14, "r": 8, "p": 1}  # 16 MB and some 50 ms for each try
NAME = re.compile(r"[^\W_][\w .'-]{0,39}")
SCREENS_KEPT = 1024  # open pages; beyond that the oldest without anybody signed in is forgotten
RANK = (Role.FLOOR, Role.DEALER, Role.TECHNICIAN, Role.AUDITOR)


class Person(msgspec.Struct, forbid_unknown_fields=True):
    """Somebody who works at the table. `pin` is only a hash of it."""

    name: str
    roles: list[Role]
    pin: str


class People(msgspec.Struct, forbid_unknown_fields=True):
    """The people file."""

    person: list[Person] = []


def hash_pin(pin: str, salt: bytes | None = None) -> str:
    """What is kept of a PIN."""
    salt = salt or secrets.token_bytes(16)
    digest = hashlib.scrypt(pin.encode(), salt=salt, dklen=32, maxmem=64 << 20, **SCRYPT)
    parts = [
        str(SCRYPT["n"]),
        str(SCRYPT["r"]),
        str(SCRYPT["p"]),
        *(base64.b64encode(b).decode() for b in (salt, digest)),
    ]
    return "scrypt$" + "$".join(parts)


def pin_fits(pin: str, kept: str) -> bool:
    """Whether this is the PIN; takes as long for a wrong one."""
    kind, n, r, p, salt, digest = kept.split("$")
    if kind != "scrypt":
        raise ValueError("no scrypt hash")
    made = hashlib.scrypt(
        pin.encode(), salt=base64.b64decode(salt), n=int(n), r=int(r), p=int(p), dklen=32, maxmem=256 << 20
    )
    return hmac.compare_digest(made, base64.b64decode(digest))


@functools.cache
def _nobodys() -> str:
    """Compared with when the name is unknown, so that it takes as long. Not made at the start, which it would slow."""
    return hash_pin("", b"nobody has this ")


def pin_fault(pin: str) -> str:
    """What is wrong with a new PIN; empty if nothing is."""
    least, most = PIN_DIGITS
    if not (pin.isascii() and pin.isdigit() and least <= len(pin) <= most):
        return f"a PIN is {least} to {most} digits"
    if len(set(pin)) == 1 or pin in "0123456789012" or pin in "9876543210987":
        return "this PIN is too easy to guess"
    return ""


def read_people(path: Path) -> People:
    """The people file; nobody where there is none. ConfigError names what is wrong with it."""
    try:
        people = msgspec.convert(parse_toml(path.read_text()), People)
    except FileNotFoundError:
        return People()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # no text, no TOML, or not these fields
        raise ConfigError(f"{path}: {error}") from None
    for person in people.person:
        if not NAME.fullmatch(person.name):
            raise ConfigError(f"{path}: person.name: found {person.name!r}; letters, digits and blanks, at most 40")
        if not person.roles:
            raise ConfigError(f"{path}: {person.name} has no role; known are {', '.join(Role)}")
        try:
            pin_fits("", person.pin)
        except (ValueError, TypeError):
            raise ConfigError(f"{path}: {person.name}: the PIN's hash is damaged; `shoectl person pin`") from None
    names = [person.name for person in people.person]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ConfigError(f"{path}: {twice} is there twice")
    return people


def write_people(path: Path, people: People) -> None:
    """Write the people file whole or not at all, for its owner and group only."""
    text = "# Who may sign in at the screen. `shoectl person` writes this file.\n"
    for person in people.person:
        roles = ", ".join(f'"{role}"' for role in person.roles)
        text += f'\n[[person]]\nname = "{person.name}"\nroles = [{roles}]\npin = "{person.pin}"\n'
    new = path.with_name(f".{path.name}.new")
    try:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
        with os.fdopen(fd, "w") as out:
            with contextlib.suppress(OSError):  # the group reads what it could read before
                os.fchown(out.fileno(), -1, (path if path.exists() else path.parent).stat().st_gid)
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        new.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def check_pin(people: People, name: str, pin: str) -> tuple[Person | None, bool]:
    """The person of this name, and whether it is their PIN. Slow on purpose: call it in a thread."""
    nobodys = _nobodys()  # for a known name too: else the first unknown one would take twice as long
    person = next((person for person in people.person if person.name == name), None)
    return person, pin_fits(pin, person.pin if person else nobodys) and person is not None


# --- the screen -----------------------------------------------------------------------------------------------------


@dataclass
class SignedIn:
    """Somebody at a screen, in one role, until the time runs out."""

    name: str
    role: Role
    minutes: int
    until_ms: int


@dataclass
class Screen:
    """One browser, known by its cookie. Dealer and floorperson may be signed in at it at once."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    people: dict[Role, SignedIn] = field(default_factory=dict)

    def now_in(self, now_ms: int) -> list[SignedIn]:
        """Who is signed in now."""
        self.people = {role: who for role, who in self.people.items() if who.until_ms > now_ms}
        return list(self.people.values())

    def touch(self, role: Role, now_ms: int) -> None:
        """Somebody did something: their time begins anew."""
        who = self.people.get(role)
        if who:
            who.until_ms = now_ms + who.minutes * 60_000


class Screens:
    """All screens with somebody signed in, by the value of their cookie."""

    def __init__(self) -> None:
        self._screens: dict[str, Screen] = {}

    def get(self, cookie: str | None) -> Screen | None:
        """The screen with this cookie."""
        return self._screens.get(cookie) if cookie else None

    def add(self) -> tuple[str, Screen]:
        """A new screen and its cookie."""
        if len(self._screens) >= SCREENS_KEPT:
            unused = (cookie for cookie, screen in self._screens.items() if not screen.people)
            del self._screens[next(unused, next(iter(self._screens)))]
        cookie = secrets.token_urlsafe(32)
        self._screens[cookie] = screen = Screen()
        return cookie, screen

    def forget(self, cookie: str | None) -> None:
        """Nobody is signed in there any more."""
        if cookie:
            self._screens.pop(cookie, None)


# --- the socket -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """A process at the other end of the Unix socket, as the kernel names it."""

    uid: int
    gid: int
    everybody: bool = False  # in simulation, whoever runs the daemon plays all parts

    @property
    def name(self) -> str:
        """The user's name."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return f"user {self.uid}"

    def roles(self, control: ControlConfig) -> list[Role]:
        """What this user is at the table, by groups of the system."""
        if self.everybody:
            return list(RANK)
        groups = {self.gid}
        with contextlib.suppress(KeyError, OSError):
            groups |= set(os.getgrouplist(self.name, self.gid))
        found = [role for role in RANK if groups & set(_gids(getattr(control, role)))]
        if self.uid == 0:
            found += [role for role in (Role.TECHNICIAN, Role.AUDITOR) if role not in found]
        return found


def _gids(names: Iterable[str]) -> list[int]:
    found = []
    for name in names:
        with contextlib.suppress(KeyError):
            found.append(grp.getgrnam(name).gr_gid)
    return found
