"""The disk of the machine under test: a small Debian, made once and kept, with nothing of this machine in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from debian.releases import DebianRelease
from debian.system import bootstrap, made_from

DISK_SIZE = "3G"  # sparse: some 500 MB are used
PACKAGES = (
    "dbus",
    "initramfs-tools",
    "kmod",
    "linux-image-amd64",
    "passwd",
    "qemu-guest-agent",
    "systemd-sysv",
    "udev",
)
# What the kernel needs to find its disk; everything else is loaded from there, as on a real machine.
INITRAMFS_MODULES = ("virtio_pci", "virtio_blk", "ext4")
# Hooks in the folder of the new system: before the packages are configured, and at the end.
BEFORE = f"""
mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list > "$1/etc/initramfs-tools/conf.d/appliance"
printf '%s\\n' {" ".join(INITRAMFS_MODULES)} > "$1/etc/initramfs-tools/modules"
"""
# The image contains no sources, lists or passwords of this machine's apt, and no machine ID.
AFTER = """
echo appliance > "$1/etc/hostname"
mkdir "$1/etc/systemd/system/qemu-guest-agent.service.d"
printf '[Service]\\nLogLevelMax=warning\\n' \\
  > "$1/etc/systemd/system/qemu-guest-agent.service.d/quiet.conf"
printf '/dev/vda / ext4 defaults 0 1\\n' > "$1/etc/fstab"
rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/auth.conf "$1"/etc/apt/auth.conf.d/*
rm -rf "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/etc/resolv.conf
rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/*
: > "$1/etc/machine-id"
"""
TOOLS = {  # command: its Debian package
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "dpkg-deb": "dpkg",
}


class CannotRun(Exception):
    """The test cannot run on this machine; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    """A read-only disk, and the kernel that boots from it."""

    disk: Path
    kernel: Path
    initrd: Path


def get_tools() -> None:
    """Install missing tools; raises CannotRun if that is not possible."""
    missing = sorted({package for command, package in TOOLS.items() if not shutil.which(command)})
    if os.geteuid() != 0:
        more = f", and these packages: {', '.join(missing)}" if missing else ""
        raise CannotRun(f"this test needs root (it makes a Debian system in a folder){more}")
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise CannotRun(f"there is no apt-get to install {', '.join(missing)}")
    print(f"installing {', '.join(missing)} ...", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
        done = subprocess.run(["apt-get", "-qq", *words], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise CannotRun(f"apt-get {' '.join(words)} failed:\n{done.stdout}{done.stderr}")


def get_image(release: DebianRelease, dependencies: tuple[str, ...]) -> Image:
    """The image with these packages added, made unless one from the same recipe exists."""
    folder = release.folder / "appliance"
    packages = tuple(sorted({*PACKAGES, *dependencies}))
    with made_from(folder, "\n".join((DISK_SIZE, *packages, BEFORE, AFTER))) as needed:
        if needed:
            print(f"making the image in {folder} ...", flush=True)
            _make(release, folder, packages)
    return Image(folder / "disk.img", folder / "vmlinuz", folder / "initrd.img")


def _make(release: DebianRelease, folder: Path, packages: tuple[str, ...]) -> None:
    root, disk = folder / "root", folder / "disk.img"
    folder.mkdir()
    # mmdebstrap runs a hook with the new system's folder as $1.
    bootstrap(release, root, packages, f"--essential-hook={BEFORE}", f"--customize-hook={AFTER}")
    for name in ("vmlinuz", "initrd.img"):
        (newest,) = (root / "boot").glob(f"{name}-*")
        shutil.copy(newest, folder / name)
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1", "-d", str(root), str(disk), DISK_SIZE],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    shutil.rmtree(root)
