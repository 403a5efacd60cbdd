"""Checks users, groups, and the permissions of the service's files."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from controller.cli.checks.examination import OK, WRONG, CheckResult, Examination, Results, exists
from controller.cli.client import INSTALLED
from controller.daemon.config import Config

_ACCESS = {"r": "read", "rw": "read and write", "rwx": "use"}


def check_groups(examination: Examination) -> Results:
    """Whether the service's user and the groups of the roles exist, and which of them this user is in."""
    control = (examination.config or Config()).control
    names = [name for role in ("dealer", "floor", "technician", "auditor") for name in getattr(control, role)]
    missing = [name for name in names if not exists(grp.getgrnam, name)]
    if not exists(pwd.getpwnam, examination.user):
        missing.append(f"the user {examination.user}")
    if missing:
        yield WRONG, f"missing: {', '.join(missing)}", "sudo systemd-sysusers"
    if os.geteuid() == 0:
        yield OK, "root is technician and auditor", ""
        return
    me = _user_name(os.getuid())
    # Like the daemon: a new membership takes effect at once, without a new login.
    mine = {grp.getgrgid(gid).gr_name for gid in os.getgrouplist(me, os.getegid()) if exists(grp.getgrgid, gid)}
    if mine & set(names):
        yield OK, f"{me} is in {', '.join(sorted(mine & set(names)))}", ""
    else:
        yield WRONG, f"{me} has no role at the table", f"sudo usermod -aG shoed-technician {me}"


def check_permissions(examination: Examination) -> Results:
    """Whether the service can use its files, and others cannot."""
    screen = examination.config.screen if examination.config else None
    people = examination.path(screen.people if screen else "/etc/shoed/people.toml")
    user = examination.user
    checked = 0
    problems: list[CheckResult] = []
    for path, forbidden, owner, needed in (
        (examination.path(examination.config_file), 0o022, "root", "r"),
        (people, 0o027, "root", "r"),
        (examination.path("/var/lib/shoed"), 0o027, user, "rwx"),
        (examination.journal, 0o027, user, "rw"),
        (examination.path(INSTALLED.parent), 0o022, user, "rwx"),
    ):
        try:
            found = path.stat() if path else None
        except OSError:
            continue  # missing or hidden: other topics report that
        if path and found:
            checked += 1
            problems += _permissions(path, found, forbidden, owner, needed, user)
    yield from problems or _auditors(examination, (examination.config or Config()).control.auditor)
    if checked:
        yield OK, f"{checked} files and folders of the service checked", ""


def _auditors(examination: Examination, groups: tuple[str, ...]) -> Results:
    """Whether the auditors can read the journal of the installed service."""
    folder, journal = examination.path("/var/lib/shoed"), examination.journal
    known = {grp.getgrnam(group).gr_gid: group for group in groups if exists(grp.getgrnam, group)}
    if journal is None or journal.parent != folder or not known:
        return
    try:
        both = [(folder, folder.stat(), 0o050, "rx"), (journal, journal.stat(), 0o040, "r")]
    except OSError:
        return  # missing or hidden: other topics report that
    for path, found, needed, letters in both:
        if found.st_gid not in known or found.st_mode & needed != needed:
            group = next(iter(known.values()))
            fix = f"sudo chgrp {group} {path} && sudo chmod g+{letters} {path}"
            yield WRONG, f"{path} cannot be read by auditors (group {group})", fix
            return


def _permissions(path: Path, found: os.stat_result, forbidden: int, owner: str, needed: str, user: str) -> Results:
    mode = stat.S_IMODE(found.st_mode)
    if mode & forbidden:
        fix = f"sudo chmod {mode & ~forbidden:04o} {path}"
        yield WRONG, f"{path} has mode {mode:04o}: other users can access it", fix
    if exists(pwd.getpwnam, owner) and found.st_uid != pwd.getpwnam(owner).pw_uid:
        text = f"{path} belongs to {_user_name(found.st_uid)}, not to {owner}"
        yield WRONG, text, f"sudo chown {owner} {path}"
    elif not _may_access(user, found, needed):
        fix = f"sudo chmod u+{needed} {path}"
        if owner != user:
            fix = f"sudo chgrp {user} {path} && sudo chmod g+{needed} {path}"
        yield WRONG, f"{path} has mode {mode:04o}: the service cannot {_ACCESS[needed]} it", fix


def _may_access(user: str, found: os.stat_result, needed: str) -> bool:
    """Whether the service's user may access a file, as its owner, through its group, or as anybody."""
    if not exists(pwd.getpwnam, user):
        return True  # the topic "groups" reports that
    entry = pwd.getpwnam(user)
    bits = sum({"r": 4, "w": 2, "x": 1}[letter] for letter in needed)
    if found.st_uid == entry.pw_uid:
        return found.st_mode >> 6 & bits == bits
    if found.st_gid in os.getgrouplist(user, entry.pw_gid):
        return found.st_mode >> 3 & bits == bits
    return found.st_mode & bits == bits


def _user_name(uid: int) -> str:
    return pwd.getpwuid(uid).pw_name if exists(pwd.getpwuid, uid) else str(uid)
