"""A device's side written in C from docs/protocol.md alone: it passes the conformance test, and our host works it."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge.tools.conform import chosen, conform
from firmware_bridge.tools.conform.link_talk import QUIET_S, LinkTalk
from firmware_bridge.wire.messages import CycleDone, Dispense, EventMessage, Outcome, Place, StackPresented, StackTaken
from tests.support.connected import ConnectedDevice

SOURCE = Path(__file__).parents[1] / "c_device" / "device.c"
LIMIT_S = 120.0  # generous: only a hang runs into it
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-D_XOPEN_SOURCE=600")

# Points that wait for what must not come, and a few whose ground others go over again. `shoectl conform --with-cards
# --slow` on the device checks all, in about 40 s.
LONG = {
    "frame.crc",
    "frame.empty",
    "link.goodbye",
    "link.heartbeat",
    "link.death",
    "link.acknowledge",
    "link.duplicate",
    "link.window",
    "link.resend",
    "session.greeting_first",
    "event.stored",
    "event.order",
    "event.once",
    "event.hello_again",
    "event.room",
    "cards.replay",
}
OF_A_SHUFFLER = {"sequence.shuffle", "sequence.deliver"}
QUICK = [point.name for point in chosen(with_cards=True) if point.name not in LONG | OF_A_SHUFFLER]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The device, compiled without a warning."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on the path")
    target = tmp_path_factory.mktemp("c_device") / "device"
    built = subprocess.run([compiler, *STRICT, "-o", str(target), str(SOURCE)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return target


@pytest.fixture
def port(program: Path) -> Iterator[str]:
    """The path of a device that has just started. It ends when its standard input is closed."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as device:
        assert device.stdin is not None
        assert device.stdout is not None
        try:
            yield device.stdout.readline().strip()
            assert device.poll() is None, "the device has ended by itself"
            device.stdin.close()
            assert device.wait(timeout=LIMIT_S) == 0
        finally:
            device.kill()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow late answers, as on a busy machine. Listening for what must not come takes its fixed time.

    The time limits of answers are tested in virtual time, on simulated devices, in test_conform.py.
    """
    until = LinkTalk.until
    monkeypatch.setattr(LinkTalk, "rest", lambda talk, for_s: until(talk, lambda: None, for_s))
    monkeypatch.setattr(
        LinkTalk, "until", lambda talk, found, within: until(talk, found, within if within <= QUIET_S else LIMIT_S)
    )


@pytest.mark.usefixtures("unhurried")
def test_passes_the_conformance_check(port: str) -> None:
    async def check() -> None:
        async with asyncio.timeout(5 * LIMIT_S):
            results = await conform(port, with_cards=True, only=QUICK)
        assert [(result.name, result.detail) for result in results if result.verdict != "passed"] == []
        assert [result.name for result in results] == QUICK

    asyncio.run(check())


def test_our_host_deals_from_it(port: str) -> None:
    async def deal() -> None:
        async with asyncio.timeout(LIMIT_S), ConnectedDevice(port) as shoe:
            await shoe.command(Dispense, 1, 3)
            await shoe.until(StackTaken)
            presented, done, taken = shoe.happenings.of(EventMessage)[-3:]
            assert isinstance(presented, StackPresented)
            assert (presented.command, presented.place, presented.cards) == (1, Place.EXIT, 3)
            assert isinstance(done, CycleDone)
            assert (done.command, done.outcome, done.cards) == (1, Outcome.COMPLETE, 3)
            assert isinstance(taken, StackTaken)
            assert (taken.command, taken.place, taken.cards) == (1, Place.EXIT, 3)

    asyncio.run(deal())
