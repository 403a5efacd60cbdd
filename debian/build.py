"""Builds the Debian package: `python -m debian.build 13` writes build/dragonshoe_VERSION+deb13_ARCH.deb.

The application has an environment of its own in /usr/lib/dragonshoe, for the Python of one release of Debian, with
exactly what requirements.lock names. It is installed by that Python, in a Debian system that debian/system.py makes, so
the building machine may run another release. The same commit gives the same bytes.
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
from debian.releases import BUILD, ROOT, DebianRelease, architecture, parse
from debian.system import run, run_inside

DEBIAN = ROOT / "debian"
HOME = Path("usr/lib/dragonshoe")
DOC = Path("usr/share/doc/dragonshoe")

# Where the files of this checkout go. A pattern that matches nothing is an error.
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
    "docs/games/*.md": f"{DOC}/games/",
    "tests/scenarios/*.toml": f"{DOC}/examples/scenarios/",
}
# Written into build/ by `make manual`.
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

# Run in the Debian system, in a folder with requirements.txt and the application's own wheel; $1 is where everything
# goes. Programs are removed because pip writes its own idea of where Python is into them, direct_url.json because it
# names a folder of the build. /usr is closed to the daemon, so it could not keep compiled code: it is shipped.
INSTALL = """
set -e
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore CFLAGS=-g0 LDFLAGS=-s
python3 -m pip -q wheel --no-deps --require-hashes -w wheels -r requirements.txt
python3 -m pip -q install --no-deps --no-compile --target "$1" wheels/*.whl
rm -rf "$1/bin" "$1"/*.dist-info/direct_url.json
python3 -I -m compileall -q --invalidation-mode unchecked-hash -s "$PWD" -p / "$PWD/$1"
"""


def site_packages(release: DebianRelease) -> Path:
    """Where Python looks for the application and its libraries."""
    return HOME / f"lib/python{release.python_version}/site-packages"


def needed(lock: str, roots: list[str]) -> str:
    """The part of a lock file that these packages and their dependencies need, according to its `# via` comments."""
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


def environment(tree: Path, release: DebianRelease, project: dict[str, Any]) -> None:
    """The application with everything that it needs at run time."""
    parts = release.folder / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    (parts / "requirements.txt").write_text(needed((ROOT / "requirements.lock").read_text(), project["dependencies"]))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", parts / "wheels", ROOT)
    code = run_inside(
        release, "sh", "-c", INSTALL, "sh", str(site_packages(release)),
        folder=parts, at="/parts", environment={"SOURCE_DATE_EPOCH": os.environ["SOURCE_DATE_EPOCH"]},
    )  # fmt: skip
    if code:
        raise SystemExit(f"Cannot install the libraries on Debian {release.number}; see above")
    site = tree / site_packages(release)
    site.parent.mkdir(parents=True)
    (parts / site_packages(release)).rename(site)

    programs = tree / HOME / "bin"
    programs.mkdir()
    python = Path(f"/usr/bin/python{release.python_version}")
    (programs / "python3").symlink_to(python)
    (tree / HOME / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    (tree / "usr/bin").mkdir(parents=True)
    for name, entry in project["scripts"].items():
        module, function = entry.split(":")
        program = programs / name
        # -I: neither the caller's environment variables nor the working directory bring in other code.
        program.write_text(
            f"#!/{HOME}/bin/python3 -I\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        )
        (tree / "usr/bin" / name).symlink_to(f"../lib/dragonshoe/bin/{name}")


def place(tree: Path, source: Path, target: str, name: str | None = None) -> None:
    """Copy a file to its place in the package; manual pages are compressed."""
    to = tree / target / (name or source.name) if target.endswith("/") else tree / target
    to.parent.mkdir(parents=True, exist_ok=True)
    if "/man/" in target:
        to.with_name(to.name + ".gz").write_bytes(gzip.compress(source.read_bytes(), mtime=0))
    else:
        shutil.copyfile(source, to)


def files(tree: Path) -> None:
    """Everything except the application itself."""
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


def changelog(release: DebianRelease, epoch: int) -> bytes:
    """The changes in Debian's form; what changed is in CHANGELOG.md, and only there."""
    text = f"""\
dragonshoe ({release.version}) {release.codename}; urgency=medium

  * See CHANGELOG.md in this folder.

 -- The Dragonshoe maintainers <maintainers@dragonshoe.invalid>  {formatdate(epoch)}
"""
    return gzip.compress(text.encode(), mtime=0)


def control(tree: Path, release: DebianRelease) -> None:
    """The package's description, scripts and checksums."""
    folder = tree / "DEBIAN"
    shipped = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    kilobytes = sum(-(-path.stat().st_size // 1024) for path in shipped)
    folder.mkdir()
    fields = (DEBIAN / "control.in").read_text()
    major, minor = release.python
    values = {
        "VERSION": release.version,
        "ARCH": architecture(),
        "SIZE": str(kilobytes),
        "PYTHON": release.python_version,
        "NEXT_PYTHON": f"{major}.{minor + 1}",
    }
    for word, value in values.items():
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
    """Give every file a mode and time that depend neither on the builder nor on the date."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or path.parent == tree / HOME / "bin" or path.name in SCRIPTS
            path.chmod(0o640 if str(path.relative_to(tree)) in CONFFILES else 0o755 if runs else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def output(*command: str) -> str:
    """What a command prints, without trailing newlines; empty if it fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def build(release: DebianRelease) -> None:
    """Build the package for a release of Debian and print its name."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct") or 0)
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    tree = release.folder / "package"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    environment(tree, release, project)
    files(tree)
    (tree / DOC / "changelog.gz").write_bytes(changelog(release, epoch))
    shutil.copyfile(ROOT / "CHANGELOG.md", tree / DOC / "CHANGELOG.md")
    control(tree, release)
    settle(tree, epoch)
    unfinished = release.folder / release.package.name
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, unfinished)
    unfinished.replace(release.package)
    print(f"built {release.package.relative_to(ROOT)}")


if __name__ == "__main__":
    for wanted in parse(sys.argv[1:]):
        build(wanted)
