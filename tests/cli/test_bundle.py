"""`shoectl bundle`: complete while the daemon runs, nearly complete without it, and never with a secret."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from controller.cli import bundle
from controller.cli.bundle import archive, without_secrets
from controller.cli.checks.examination import Examination
from controller.daemon.people import hash_pin
from tests.cli.test_doctor import Machine, machine, tear
from tests.support.shoectl import complaint, shoectl

__all__ = ["machine"]  # a fixture

PARTS = {
    "versions.json",
    "config.toml",
    "doctor.json",
    "doctor.txt",
    "log.txt",
    "kernel.txt",
    "daemon/table.json",
    "daemon/devices.json",
    "daemon/journal.json",
    "daemon/actions.json",
    "daemon/rounds.json",
    "daemon/metrics.txt",
    "daemon/frames-shuffler.txt",
    "daemon/frames-shoe.txt",
    "journal/verification.json",
    "journal/events.jsonl",
    "problems.txt",
    "SHA256SUMS",
}


@pytest.fixture
def ready(machine: Machine) -> Machine:
    machine.command("journalctl", "2026-03-14T15:09:26+0000 table7 shoed[812]: ready")
    machine.daemon.answers |= {
        "/api/v1/rounds": {"rounds": []},
        "/metrics": "shoed_rounds_total 17",
        "/api/v1/devices/shoe/frames": {"lines": ["   -0.010s out DATA 3 12 bytes"]},
        "/api/v1/devices/shuffler/frames": {"lines": []},
    }
    return machine


def unpacked(path: Path) -> dict[str, bytes]:
    """The parts by name, without the folder that contains them."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            found = {name: packed.read(name) for name in packed.namelist()}
    else:
        with tarfile.open(path) as tar:
            found = {name: getattr(tar.extractfile(name), "read", bytes)() for name in tar.getnames()}
    folders = {name.split("/")[0] for name in found}
    assert folders == {path.name.split(".")[0]}
    return {name.split("/", 1)[1]: content for name, content in found.items()}


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.zip"])
def test_everything_is_in_it(ready: Machine, tmp_path: Path, name: str) -> None:
    parts, problems = archive(ready.examination(), tmp_path / name)
    assert problems == []
    found = unpacked(tmp_path / name)
    assert set(found) == set(parts) == PARTS
    for line in found["SHA256SUMS"].decode().splitlines():
        digest, part = line.split("  ")
        assert hashlib.sha256(found[part]).hexdigest() == digest
    assert json.loads(found["versions.json"])["packages"]["msgspec"]
    assert json.loads(found["journal/verification.json"]) | {"head": ""} == {
        "path": str(ready.journal),
        "ok": True,
        "events": 1,
        "head": "",
    }
    assert json.loads(found["journal/events.jsonl"])["kind"] == "table.opened"
    assert json.loads(found["daemon/table.json"])["name"] == "Table 7"
    assert b"DATA 3 12 bytes" in found["daemon/frames-shoe.txt"]
    assert b"ready" in found["log.txt"]
    assert b"nothing is wrong" in found["doctor.txt"]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_nothing_secret_is_in_it(ready: Machine, tmp_path: Path) -> None:
    config = ready.path("/etc/shoed/table.toml")
    config.write_text(config.read_text() + '\n[link]\npsk = "open sesame"\n')
    archive(ready.examination(), tmp_path / "a.zip")
    found = unpacked(tmp_path / "a.zip")
    everything = b"".join(found.values())
    assert b"open sesame" not in everything
    assert hash_pin("2580", b"salt").rsplit("$", 1)[1].encode() not in everything
    assert b"scrypt$" not in everything
    assert b"psk" in found["config.toml"]


def test_with_the_daemon_down_and_a_torn_journal(ready: Machine, tmp_path: Path) -> None:
    tear(ready.journal)
    examination = Examination(None, "nobody is there", root=ready.root, user=ready.user)
    _, problems = archive(examination, tmp_path / "a.tar.gz")
    found = unpacked(tmp_path / "a.tar.gz")
    assert problems == ["daemon/: nobody is there"]
    assert found["problems.txt"] == b"daemon/: nobody is there\n"
    assert set(found) == {part for part in PARTS if not part.startswith("daemon/")}
    output = json.loads(found["journal/verification.json"])
    assert (output["ok"], output["bad"]) == (False, 1)


def test_secrets_are_taken_out_of_any_text() -> None:
    text = """\
name = "Table 1" # the key to it
psk = "abc"
[screen]
session-token = '''
more of it
= and more'''
"Api Key" = "spaced"
link = { psk = "inline", port = 1 }
api_key=["a",
  "b"]
listen = "127.0.0.1:8053"
PIN = 1234
not toml at all
"""
    output = without_secrets(text)
    for secret in ("spaced", "inline", "abc", "more of it", "and more", '"b"', "1234"):
        assert secret not in output
    for kept in ('name = "Table 1" # the key to it', "[screen]", 'listen = "127.0.0.1:8053"', "session-token ="):
        assert kept in output


# --- the verb ---------------------------------------------------------------------------------------------------------


def test_the_verb(ready: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ready.daemon.answers["/api/v1/table"]["simulated"] = True
    words = ["bundle", "--socket", str(ready.daemon.path), "--config", str(ready.path("/etc/shoed/table.toml"))]
    done = shoectl(*words)
    assert done.exit_code == 0, done.output
    (file,) = tmp_path.glob("shoed-support-*.tar.gz")
    assert done.stdout.startswith(f"{file.name}: 17 parts, ")
    assert "already exists" in complaint(shoectl(*words, file.name))
    output = json.loads(shoectl(*words, file.name, "--force", "--json").stdout)
    assert (output["file"], set(output["parts"]), output["problems"]) == (file.name, PARTS - {"config.toml"}, [])
    assert "must end with .tar.gz" in complaint(shoectl(*words, "a.rar"), 2)
    assert "a.zip: No such file" in complaint(shoectl(*words, "nowhere/a.zip"))


def test_no_half_archive(ready: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(out: io.BufferedWriter, folder: str, contents: dict[str, bytes]) -> None:
        out.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "_tar", full)
    target = tmp_path / "out" / "a.tgz"
    target.parent.mkdir()
    assert "No space left" in complaint(shoectl("bundle", str(target), "--socket", str(ready.daemon.path)))
    assert list(target.parent.iterdir()) == []


def test_links_are_not_followed(ready: Machine, tmp_path: Path) -> None:
    """A link beside the archive could make root overwrite any file, a link in place of the configuration reveal one."""
    precious = tmp_path / "precious"
    precious.write_text("keep")
    file = tmp_path / "out.zip"
    (tmp_path / "out.zip.part").symlink_to(precious)
    archive(ready.examination(), file)
    assert precious.read_text() == "keep"
    linked = tmp_path / "linked.zip"
    linked.symlink_to(precious)
    for words in ((), ("--force",)):
        assert "is a symbolic link; give the path of the file itself" in complaint(
            shoectl("bundle", str(linked), *words)
        )
    assert precious.read_text() == "keep"
    examination = ready.examination()
    config = examination.path(examination.config_file)
    config.rename(tmp_path / "moved.toml")
    config.symlink_to(tmp_path / "moved.toml")
    parts, problems = archive(ready.examination(), tmp_path / "second.zip")
    assert "config.toml" not in parts
    assert [problem for problem in problems if "config.toml: " in problem and "is a symbolic link" in problem]
