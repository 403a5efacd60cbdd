"""The checks on the emulated machine. They run in this order, on one disk."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.core.machines import DeckState, TableState
from tests.appliance import probe
from tests.appliance.machine import DEVICES, PEOPLE, Failed, Machine, until
from tests.appliance.table import USB_PORTS, NoAnswer, PlayedTable

USERS = {"dealer": "dana", "floor": "flo"}
STRANGER = "mallory"
MOST_EXPOSURE = 1.0  # of `systemd-analyze security`, of 10
GROUP_ONLY = "660 root shoed"
CONFIGURATION = "ls /etc/shoed; sha256sum /etc/shoed/table.toml"
# Loads the screen, then tries an action there; prints both statuses.
PAGE = """
import http.client
for method, path, body in (("GET", "/", None), ("POST", "/api/v1/actions", '{"action": "open_table"}')):
    page = http.client.HTTPConnection("127.0.0.1", 8053, timeout=60)
    page.request(method, path, body, {"Content-Type": "application/json"})
    print(page.getresponse().status)
"""


@dataclass
class Appliance:
    """The machine, the table around it, and the measurements."""

    machine: Machine
    table: PlayedTable
    package: str  # file names in /payload
    upgrade: str
    boot_s: float = 0.0  # from power-on until the system is up, without the daemon: the unit of all figures
    figures: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # of the current check

    def measured(self, what: str, seconds: float) -> None:
        """Record a measurement."""
        self.figures.setdefault(what, []).append(seconds)

    # ---- the unit ----

    def show(self, *names: str) -> list[str]:
        """Properties of the unit."""
        said = self.machine.out("systemctl", "show", "shoed.service", *(f"-p{name}" for name in names))
        values = dict(line.split("=", 1) for line in said.splitlines())
        return [values[name] for name in names]

    def restarts(self) -> int:
        """How often systemd has restarted the daemon since the boot; the unit's NRestarts can be reset by a restart."""
        log = "journalctl --boot --unit shoed.service --output cat --no-pager"
        return int(self.machine.shell(f"{log} | grep -c 'Scheduled restart job' || true"))

    def active(self) -> bool:
        """Whether the unit is active."""
        return self.show("ActiveState") == ["active"]

    def await_active(self) -> None:
        """Wait until the unit is active."""
        until("shoed.service is active", self.active)

    def healthy(self) -> bool:
        """Whether the daemon reports that the table is up."""
        return self.machine.ask("dealer", "GET", "/healthz")[0] == 200

    def send_people(self) -> None:
        """Start a process for each person, as their own user."""
        for person in PEOPLE:
            port = f"/dev/virtio-ports/dragonshoe.{person}"
            self.machine.out(
                "systemd-run", "--quiet", "--collect", f"--unit=person-{person}", f"--uid={USERS[person]}",
                f"--property=StandardInput=file:{port}", f"--property=StandardOutput=file:{port}",
                "/usr/bin/python3", "/payload/person.py", "/run/shoed/control.sock",
            )  # fmt: skip

    # ---- the table ----

    def plug_in(self, *names: str) -> None:
        """Connect devices and wait until the table can use them."""
        for name in names:
            begun = time.monotonic()
            self.table.plug_in(name)
            self.table.until_online(name, True)
            self.measured("from plugging a device in to ready", time.monotonic() - begun)

    def decided(self, number: int, allowed: tuple[str, ...] = ("completed", "void, 13.G")) -> None:
        """The round continues or is void by the clause; then everything is resolved."""
        how = self.table.end_of_round(number)
        self.notes.append(f"round {number} {how}")
        if how not in allowed:
            raise Failed(f"round {number} ended {how}; allowed are {', '.join(allowed)}")


Check = Callable[[Appliance], None]
CHECKS: dict[str, Check] = {}


def check(name: str) -> Callable[[Check], Check]:
    """Add a check to the list."""

    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register


# ---- installation and start ----


@check("the package installs, and its service starts without devices")
def install(a: Appliance) -> None:
    m = a.machine
    m.shell("mkdir /payload && mount -o ro /dev/vdb /payload")
    m.out("dpkg", "-i", f"/payload/{a.package}")
    m.shell("udevadm control --reload; echo '/dev/vdb /payload ext4 ro 0 0' >> /etc/fstab")
    for role, name in USERS.items():
        m.out("useradd", "--create-home", "--groups", f"shoed-{role}", name)
    m.out("useradd", "--create-home", STRANGER)
    a.await_active()
    state, enabled, drop_ins = a.show("ActiveState", "UnitFileState", "DropInPaths")
    if (state, enabled, drop_ins) != ("active", "enabled", ""):
        raise Failed(f"the unit is {state}, {enabled}, with drop-ins {drop_ins!r}")
    a.send_people()
    until("the daemon answers", a.healthy)
    a.table.refresh()


@check("ready is said only when the table is up")
def ready(a: Appliance) -> None:
    m = a.machine
    m.out("systemctl", "restart", "shoed.service")  # returns when the unit is ready
    if not a.healthy():
        raise Failed("systemctl has started the unit, but the daemon does not answer")
    m.shell("systemctl stop shoed.service shoed.socket; chmod 000 /var/lib/shoed/journal.db")
    m.out("systemctl", "start", "--no-block", "shoed.service")
    status, answer = until("the daemon says what is wrong", lambda: _stopped(a))
    if a.show("ActiveState") != ["activating"]:
        raise Failed(f"the journal cannot be read, but the unit is {a.show('ActiveState')}: {status} {answer}")
    m.shell("chmod 640 /var/lib/shoed/journal.db")
    a.await_active()
    if not a.healthy():
        raise Failed("the unit is active, but the table is not up")


def _stopped(a: Appliance) -> tuple[int, object] | None:
    status, answer = a.machine.ask("dealer", "GET", "/healthz")
    return (status, answer) if status == 503 else None


@check("devices have stable names and only the daemon's group opens them")
def names(a: Appliance) -> None:
    a.table.wire("serial")
    a.plug_in(*DEVICES)
    for name in DEVICES:
        link = f"/dev/shoed/{name}"
        _check_node(a, link)
        before = a.machine.out("readlink", "-f", link)
        other = next(device for device in DEVICES if device != name)
        # Both are disconnected and connected in the other order: the kernel's numbers are swapped, the names are not.
        for device in (name, other):
            a.table.pull_out(device)
            _await_gone(a, f"/dev/shoed/{device}")
        a.plug_in(other, name)
        a.notes.append(f"{name}: {before} and then {a.machine.out('readlink', '-f', link)}")
        _check_node(a, link)


def _await_gone(a: Appliance, path: str) -> None:
    until(f"{path} is gone", lambda: a.machine.run("test", "-e", path).code == 1)


def _check_node(a: Appliance, link: str) -> None:
    said = a.machine.out("stat", "-Lc", "%a %U %G", link)
    if said != GROUP_ONLY:
        raise Failed(f"{link} is {said} instead of {GROUP_ONLY}")


@check("the sandbox holds as shipped")
def sandbox(a: Appliance) -> None:
    m = a.machine
    said = m.out("systemd-analyze", "security", "--no-pager", "shoed.service")
    found = re.search(r"exposure level for shoed\.service: ([0-9.]+)", said)
    if not found or float(found[1]) > MOST_EXPOSURE:
        raise Failed(f"systemd-analyze finds too much exposure: {said.splitlines()[-1]}")
    a.notes.append(f"exposure {found[1]}")
    pid, fragment = a.show("MainPID", "FragmentPath")
    status = m.out("cat", f"/proc/{pid}/status")
    for wanted in ("CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"):
        if wanted not in status:
            raise Failed(f"the daemon's process does not have {wanted!r}")
    # The same unit with another program: what the daemon could do if it were compromised.
    m.shell(
        f"systemctl stop shoed.service; sed -e 's|^ExecStart=.*|ExecStart=/usr/bin/python3 /payload/probe.py|'"
        " -e 's|^Type=.*|Type=oneshot|' -e '/^Restart/d' -e '/^WatchdogSec/d' -e '/^Requires/d'"
        f" {fragment} > /run/systemd/system/probe.service; systemctl daemon-reload; systemctl start probe.service"
    )
    lines = m.out("journalctl", "-u", "probe.service", "-o", "cat", "--no-pager").splitlines()
    tried = dict(json.loads(line) for line in lines if line.startswith("["))
    m.shell("rm /run/systemd/system/probe.service; systemctl daemon-reload; systemctl start shoed.service")
    wrong = [f"could {name}" for name in probe.MUST_FAIL if not tried.get(name)]
    wrong += [f"could not {name}: {tried.get(name, 'not tried')}" for name in probe.MUST_WORK if tried.get(name) != ""]
    if wrong:
        raise Failed("; ".join(wrong))


@check("a stranger on the machine gets nowhere")
def stranger(a: Appliance) -> None:
    m = a.machine
    a.await_active()
    (pid,) = a.show("MainPID")
    attempts = {
        "ask shoectl": ["shoectl", "status"],
        "open the table": ["shoectl", "do", "open_table"],
        "read the shoe's port": ["dd", "if=/dev/shoed/shoe", "of=/dev/null", "count=1", "iflag=nonblock"],
        "write to the shoe's port": ["sh", "-c", "echo > /dev/shoed/shoe"],
        "open the adaptor's USB": ["sh", "-c", ": > /dev/shoed/shoe-usb"],
        "read the journal": ["cat", "/var/lib/shoed/journal.db"],
        "read the configuration": ["cat", "/etc/shoed/table.toml"],
        "end the daemon": ["kill", "-9", pid],
        "restart the service": ["systemctl", "--no-ask-password", "restart", "shoed.service"],
    }
    a.table.refresh()
    before = a.table.state.table
    for name, command in attempts.items():
        done = m.run("runuser", "-u", STRANGER, "--", *command)
        if done.code == 0:
            raise Failed(f"a stranger could {name}: {done.out}")
        if "Traceback" in done.err:
            raise Failed(f"a stranger who tries to {name} sees a traceback: {done.err}")
    page = m.out("runuser", "-u", STRANGER, "--", "python3", "-c", PAGE).split()
    if page[0] != "200" or page[1] not in ("401", "403"):
        raise Failed(f"the screen answers a stranger with {page[0]}, and an action there with {page[1]}")
    a.table.refresh()
    if a.show("MainPID") != [pid] or a.table.state.table is not before:
        raise Failed("a stranger has changed something")


# ---- rounds ----


@check("a whole round by serial")
def round_by_serial(a: Appliance) -> None:
    a.table.whole_round()


@check("the shoe's serial cable is pulled in the deal, and put back")
def pull_shoe_serial(a: Appliance) -> None:
    _pull(a, "shoe")


@check("the shuffler's serial cable is pulled in the deal, and put back")
def pull_shuffler_serial(a: Appliance) -> None:
    _pull(a, "shuffler")


def _pull(a: Appliance, name: str) -> None:
    number = a.table.into_the_deal()
    a.table.pull_out(name)
    a.table.until_online(name, False)
    a.plug_in(name)
    # The deck in the shuffler does not affect the round (13.F).
    a.decided(number, ("completed",) if name == "shuffler" else ("completed", "void, 13.G"))


@check("the shoe's cable stays out beyond the grace time")
def stay_out(a: Appliance) -> None:
    number = a.table.into_the_deal()
    a.table.pull_out("shoe")
    a.table.until("the round is void", lambda state: state.table is TableState.VOIDING, working=False)
    a.plug_in("shoe")
    a.decided(number, ("void, 13.G",))


@check("the service is restarted in the deal")
def restart(a: Appliance) -> None:
    number = a.table.into_the_deal()
    _come_back(a, ["systemctl", "restart", "shoed.service"])
    a.decided(number)


@check("the daemon is killed in the deal")
def kill(a: Appliance) -> None:
    number = a.table.into_the_deal()
    _come_back(a, ["systemctl", "kill", "--signal=KILL", "shoed.service"], restarts=1)
    a.decided(number)


@check("the daemon hangs in the deal, and the watchdog starts it again")
def watchdog(a: Appliance) -> None:
    number = a.table.into_the_deal()
    begun = time.monotonic()
    _come_back(a, ["systemctl", "kill", "--signal=STOP", "--kill-whom=main", "shoed.service"], restarts=1)
    a.measured("from hanging to running again", time.monotonic() - begun)
    if "Watchdog timeout" not in a.machine.out("journalctl", "-u", "shoed.service", "--no-pager", "-n", "60"):
        raise Failed("the daemon was restarted, but not by the watchdog")
    a.decided(number)


def _come_back(a: Appliance, command: list[str], restarts: int = 0) -> None:
    """Run a command against the daemon; wait until it is up again with all events it has reported."""
    (pid,), before = a.show("MainPID"), a.restarts()
    a.machine.out(*command)
    until("another process runs", lambda: a.show("MainPID")[0] not in ("0", pid))
    a.await_active()
    if a.restarts() != before + restarts:
        raise Failed(f"systemd has restarted it {a.restarts() - before} times instead of {restarts}")
    a.table.check_nothing_lost()


@check("a whole round by USB")
def round_by_usb(a: Appliance) -> None:
    a.table.settle()
    for name in DEVICES:
        a.table.pull_out(name)
        a.machine.shell(f"sed -i 's|/dev/shoed/{name}\"|{USB_PORTS[name]}\"|' /etc/shoed/table.toml")
    a.machine.out("systemctl", "restart", "shoed.service")
    a.table.refresh()
    a.table.wire("usb")
    a.plug_in(*DEVICES)
    for name in DEVICES:
        _check_node(a, f"/dev/shoed/{name}-usb")
    a.table.whole_round()


@check("the shoe's USB cable is pulled in the deal, and put back")
def pull_shoe_usb(a: Appliance) -> None:
    _pull(a, "shoe")


@check("the shuffler's USB cable is pulled in the deal, and put back")
def pull_shuffler_usb(a: Appliance) -> None:
    _pull(a, "shuffler")


# ---- upgrade and power ----


@check("the package is upgraded between two rounds")
def upgrade(a: Appliance) -> None:
    a.table.settle()
    (pid,) = a.show("MainPID")
    before, kept = _loaded(a), a.machine.shell(CONFIGURATION)
    a.machine.out("dpkg", "-i", f"/payload/{a.upgrade}")
    a.await_active()
    if a.show("MainPID") == [pid]:
        raise Failed("the daemon was not restarted by the upgrade")
    a.table.check_nothing_lost()
    version = a.machine.out("dpkg-query", "-Wf", "${Version}", "dragonshoe")
    if f"_{version}_" not in a.upgrade:
        raise Failed(f"version {version} is installed")
    if a.machine.shell(CONFIGURATION) != kept:
        raise Failed(f"the configuration was not kept: {a.machine.shell(CONFIGURATION)} instead of {kept}")
    a.table.settle()
    if _loaded(a) != before:
        raise Failed(f"the shoe had {before} before; {a.table.describe()}")
    a.table.whole_round()


def _loaded(a: Appliance) -> tuple[int, list[str]]:
    """The number of rounds played, and the deck in the shoe."""
    state = a.table.state
    return state.rounds, [name for name, deck in state.decks.items() if deck.state is DeckState.LOADED]


@check("the power is cut in the deal")
def power_cut(a: Appliance) -> None:
    number = a.table.into_the_deal()
    a.table.in_loop(a.table.refresh)
    a.machine.cut_power()
    cut = time.monotonic()
    a.machine.switch_on()
    a.await_active()
    a.measured("from power-on to ready", time.monotonic() - a.machine.started_at)
    if restarts := a.restarts():  # the host was so busy that a start exceeded the unit's time limit
        a.notes.append(f"{restarts} restarts until then:")
        a.notes += a.machine.shell("journalctl -b -u shoed -o short-monotonic --no-pager | grep systemd").splitlines()
    a.send_people()
    until("the daemon answers", a.healthy)
    a.table.check_nothing_lost()
    until("the devices are there again", lambda: _online(a))
    a.measured("from power-on to the devices ready", time.monotonic() - a.machine.started_at)
    verified = a.machine.run("shoectl", "journal", "verify", "--journal", "/var/lib/shoed/journal.db")
    if verified.code:
        raise Failed(f"the journal does not verify: {verified.out}{verified.err}")
    a.notes.append(verified.out.strip().splitlines()[-1])
    a.decided(number)
    a.measured("from the power cut to the round decided and put right", time.monotonic() - cut)


def _online(a: Appliance) -> bool:
    try:
        a.table.in_loop(a.table.refresh)
    except NoAnswer:
        return False
    return all(device.online for device in a.table.state.devices.values())


@check("after the power cut a whole round, and no unit has failed")
def after_the_cut(a: Appliance) -> None:
    a.table.whole_round()
    failed = a.machine.out("systemctl", "--failed", "--plain", "--no-legend")
    if failed:
        raise Failed(f"units have failed since the power came back: {failed}")
