"""The people file: who may sign in at the screen, in which roles, and with which PIN. PINs are checked here."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from controller.core.actions import Role
from controller.daemon.config import ConfigError, parse_toml

PIN_DIGITS = (4, 12)
FLOOR_PIN_DIGITS = 6  # the least for a floorperson, who may do more than a dealer
SCRYPT = {"n": 2**14, "r": 8, "p": 1}  # 16 MB and about 50 ms per attempt
DIGEST_BYTES = 32
MAX_MEMORY = 64 << 20
MAX_WORK = 4 * 2**14 * 8  # n * r * p: a stored hash may take four times as long as a new one, no longer
MAX_SALT_BYTES = 64
NAME = re.compile(r"[^\W_][\w .'-]{0,39}")


class Person(msgspec.Struct, forbid_unknown_fields=True):
    """A person who works at the table. `pin` is a hash of the PIN; `six_digits` if it has at least that many."""

    name: str
    roles: list[Role]
    pin: str
    six_digits: bool = False

    @property
    def pin_short(self) -> bool:
        """Whether the PIN is, or may be, shorter than the role now needs. It still works."""
        return Role.FLOOR in self.roles and not self.six_digits


class PeopleFile(msgspec.Struct, forbid_unknown_fields=True):
    """The people file."""

    person: list[Person] = []


def hash_pin(pin: str, salt: bytes | None = None) -> str:
    """The salted hash that is stored of a PIN."""
    salt = salt or secrets.token_bytes(16)
    digest = hashlib.scrypt(pin.encode(), salt=salt, dklen=DIGEST_BYTES, maxmem=MAX_MEMORY, **SCRYPT)
    parts = [
        str(SCRYPT["n"]),
        str(SCRYPT["r"]),
        str(SCRYPT["p"]),
        *(base64.b64encode(b).decode() for b in (salt, digest)),
    ]
    return "scrypt$" + "$".join(parts)


class _StoredHash(NamedTuple):
    n: int
    r: int
    p: int
    salt: bytes
    digest: bytes


def _read_hash(stored: str) -> _StoredHash:
    """The parts of a stored hash; ValueError if it is damaged, or would take too much time or memory to check.

    Nothing is computed here: the people file is read by the loop that serves the devices.
    """
    kind, n, r, p, salt, digest = stored.split("$")
    found = _StoredHash(int(n), int(r), int(p), base64.b64decode(salt), base64.b64decode(digest))
    power_of_two = found.n > 1 and found.n & (found.n - 1) == 0
    memory = 128 * found.r * (found.n + found.p + 2)
    small = min(found.r, found.p) > 0 and memory <= MAX_MEMORY and found.n * found.r * found.p <= MAX_WORK
    sizes = len(found.digest) == DIGEST_BYTES and len(found.salt) <= MAX_SALT_BYTES
    if kind != "scrypt" or not power_of_two or not small or not sizes:
        raise ValueError("not a scrypt hash")
    return found


def pin_matches(pin: str, stored: str) -> bool:
    """Whether a PIN matches a stored hash; takes the same time whether or not it does."""
    n, r, p, salt, digest = _read_hash(stored)
    computed = hashlib.scrypt(pin.encode(), salt=salt, n=n, r=r, p=p, dklen=DIGEST_BYTES, maxmem=MAX_MEMORY)
    return hmac.compare_digest(computed, digest)


@functools.cache
def _placeholder_hash() -> str:
    """Checked when the name is unknown, so that it takes equally long. Computing it at import would slow the start."""
    return hash_pin("", b"nobody has this ")


def pin_fault(pin: str, roles: Sequence[Role] = ()) -> str:
    """What is wrong with a new PIN for somebody in these roles; empty if nothing."""
    least, most = PIN_DIGITS
    if Role.FLOOR in roles:
        least = FLOOR_PIN_DIGITS
    if not (pin.isascii() and pin.isdigit() and least <= len(pin) <= most):
        return f"a PIN has {least} to {most} digits"
    if len(set(pin)) == 1 or pin in "0123456789012" or pin in "9876543210987":
        return "this PIN is too easy to guess"
    return ""


def read_people(path: Path) -> PeopleFile:
    """Read the people file; without a file there are no people. ConfigError says what is wrong with it."""
    try:
        people = msgspec.convert(parse_toml(path.read_text()), PeopleFile)
    except FileNotFoundError:
        return PeopleFile()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # not text, not TOML, or other fields
        raise ConfigError(f"{path}: {error}") from None
    for person in people.person:
        if not NAME.fullmatch(person.name):
            expected = "expected at most 40 letters, digits and spaces"
            raise ConfigError(f"{path}: person.name: found {person.name!r}; {expected}")
        if not person.roles:
            raise ConfigError(f"{path}: {person.name} has no role; expected one of {', '.join(Role)}")
        try:
            _read_hash(person.pin)
        except (ValueError, TypeError):
            remedy = "set a new PIN: shoectl person pin"
            raise ConfigError(f"{path}: {person.name}: the PIN's hash is damaged; {remedy}") from None
    names = [person.name for person in people.person]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ConfigError(f"{path}: {twice} is listed twice")
    return people


class PeopleReader:
    """Reads the people file again only if it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._people = PeopleFile()

    def read(self) -> PeopleFile:
        """The people file as it is now; ConfigError says what is wrong with it."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen = None
            return PeopleFile()
        except OSError as error:
            raise ConfigError(f"{self._path}: {error.strerror}") from None
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._people, self._seen = read_people(self._path), seen
        return self._people


def write_people(path: Path, people: PeopleFile) -> None:
    """Replace the people file atomically, readable by its owner and group only."""
    text = "# Who may sign in at the screen. `shoectl person` writes this file.\n"
    for person in people.person:
        roles = ", ".join(f'"{role}"' for role in person.roles)
        text += f'\n[[person]]\nname = "{person.name}"\nroles = [{roles}]\npin = "{person.pin}"\n'
        if person.six_digits:
            text += "six_digits = true\n"
    new = path.with_name(f".{path.name}.new")
    try:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
        with os.fdopen(fd, "w") as out:
            with contextlib.suppress(OSError):  # keep the file's group
                os.fchown(out.fileno(), -1, (path if path.exists() else path.parent).stat().st_gid)
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        new.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def check_pin(people: PeopleFile, name: str, pin: str) -> tuple[Person | None, bool]:
    """The person with this name, and whether the PIN is theirs. Slow on purpose: call it in a thread."""
    placeholder = _placeholder_hash()  # also for known names, or the first unknown one would take twice as long
    person = next((person for person in people.person if person.name == name), None)
    return person, pin_matches(pin, person.pin if person else placeholder) and person is not None
