"""The disk of the machine under test: a small Debian 12, made once and kept, with nothing of this machine in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SUITE = "bookworm"
KEPT_S = 7 * 86400.0  # an image that was not used for so long is thrown away
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
# What the kernel needs to find its disk; all else is loaded from there, as on the real machine.
INITRAMFS_MODULES = ("virtio_pci", "virtio_blk", "ext4")
# In the folder of the new system, before packages are set up; and as the last of all.
BEFORE = f"""
mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list > "$1/etc/initramfs-tools/conf.d/appliance"
printf '%s\\n' {" ".join(INITRAMFS_MODULES)} > "$1/etc/initramfs-tools/modules"
"""
# No sources, lists or passwords of this machine's apt stay in what is kept; and no identity of its own.
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
    """What this machine lacks for the test; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    """A disk that is never written to, and the kernel that boots from it."""

    disk: Path
    kernel: Path
    initrd: Path


def get_tools() -> None:
    """Install what is missing; raises CannotRun where that cannot be done."""
    missing = sorted({package for command, package in TOOLS.items() if not shutil.which(command)})
    if os.geteuid() != 0:
        more = f", and these packages: {', '.join(missing)}" if missing else ""
        raise CannotRun(f"this test needs root (it makes a Debian system in a folder){more}")
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise CannotRun(f"these are not installed, and there is no apt-get to do it: {', '.join(missing)}")
    print(f"installing {', '.join(missing)} ...", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
        done = subprocess.run(["apt-get", "-qq", *words], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise CannotRun(f"apt-get {' '.join(words)} failed:\n{done.stdout}{done.stderr}")


def get_image(dependencies: tuple[str, ...]) -> Image:
    """The image with these packages besides; made where it is not kept from an earlier time."""
    packages = ",".join(sorted({*PACKAGES, *dependencies}))
    mirror = os.environ.get("APPLIANCE_MIRROR", "")
    recipe = "\n".join((SUITE, DISK_SIZE, packages, BEFORE, AFTER))
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragonshoe"
    folder = kept / f"appliance-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    if not folder.exists():
        kept.mkdir(parents=True, exist_ok=True)
        print(f"making the image {folder} ...", flush=True)
        with tempfile.TemporaryDirectory(dir=kept, prefix=".making-") as making:
            _make(Path(making), packages, mirror)
            try:
                (Path(making) / "kept").rename(folder)
            except OSError:
                if not folder.exists():  # else another run has made it meanwhile
                    raise
    os.utime(folder)
    for older in [*kept.glob("appliance-*"), *kept.glob(".making-*")]:
        if older.stat().st_mtime < time.time() - KEPT_S:
            shutil.rmtree(older)
    return Image(folder / "disk.img", folder / "vmlinuz", folder / "initrd.img")


def _make(folder: Path, packages: str, mirror: str) -> None:
    root, kept = folder / "root", folder / "kept"
    kept.mkdir()
    # mmdebstrap runs a hook with the new system's folder as $1.
    _run(
        "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={packages}",
        "--dpkgopt=force-unsafe-io", f"--essential-hook={BEFORE}", f"--customize-hook={AFTER}",
        SUITE, str(root), *([mirror] if mirror else []),
    )  # fmt: skip
    for name in ("vmlinuz", "initrd.img"):
        (newest,) = (root / "boot").glob(f"{name}-*")
        shutil.copy(newest, kept / name)
    _run("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1", "-d", str(root), str(kept / "disk.img"), DISK_SIZE)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CannotRun(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
