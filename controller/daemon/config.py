"""The table's configuration: one TOML file, checked as a whole before the daemon starts."""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from controller.core.names import stored_name
from controller.core.setup import Limits, Setup, ShufflerKind, devices_of, setup_fault
from controller.games import description_named, game_with, unknown_game
from controller.games.game import Method
from controller.journal import JOURNAL_ID
from firmware_bridge.ports.transport import PortUnsuitable, parse_address
from firmware_bridge.wire.event_rate import EVENTS_PER_S

CONFIG_FILE = Path("/etc/shoed/table.toml")


class ConfigError(Exception):
    """A configuration that cannot be used. The text has one line per error."""


class LimitsConfig(Limits, frozen=True, forbid_unknown_fields=True):
    """[table.limits]: the core's time limits."""


class TableConfig(msgspec.Struct, forbid_unknown_fields=True):
    """[table]: the game, the dealing method and the decks."""

    game: str = "dragon-poker"
    method: Method = Method.AUTOMATED_SHOE
    backs: tuple[str, ...] = ("red", "blue")
    seats: int = 6
    hold_dealer: bool = False
    options: dict[str, Any] = {}  # what the house chooses where the game leaves a choice
    limits: LimitsConfig = LimitsConfig()


EventsPerSecond = Annotated[int, msgspec.Meta(ge=1, le=10_000)]  # what a device may report over a long time


class ShufflerConfig(msgspec.Struct, forbid_unknown_fields=True):
    """[shuffler]: its port and its capabilities."""

    port: str
    baud: Annotated[int, msgspec.Meta(ge=50)] = 115200
    events_per_s: EventsPerSecond = EVENTS_PER_S
    counts: bool = True
    feeds_shoe: bool = True
    reshuffles: bool = False
    recognises: bool = False


class ShoeConfig(msgspec.Struct, forbid_unknown_fields=True):
    """[shoe]: its port."""

    port: str
    baud: Annotated[int, msgspec.Meta(ge=50)] = 115200
    events_per_s: EventsPerSecond = EVENTS_PER_S


class JournalConfig(msgspec.Struct, forbid_unknown_fields=True):
    """[journal]: its file, and the id of the only journal that may be there; empty for any."""

    file: str = "/var/lib/shoed/journal.db"
    id: str = ""


class ControlConfig(msgspec.Struct, forbid_unknown_fields=True):
    """[control]: the Unix socket, and the system groups that have each role."""

    socket: str = "/run/shoed/control.sock"
    dealer: tuple[str, ...] = ("shoed-dealer",)
    floor: tuple[str, ...] = ("shoed-floor",)
    technician: tuple[str, ...] = ("shoed-technician",)
    auditor: tuple[str, ...] = ("shoed-auditor",)


class ScreenConfig(msgspec.Struct, forbid_unknown_fields=True):
    """[screen]: the page for dealer and floorperson. Without this section there is no screen."""

    listen: str = "127.0.0.1:8053"
    people: str = "/etc/shoed/people.toml"
    token: str = "/etc/shoed/screen.token"
    dealer_minutes: Annotated[int, msgspec.Meta(ge=1, le=1440)] = 480  # signed out when idle for this long
    floor_minutes: Annotated[int, msgspec.Meta(ge=1, le=1440)] = 5
    longest_minutes: Annotated[int, msgspec.Meta(ge=1, le=1440)] = 720  # signed out after this long in any case


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """The whole configuration."""

    name: str = "Table 1"
    table: TableConfig = msgspec.field(default_factory=TableConfig)
    shuffler: ShufflerConfig | None = None
    shoe: ShoeConfig | None = None
    journal: JournalConfig = msgspec.field(default_factory=JournalConfig)
    control: ControlConfig = msgspec.field(default_factory=ControlConfig)
    screen: ScreenConfig | None = None

    def setup(self) -> Setup:
        """The core's set-up of this table."""
        shuffler = self.shuffler
        kind = (
            ShufflerKind(shuffler.counts, shuffler.feeds_shoe, shuffler.reshuffles, shuffler.recognises)
            if shuffler
            else None
        )
        table = self.table
        description = description_named(table.game)
        assert description is not None  # checked when the configuration was read
        return Setup(
            method=table.method,
            backs=tuple(stored_name(back) for back in table.backs),
            shuffler=kind,
            hold_dealer=table.hold_dealer,
            seats=table.seats,
            game=game_with(description, table.options),
            limits=Limits(**msgspec.structs.asdict(table.limits)),
            options=table.options,
        )

    def port(self, device: str) -> ShufflerConfig | ShoeConfig:
        """The section with the port of a device that the set-up has."""
        found = self.shuffler if device == "shuffler" else self.shoe
        assert found is not None
        return found


def read_config(path: Path) -> Config:
    """Read and check a configuration file; ConfigError lists everything that is wrong with it."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
    return parse_config(text, str(path))


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; ValueError says why it is not valid."""
    try:
        found = tomllib.loads(text)
        if _too_large(found):
            raise ValueError("it contains a number that does not fit into 64 bits")
        return found
    except RecursionError:
        raise ValueError("not valid TOML: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not valid TOML: {error}") from None


def _too_large(value: Any) -> bool:
    """TOML numbers have 64 bits. Python accepts longer ones, and then fails to print the longest of them."""
    if isinstance(value, dict | list):
        return any(_too_large(inner) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def parse_config(text: str, source: str) -> Config:
    """Check a configuration given as text; `source` names it in errors."""
    try:
        found = parse_toml(text)
    except ValueError as error:
        raise ConfigError(f"{source}: {error}") from None
    faults = [*_faults_by_type(found)]
    if not faults:
        config = msgspec.convert(found, Config)
        faults = [*_faults_of(config), *_faults_of_files(config, source)]
    if faults:
        raise ConfigError("\n".join(f"{source}: {fault}" for fault in faults))
    return config


def _faults_by_type(found: dict[str, Any]) -> list[str]:
    """Unknown keys and values of the wrong type, one error for each section."""
    faults = []
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(Config)}
    for name, value in found.items():
        if name not in fields:
            faults.append(f"{name}: unknown key; expected one of {', '.join(fields)}")
            continue
        fault = _fault_of_part(name, value, fields[name], found)
        if fault:
            faults.append(fault)
    return faults


def _fault_of_part(name: str, value: Any, kind: Any, found: dict[str, Any]) -> str:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `")
        path = name + where.rstrip("`").removeprefix("$")
        unknown = re.search(r"unknown field `([^`]*)`", text)
        if unknown:
            known = ", ".join(_keys(kind, path.removeprefix(name).lstrip(".")))
            return f"{path}.{unknown[1]}: unknown key; expected one of {known}"
        missing = re.search(r"missing required field `([^`]*)`", text)
        if missing:
            return f"{path}.{missing[1]}: missing; this key is required"
        return f"{path}: found {_shown(_at(found, path))}; {_allowed(text, kind, path)}"
    return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _allowed(text: str, kind: Any, path: str) -> str:
    if path == "table.method":
        return f"expected one of {', '.join(repr(str(method)) for method in Method)}"
    return text[0].lower() + text[1:].replace("`", "")


def _keys(kind: Any, path: str) -> list[str]:
    """The keys that a section may have."""
    for option in getattr(kind, "__args__", (kind,)):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            fields = {field.encode_name: field.type for field in msgspec.structs.fields(option)}
            head, _, rest = path.partition(".")
            return _keys(fields[head], rest) if head in fields else list(fields)
    return []


def _at(found: Any, path: str) -> Any:
    """The value at a path such as table.backs[1]."""
    for key in re.findall(r"[^.\[\]]+", path):
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (KeyError, IndexError, TypeError, ValueError):
            return found
    return found


def _faults_of(config: Config) -> list[str]:
    """Errors in values that have the right type."""
    faults = []
    if not config.name.strip():
        faults.append("name: found ''; expected a name for the table")
    if description_named(config.table.game) is None:
        return [f"table.game: {unknown_game(config.table.game)}"]
    fault = setup_fault(config.setup())
    if fault:
        allowed = f"; allowed when {fault.possible_when}" if fault.possible_when else ""
        clause = f" ({', '.join(fault.rules)})" if fault.rules else ""
        faults.append(f"{fault.key}: {fault.reason}{allowed}{clause}")
    for device in devices_of(config.setup()):
        section = config.shuffler if device == "shuffler" else config.shoe
        if section is None:
            faults.append(
                f"{device}: missing section; the dealing method {config.table.method} needs [{device}] with a port"
            )
            continue
        try:
            parse_address(section.port)
        except PortUnsuitable as error:
            faults.append(f"{device}.port: {error}")
    if config.shoe and "shoe" not in devices_of(config.setup()):
        faults.append(f"shoe: unexpected section; the dealing method {config.table.method} uses no automated shoe")
    if config.screen:
        faults += _faults_of_screen(config.screen)
    return faults


def _faults_of_screen(screen: ScreenConfig) -> list[str]:
    host, _, port = screen.listen.rpartition(":")
    try:
        loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
        good = loopback and 0 <= int(port) <= 65535
    except ValueError:
        good = False
    return (
        [] if good else [f"screen.listen: found {screen.listen!r}; expected a loopback address such as 127.0.0.1:8053"]
    )


def _faults_of_files(config: Config, source: str) -> list[str]:
    """Keys that name the same file: the daemon would overwrite one with the other."""
    faults = []
    if config.journal.id and not re.fullmatch(JOURNAL_ID, config.journal.id):
        expected = "expected the 16 digits that `shoectl journal verify` prints as the journal's id"
        faults.append(f"journal.id: found {config.journal.id!r}; {expected}")
    taken: dict[str, str] = {}
    for key, file in files_of(config, source):
        other = taken.setdefault(os.path.realpath(file), key)
        if other != key:
            faults.append(f"{key}: found {file!r}, which is used for {other}; expected a file of its own")
    return faults


def files_of(config: Config, source: str) -> Iterator[tuple[str, str]]:
    """The files that the daemon uses, each with the key that names it; `source` is the configuration itself."""
    yield "this configuration", source
    # SQLite's files, the lock of the writer, and the search index, which is deleted if it cannot be read
    for suffix in ("", "-wal", "-shm", ".lock", ".index", ".index-wal", ".index-shm"):
        yield "journal.file", config.journal.file + suffix
    yield "control.socket", config.control.socket
    if config.screen and config.screen.people:
        yield "screen.people", config.screen.people
    if config.screen and config.screen.token:
        yield "screen.token", config.screen.token


def listen_address(screen: ScreenConfig) -> tuple[str, int]:
    """Host and port of the screen."""
    host, _, port = screen.listen.rpartition(":")
    return host.strip("[]"), int(port)


EXAMPLE = """\
# The configuration of one table. Check it with `shoectl config check`; `systemctl restart shoed` applies it.
name = "Table 1"

[table]
game = "dragon-poker"
method = "automated_shoe"       # or manual_shoe, hand
backs = ["red", "blue"]         # one colour per deck; two decks require a shuffler (3.B)
seats = 6
hold_dealer = false             # keep the dealer's stack in the shoe until the players have acted (10.B(3)(4))

# [table.options]               # what the house chooses in this game; these are the defaults
# ante_bonus = "A"              # paytable A or B (12.B)
# three_card_bonus = "A"        # paytable A or B (12.C); "" if it is not offered
# dragon_wager = "A"            # paytable A (12.D); "" if it is not offered
# progressive = []              # lines such as { outcome = "three phoenix", amount = 500 } (7.F(4))
# jackpot = 0                   # with which the jackpot begins
# two_areas = false             # whether a player may wager on two adjacent betting areas (7.G)

# [table.limits]                # milliseconds; these are the defaults
# shuffle_ms = 180000           # 10000 to 900000; how long a cycle may take, instead of what the device itself states
# deliver_ms = 30000            # 1000 to 300000
# dispense_ms = 15000           # 1000 to 120000
# release_ms = 15000            # 1000 to 120000
# eject_ms = 30000              # 1000 to 300000
# clear_jam_ms = 30000          # 1000 to 300000
# self_test_ms = 60000          # 1000 to 600000
# grace_ms = 10000              # 1000 to 60000; a link that is restored within this time has no consequences
# change_ahead_ms = 900000      # 0 to 7200000; how long before a deck must be changed this is announced

[shuffler]
port = "/dev/shoed/shuffler"    # or usb:1209:5d0e:SERIAL, socket://HOST:PORT, rfc2217://HOST:PORT
baud = 115200
events_per_s = 10               # sustained; a device that keeps reporting more is disconnected
counts = true
feeds_shoe = true
reshuffles = false
recognises = false

[shoe]
port = "/dev/shoed/shoe"
baud = 115200
events_per_s = 10

[journal]
file = "/var/lib/shoed/journal.db"
# id = "0123456789abcdef"       # refuse any other journal, or none; `shoectl journal verify` prints the id

[control]                       # the Unix socket of shoectl, and the system groups that have each role
socket = "/run/shoed/control.sock"
dealer = ["shoed-dealer"]
floor = ["shoed-floor"]
technician = ["shoed-technician"]
auditor = ["shoed-auditor"]

[screen]                        # leave this section out for a table without a screen
listen = "127.0.0.1:8053"
people = "/etc/shoed/people.toml"   # written by `shoectl person add`
token = "/etc/shoed/screen.token"   # what the table's own screen presents; `shoectl screen` prints its address
dealer_minutes = 480            # signed out when idle for this long
floor_minutes = 5
longest_minutes = 720           # signed out after this long in any case
"""
