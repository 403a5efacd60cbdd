"""Builds the Debian package: `make deb` writes build/dragonshoe_VERSION_ARCH.deb.

The application has an environment of its own in /usr/lib/dragonshoe, for the system's Python 3.11, with exactly what
requirements.lock names. The same commit gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from email.utils import formatdate
from pathlib import Path
from typing import Any

from controller.daemon.config import EXAMPLE

ROOT = Path(__file__).parent.parent
DEBIAN = ROOT / "debian"
BUILD = ROOT / "build"
PYTHON = Path("/usr/bin/python3.11")  # the system's, which the package runs under
HEADERS = Path("/usr/include/python3.11/Python.h")
HOME = Path("usr/lib/dragonshoe")
SITE = HOME / "lib/python3.11/site-packages"
DOC = Path("usr/share/doc/dragonshoe")

# Where the files of this checkout go. A pattern without a match is an error; build/ holds what other doors made.
SHIPPED = {
    "systemd/shoed.service": "usr/lib/systemd/system/shoed.service",
    "systemd/shoed.socket": "usr/lib/systemd/system/shoed.socket",
    "systemd/shoed.sysusers": "usr/lib/sysusers.d/shoed.conf",
    "systemd/shoed.tmpfiles": "usr/lib/tmpfiles.d/shoed.conf",
    "systemd/shoed.modules-load": "usr/lib/modules-load.d/shoed.conf",
    "udev/*.rules": "usr/lib/udev/rules.d/",
    "debian/copyright": f"{DOC}/copyright",
    "debian/lintian-overrides": "usr/share/lintian/overrides/dragonshoe",
    "docs/*.md": f"{DOC}/",
    "docs/*.json": f"{DOC}/",
    "tests/scenarios/*.toml": f"{DOC}/examples/scenarios/",
}
MADE = {
    "man/*.1": "usr/share/man/man1/",
    "man/*.8": "usr/share/man/man8/",
    "completion/*.bash": "usr/share/bash-completion/completions/",
    "completion/_*": "usr/share/zsh/vendor-completions/",
    "completion/*.fish": "usr/share/fish/vendor_completions.d/",
}
CONFIG = "etc/shoed/table.toml"
CONFFILES = (CONFIG,)
SCRIPTS = ("postinst", "prerm", "postrm")


def needed(lock: str, roots: list[str]) -> str:
    """The part of a lock file that these packages and what they depend on need; its `# via` remarks tell."""
    blocks = {m[1]: m[0] for m in re.finditer(r"^([A-Za-z0-9._-]+)==.*\n(?:[ \t]+.*\n)*", lock, re.M)}
    via = re.compile(r"^    #(?: via)? +([A-Za-z0-9._-]+)", re.M)
    asked_by = {name: set(via.findall(text)) for name, text in blocks.items()}
    wanted = {_normal(root) for root in roots}
    if missing := wanted - set(blocks):
        raise SystemExit(f"requirements.lock has no {', '.join(sorted(missing))}; run `make lock`")
    while more := {name for name, by in asked_by.items() if by & wanted} - wanted:
        wanted |= more
    return "".join(blocks[name] for name in sorted(wanted))


def _normal(requirement: str) -> str:
    """The name in a requirement such as `Some_Package[extra]>=1`, as a lock file writes it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def run(*command: str | Path) -> None:
    """Run a command; one that fails has said why."""
    if subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")


def environment(tree: Path, project: dict[str, Any]) -> None:
    """The application with all that it needs at run time."""
    runtime = BUILD / "deb-requirements.txt"
    runtime.write_text(needed((ROOT / "requirements.lock").read_text(), project["dependencies"]))
    wheels = BUILD / "deb-wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, ROOT)
    # By the system's Python and not from the cache: what must be compiled carries no path of another Python.
    of_system = (*pip, "--python", PYTHON)
    run(*of_system, "wheel", "--no-cache-dir", "--no-deps", "--require-hashes", "-w", wheels, "-r", runtime)
    install = ("install", "--no-index", "--no-deps", "--no-compile", "--target", tree / SITE)
    run(*of_system, *install, *sorted(wheels.glob("*.whl")))
    shutil.rmtree(tree / SITE / "bin", ignore_errors=True)  # made for pip's own idea of where Python is
    for note in (tree / SITE).glob("*.dist-info/direct_url.json"):  # names a folder of this machine
        note.unlink()

    programs = tree / HOME / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(PYTHON)
    (tree / HOME / "pyvenv.cfg").write_text(f"home = {PYTHON.parent}\ninclude-system-site-packages = false\n")
    (tree / "usr/bin").mkdir(parents=True)
    for name, entry in project["scripts"].items():
        module, function = entry.split(":")
        program = programs / name
        # -I: neither the caller's environment variables nor the working directory bring in other code.
        program.write_text(
            f"#!/{HOME}/bin/python3 -I\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        )
        program.chmod(0o755)
        (tree / "usr/bin" / name).symlink_to(f"../lib/dragonshoe/bin/{name}")
    # /usr is closed to the daemon, so it could not keep compiled code: it is shipped.
    run(
        PYTHON, "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash",
        "-s", tree, "-p", "/", tree / SITE,
    )  # fmt: skip


def place(tree: Path, source: Path, target: str, name: str | None = None) -> None:
    """Copy a file to where the package has it; manual pages are compressed there."""
    to = tree / target / (name or source.name) if target.endswith("/") else tree / target
    to.parent.mkdir(parents=True, exist_ok=True)
    if "/man/" in target:
        to.with_name(to.name + ".gz").write_bytes(gzip.compress(source.read_bytes(), mtime=0))
    else:
        shutil.copyfile(source, to)


def files(tree: Path) -> None:
    """Everything that is not the application itself."""
    for pattern, target in SHIPPED.items():
        found = sorted(ROOT.glob(pattern))
        if not found:
            raise SystemExit(f"{pattern}: no such file in this checkout")
        for source in found:
            place(tree, source, target)
    (tree / CONFIG).parent.mkdir(parents=True)
    (tree / CONFIG).write_text(EXAMPLE)
    for pattern, target in MADE.items():
        for source in sorted(BUILD.glob(pattern)):
            place(tree, source, target, source.name.removesuffix(".bash"))


def changelog(version: str, epoch: int) -> bytes:
    """The changes in Debian's form; what changed is in CHANGELOG.md, and only there."""
    text = f"""\
dragonshoe ({version}) bookworm; urgency=medium

  * See CHANGELOG.md in this folder.

 -- The Dragonshoe maintainers <maintainers@dragonshoe.invalid>  {formatdate(epoch)}
"""
    return gzip.compress(text.encode(), mtime=0)


def control(tree: Path, version: str, arch: str) -> None:
    """The package's own description, scripts and sums."""
    folder = tree / "DEBIAN"
    shipped = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    kilobytes = sum(-(-path.stat().st_size // 1024) for path in shipped)
    folder.mkdir()
    fields = (DEBIAN / "control.in").read_text()
    for word, value in (("VERSION", version), ("ARCH", arch), ("SIZE", str(kilobytes))):
        fields = fields.replace(f"@{word}@", value)
    (folder / "control").write_text(fields)
    (folder / "conffiles").write_text("".join(f"/{name}\n" for name in CONFFILES))
    summed = [path for path in shipped if str(path.relative_to(tree)) not in CONFFILES]
    sums = (f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in summed)
    (folder / "md5sums").write_text("".join(sums))
    for name in SCRIPTS:
        shutil.copyfile(DEBIAN / name, folder / name)
        (folder / name).chmod(0o755)


def settle(tree: Path, epoch: int) -> None:
    """Give every file the mode and time that do not depend on who builds, and when."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or path.parent == tree / HOME / "bin" or path.name in SCRIPTS
            path.chmod(0o640 if str(path.relative_to(tree)) in CONFFILES else 0o755 if runs else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def output(*command: str) -> str:
    """What a command prints, without the line's end; nothing where it fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def main() -> None:
    """Build the package and print its name."""
    arch = output("dpkg", "--print-architecture")
    if not arch or not PYTHON.exists() or not HEADERS.exists():
        raise SystemExit("the package is built on Debian 12, with what `apt install python3-dev gcc` brings")
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct") or 0)
    os.environ |= {"SOURCE_DATE_EPOCH": str(epoch), "CFLAGS": "-g0", "LDFLAGS": "-s"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]

    tree = BUILD / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    environment(tree, project)
    files(tree)
    (tree / DOC / "changelog.gz").write_bytes(changelog(version, epoch))
    shutil.copyfile(ROOT / "CHANGELOG.md", tree / DOC / "CHANGELOG.md")
    control(tree, version, arch)
    settle(tree, epoch)
    package = BUILD / f"dragonshoe_{version}_{arch}.deb"
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, package)


if __name__ == "__main__":
    main()
