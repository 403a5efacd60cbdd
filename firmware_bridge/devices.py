"""The devices as the controller sees them: `Shuffler` and `Shoe`, with a typed method for each command.

A method returns when the device has taken the command on, and raises a `DeviceError` otherwise. What the command
leads to comes as events. `id` is the number that the journal gave the command; `boot` is the device's boot id when
the command was decided: by default the present one, after a restart of the host the one in the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar, Self

from firmware_bridge.connection import Connection, NotReady
from firmware_bridge.ports.hotplug import Hotplug
from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortSettings
from firmware_bridge.wire.link import LinkTiming, Lost
from firmware_bridge.wire.messages import (
    AnyCommand,
    AnyEvent,
    AskCounters,
    AskStatus,
    ClearJam,
    Counters,
    Deliver,
    DeviceRole,
    Dispense,
    Eject,
    EventMessage,
    Identify,
    Identity,
    Indicate,
    Light,
    Lock,
    Release,
    SelfTest,
    Shuffle,
    Sound,
    Status,
    Unlock,
)
from firmware_bridge.wire.session import DeviceIdentity, EventMark, Happening, HostSession, Ready, Rejected

Noticed = AnyEvent | Ready | Rejected | Lost


class Device:
    """What shuffler and shoe have in common."""

    role: ClassVar[DeviceRole | None] = None  # None: whatever answers

    def __init__(
        self,
        address: str,
        *,
        host_boot: int,
        stored: EventMark = EventMark(),  # noqa: B008 - frozen
        settings: PortSettings = DEFAULT_SETTINGS,
        timing: LinkTiming | None = None,
        hotplug: Hotplug | None = None,
    ) -> None:
        session = HostSession(
            host_boot=host_boot, stored=stored, timing=timing, software="dragonshoe", expects=self.role
        )
        self.connection = Connection(
            address,
            session,
            settings=settings,
            hotplug=hotplug,
            on_happening=self._happened,
        )
        self._noticed: asyncio.Queue[Noticed | BaseException] = asyncio.Queue()
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.connection.run(), name=f"{self.connection.address} device")
        self._running.add_done_callback(self._ended)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.connection.close()
        if self._running:
            await self._running

    @property
    def identity(self) -> DeviceIdentity | None:
        """Who the device said it is, when it last welcomed us."""
        return self.connection.session.identity

    @property
    def boot(self) -> int:
        """The boot id that commands decided now are meant for."""
        return self.connection.session.boot

    async def until_ready(self) -> None:
        """Wait for the device."""
        await self.connection.until_ready()

    # --- what comes from the device ---------------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[Noticed]:
        """Every event once and in order, and between them what happened to the connection.

        The events that follow a `Ready` are those of its boot. What ends the connection by a fault is raised here.
        """
        while True:
            noticed = await self._noticed.get()
            if isinstance(noticed, BaseException):
                raise noticed
            yield noticed

    def stored(self, mark: EventMark) -> None:
        """All events up to this one are on disk: the device may forget them.

        The mark must have the boot that the event came from: by now the device may have another, and new events
        under the same numbers.
        """
        self.connection.stored(mark)

    def _happened(self, happening: Happening) -> None:
        if isinstance(happening, EventMessage | Ready | Rejected | Lost):
            self._noticed.put_nowait(happening)

    def _ended(self, running: asyncio.Task[None]) -> None:
        if not running.cancelled() and (error := running.exception()):
            self._noticed.put_nowait(error)

    # --- questions --------------------------------------------------------------------------------------------------

    async def status(self) -> Status:
        """What it is doing."""
        answer = await self.connection.ask(AskStatus)
        assert isinstance(answer, Status)
        return answer

    async def counters(self) -> Counters:
        """What it has done since its boot."""
        answer = await self.connection.ask(AskCounters)
        assert isinstance(answer, Counters)
        return answer

    async def identify(self) -> DeviceIdentity:
        """Who it is."""
        answer = await self.connection.ask(Identify)
        assert isinstance(answer, Identity)
        return DeviceIdentity.of(answer)

    # --- commands ---------------------------------------------------------------------------------------------------

    async def give(self, command: AnyCommand) -> None:
        """Give a command as it stands in the journal."""
        await self.connection.command(command)

    async def lock(self, id: int, boot: int | None = None) -> None:
        """Lock doors and card ways."""
        await self.give(Lock(id, self._for(boot)))

    async def unlock(self, id: int, boot: int | None = None) -> None:
        """Undo a lock."""
        await self.give(Unlock(id, self._for(boot)))

    async def eject(self, id: int, boot: int | None = None) -> None:
        """Bring out every card that is inside."""
        await self.give(Eject(id, self._for(boot)))

    async def clear_jam(self, id: int, boot: int | None = None) -> None:
        """A person has taken the jam away: be ready again."""
        await self.give(ClearJam(id, self._for(boot)))

    async def self_test(self, id: int, boot: int | None = None) -> None:
        """Test motors and sensors."""
        await self.give(SelfTest(id, self._for(boot)))

    async def indicate(
        self, id: int, light: Light, text: str = "", sound: Sound = Sound.NONE, boot: int | None = None
    ) -> None:
        """Show a light and a text, and make a sound."""
        if len(text) > 64:
            raise ValueError(f"an indicator's text has at most 64 characters, not {len(text)}")
        await self.give(Indicate(id, self._for(boot), light, text, sound))

    def _for(self, boot: int | None) -> int:
        boot = self.boot if boot is None else boot
        if not boot:
            raise NotReady(f"{self.connection.address}: no device has answered yet")
        return boot


class Shuffler(Device):
    """A card shuffler."""

    role = DeviceRole.SHUFFLER

    async def shuffle(self, id: int, boot: int | None = None) -> None:
        """Shuffle the deck in the infeed."""
        await self.give(Shuffle(id, self._for(boot)))

    async def deliver(self, id: int, boot: int | None = None) -> None:
        """Bring the shuffled deck into the shoe, or out to the dealer."""
        await self.give(Deliver(id, self._for(boot)))


class Shoe(Device):
    """A dealing shoe."""

    role = DeviceRole.SHOE

    async def dispense(self, id: int, cards: int, *, hold: bool = False, boot: int | None = None) -> None:
        """Form a stack and present it, or keep it inside."""
        await self.give(Dispense(id, self._for(boot), cards, hold))

    async def release(self, id: int, boot: int | None = None) -> None:
        """Present the stack that was kept inside."""
        await self.give(Release(id, self._for(boot)))
