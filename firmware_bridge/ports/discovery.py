"""Lists the serial ports and USB devices of this machine, who holds them, and whether this user may open them.

It only reads the kernel's lists and opens no port, so no control line changes and no device is disturbed.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from serial.tools import list_ports

from firmware_bridge.ports.hotplug import USB_DEVICES
from firmware_bridge.ports.transport import UsbAddress, holder_of

BY_ID = Path("/dev/serial/by-id")
DEVICE_NODES = Path("/dev/bus/usb")
VENDOR_CLASS = 0xFF


@dataclass(frozen=True, slots=True)
class AvailablePort:
    """A port or device, and the address to open it by."""

    address: str
    description: str
    vendor_product: str  # such as 1209:5d0e; empty if there is none
    serial: str
    node: str
    stable: str  # a name that stays the same when the device is plugged in elsewhere; empty if there is none
    holder: str  # such as `shoed (pid 812)`; empty if no holder is known
    may_open: bool
    kind: str  # serial or usb


def serial_ports(by_id: Path = BY_ID) -> list[AvailablePort]:
    """Every serial port."""
    stable = _stable_names(by_id)
    return [
        AvailablePort(
            address=info.device,
            description=_collapse_spaces(info.description if info.description != "n/a" else info.product or ""),
            vendor_product="" if info.vid is None else f"{info.vid:04x}:{info.pid or 0:04x}",
            serial=_collapse_spaces(info.serial_number or ""),
            node=info.device,
            stable=stable.get(os.path.realpath(info.device), ""),
            holder=_holder(info.device),
            may_open=_may_open(info.device),
            kind="serial",
        )
        for info in sorted(list_ports.comports(), key=lambda info: info.device)
    ]


def usb_devices(sysfs: Path = USB_DEVICES, nodes: Path = DEVICE_NODES) -> list[AvailablePort]:
    """Every USB device with a vendor-specific bulk interface, which is what `usb:` addresses open."""
    found = []
    for folder in sorted(sysfs.glob("*")):
        vendor, product = _read(folder, "idVendor"), _read(folder, "idProduct")
        if not vendor or not product or not any(_has_pipe(interface) for interface in folder.glob(f"{folder.name}:*")):
            continue
        serial = _read(folder, "serial")
        with contextlib.suppress(ValueError):  # a device that is being unplugged no longer has numbers
            address = UsbAddress(int(vendor, 16), int(product, 16), serial or None)
            node = nodes / f"{int(_read(folder, 'busnum')):03d}" / f"{int(_read(folder, 'devnum')):03d}"
            words = [_read(folder, "manufacturer"), _read(folder, "product")]
            found.append(
                AvailablePort(
                    address=str(address),
                    description=" ".join(word for word in words if word),
                    vendor_product=f"{vendor}:{product}",
                    serial=serial,
                    node=str(node),
                    stable=str(address) if serial else "",
                    holder=_holder(str(node)),
                    may_open=_may_open(str(node)),
                    kind="usb",
                )
            )
    return found


def _has_pipe(interface: Path) -> bool:
    """Whether this is a vendor-specific interface with one bulk endpoint in each direction."""
    if _read(interface, "bInterfaceClass") != f"{VENDOR_CLASS:02x}":
        return False
    bulk = [end for end in interface.glob("ep_*") if _read(end, "type") == "Bulk"]
    return sorted(_read(end, "direction") for end in bulk) == ["in", "out"]


def _read(folder: Path, name: str) -> str:
    try:
        return _collapse_spaces((folder / name).read_text(errors="replace"))
    except OSError:
        return ""


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _stable_names(by_id: Path) -> dict[str, str]:
    try:
        return {os.path.realpath(link): str(link) for link in sorted(by_id.iterdir())}
    except OSError:
        return {}


def _holder(node: str) -> str:
    return holder_of(node).removeprefix(" by ")


def _may_open(node: str) -> bool:
    return os.access(node, os.R_OK | os.W_OK)
