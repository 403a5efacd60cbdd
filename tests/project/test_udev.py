"""The udev rules, evaluated by udev itself on mock devices of umockdev.

`udevadm test` writes links and its database, so it runs in its own mount namespace with a temporary /dev and /run. It
exits 0 even for invalid rules, so its output is checked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "udev" / "70-shoed.rules"
USB = "/devices/pci0000:00/0000:00:14.0/usb1/1-2"
INTERFACE = f"{USB}/1-2:1.0"
FTDI = ("0403", "6001")
OWN = ("1209", "5d0e")
GROUP = 987  # the number of the group shoed in these tests

# A private /dev with the nodes that every program needs, a private /run, and the group that the package makes.
IN_PRIVATE = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/udev/rules.d /run/dev/pts
cp "$1" /run/udev/rules.d/
{ cat /etc/group; echo "shoed:x:$2:"; } > /run/group
mount --bind /run/group /etc/group
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /run/dev/
mount --bind /dev/pts /run/dev/pts
ln -s pts/ptmx /run/dev/ptmx
mount --rbind /run/dev /dev
exec umockdev-run --device "$3" -- udevadm test --action="$4" "/sys$5"
"""


@dataclass(frozen=True)
class Seen:
    """How udev handled an event."""

    said: str
    properties: dict[str, str]

    @property
    def links(self) -> set[str]:
        return {link for link in self.properties.get("DEVLINKS", "").split() if link.startswith("/dev/shoed/")}

    @property
    def last_group(self) -> str | None:
        return self._last(r"GROUP (\d+)")

    @property
    def last_mode(self) -> str | None:
        return self._last(r"MODE (\d+)")

    def _last(self, pattern: str) -> str | None:
        found = re.findall(rf"\.rules:\d+ {pattern}$", self.said, re.M)
        return found[-1] if found else None


@dataclass(frozen=True)
class Plugged:
    """A USB device as the kernel shows it, with the tty of its adaptor where `driver` names one."""

    chip: tuple[str, str]
    product: str
    serial: str
    driver: str = ""

    def described(self) -> str:
        tty = "ttyACM0" if self.driver == "cdc_acm" else "ttyUSB0"
        parts = [
            f"P: {USB}\nN: bus/usb/001/005\nE: SUBSYSTEM=usb\nE: DEVTYPE=usb_device\nE: DEVNAME=/dev/bus/usb/001/005\n"
            "E: MAJOR=189\nE: MINOR=4\n"
            f"A: idVendor={self.chip[0]}\\n\nA: idProduct={self.chip[1]}\\n\nA: bcdDevice=0400\\n\n"
            f"A: manufacturer=Maker\\n\nA: product={self.product}\\n\nA: serial={self.serial}\\n\n",
            f"P: {INTERFACE}\nE: SUBSYSTEM=usb\nE: DEVTYPE=usb_interface\nE: DRIVER={self.driver or 'usbfs'}\n"
            "A: bInterfaceClass=ff\\n\nA: bInterfaceNumber=00\\n\n",
        ]
        if self.driver not in ("", "cdc_acm"):
            latency = "A: latency_timer=16\\n\n" if self.driver == "ftdi_sio" else ""
            parts.append(
                f"P: {self.port}\nE: SUBSYSTEM=usb-serial\nE: DRIVER={self.driver}\nA: port_number=0\\n\n{latency}"
            )
        if self.driver:
            parts.append(
                f"P: {self.tty}\nN: {tty}\nE: SUBSYSTEM=tty\nE: DEVNAME=/dev/{tty}\nE: MAJOR=188\nE: MINOR=0\n"
            )
        return "\n".join(parts)

    @property
    def port(self) -> str:
        return f"{INTERFACE}/ttyUSB0"

    @property
    def tty(self) -> str:
        return f"{INTERFACE}/tty/ttyACM0" if self.driver == "cdc_acm" else f"{self.port}/tty/ttyUSB0"


@pytest.fixture
def ask() -> Iterator[Asking]:
    """Connects a device and runs udev on one part of it."""
    for tool, package in (("udevadm", "udev"), ("umockdev-run", "umockdev"), ("unshare", "util-linux")):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing; run `apt install {package}`")
    if os.geteuid() != 0:
        pytest.skip("only root can have a /dev of its own")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # not tmp_path, which may be in /dev: that is hidden here
        yield Asking(Path(folder))


class Asking:
    """Runs udev on an event, with the shipped rules or with others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, plugged: Plugged, part: str, action: str = "add", rules: str | None = None) -> Seen:
        device = self.folder / "plugged.umockdev"
        device.write_text(plugged.described())
        file = self.folder / RULES.name
        file.write_text(RULES.read_text() if rules is None else rules)
        inside = ["sh", "-c", IN_PRIVATE, "sh", str(file), str(GROUP), str(device), action, part]
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", *inside],
            env={**os.environ, "TMPDIR": "/tmp"},  # umockdev's files must not be in the hidden /dev either
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert f"DEVPATH={part}" in said, said
        return Seen(said, dict(re.findall(r"^ *([A-Z_.]+)=(.*)$", said, re.M)))


ADAPTORS = [
    Plugged(FTDI, "QEMU USB SERIAL", "DRAGONSHOE-SHUFFLER-1", "ftdi_sio"),
    Plugged(FTDI, "Dragonshoe Shuffler", "A1B2C3", "ftdi_sio"),
    Plugged(("10c4", "ea60"), "CP2102 USB to UART", "DRAGONSHOE-SHUFFLER-0042", "cp210x"),
    Plugged(OWN, "Dragonshoe Shuffler", "7", "cdc_acm"),
]


@pytest.mark.parametrize("adaptor", ADAPTORS, ids=lambda a: f"{a.driver}-{a.serial}")
def test_a_serial_device_gets_its_name_and_its_group(ask: Asking, adaptor: Plugged) -> None:
    seen = ask(adaptor, adaptor.tty)
    assert seen.links == {"/dev/shoed/shuffler"}
    assert (seen.last_group, seen.last_mode) == (str(GROUP), "0660")
    assert seen.properties["ID_MM_PORT_IGNORE"] == "1"
    assert ":systemd:" in seen.properties["TAGS"]
    assert ":uaccess:" not in seen.properties["TAGS"]


@pytest.mark.parametrize(
    ("product", "serial", "link"),
    [
        ("Dragonshoe Shoe", "SH-7", "/dev/shoed/shoe-usb"),
        ("Any product", "DRAGONSHOE-SHOE-7", "/dev/shoed/shoe-usb"),
        ("Any product", "DRAGONSHOE-SHUFFLER-7", "/dev/shoed/shuffler-usb"),
    ],
)
def test_a_usb_device_gets_its_name_and_its_group(ask: Asking, product: str, serial: str, link: str) -> None:
    for action in ("add", "bind", "change"):  # udev keeps only what the last event has set
        seen = ask(Plugged(OWN, product, serial), USB, action)
        assert seen.links == {link}
        assert (seen.last_group, seen.last_mode) == (str(GROUP), "0660")
        assert seen.properties["ID_MM_DEVICE_IGNORE"] == "1"
        assert ":systemd:" in seen.properties["TAGS"]


def test_an_ftdi_chip_is_told_not_to_hold_bytes_back(ask: Asking) -> None:
    shoe = Plugged(FTDI, "Adaptor", "DRAGONSHOE-SHOE-1", "ftdi_sio")
    written = r"latency_timer' writing '1'|latency_timer\}=\"1\""  # of systemd 252 and 257
    assert re.search(written, ask(shoe, shoe.port, "bind").said)
    other_chip = Plugged(("067b", "2303"), "Adaptor", "DRAGONSHOE-SHOE-1", "pl2303")
    assert "latency_timer" not in ask(other_chip, other_chip.port, "bind").said


@pytest.mark.parametrize(
    ("product", "serial"),
    [
        ("FT232R USB UART", "A50285BI"),
        ("FT232R USB UART", "DRAGONSHOE-"),
        ("FT232R USB UART", "DRAGONSHOE-SHOE-"),
        ("FT232R USB UART", "X-DRAGONSHOE-SHOE-1"),
        ("Dragonshoe Shoehorn", "1"),
    ],
)
def test_a_bare_adaptor_is_left_alone(ask: Asking, product: str, serial: str) -> None:
    stranger = Plugged(FTDI, product, serial, "ftdi_sio")
    seen = ask(stranger, stranger.tty)
    assert seen.links == set()
    assert seen.last_group != str(GROUP)
    assert "ID_MM_PORT_IGNORE" not in seen.properties
    assert "latency_timer" not in ask(stranger, stranger.port, "bind").said
    assert ask(stranger, USB).links == set()


def test_udev_has_no_complaint_about_the_rules(ask: Asking) -> None:
    shoe = Plugged(FTDI, "Adaptor", "DRAGONSHOE-SHOE-1", "ftdi_sio")
    complaint = rf"{RULES.name}:\d+ (?!GROUP|MODE|LINK|Added SYMLINK|Importing|ATTR)"
    assert re.findall(complaint, ask(shoe, shoe.tty).said) == []
    wrong = RULES.read_text().replace('TAG+="systemd"', 'TAGG+="systemd"')
    assert re.findall(complaint, ask(shoe, shoe.tty, rules=wrong).said)
