"""Controls running simulated devices over a Unix socket: inject and remove faults, load decks, take stacks.

One request is one line of JSON, {"do": ...}; the answer is one line too: {"ok": true, ...}, or false and "error".
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from firmware_bridge.wire.messages import ButtonName
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import ON_THE_TABLE, SimulatedDevice, SimulatedTable
from simulators.devices.faults import FaultName
from simulators.pipes.endpoints import Endpoint

SOCKET_NAME = "shoesim.sock"
LONGEST_REQUEST = 4096


class ControlError(Exception):
    """A request that cannot be carried out; the text is one line for a person."""


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """One request."""

    do: str
    device: str = ""
    fault: str = ""
    after_cards: int = 0
    for_s: float | None = None
    deck: str = ""
    seat: int = 0
    button: str = ""
    is_open: bool = False


class Hands:
    """Carries requests out on the devices of one table."""

    def __init__(self, table: SimulatedTable, endpoints: dict[str, Endpoint]) -> None:
        self.table = table
        self.endpoints = endpoints
        self._devices = {"shuffler": table.shuffler, "shoe": table.shoe}
        table.on_fed = self._look_soon
        self._doing: dict[str, Callable[[Request], dict[str, Any]]] = {
            "status": self._status,
            "inject": self._inject,
            "mend": self._mend,
            "load": self._load,
            "take": self._take,
            "gather": self._gather,
            "press": self._press,
            "door": self._door,
        }

    def carry_out(self, line: bytes) -> bytes:
        """Answer one request."""
        try:
            answer = {"ok": True, **self.do(msgspec.json.decode(line))}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ControlError) as error:
            answer = {"ok": False, "error": str(error)}
        return msgspec.json.encode(answer) + b"\n"

    def do(self, asked: object) -> dict[str, Any]:
        """Carry one request out; ControlError if it cannot be."""
        try:
            request = msgspec.convert(asked, Request)
        except msgspec.ValidationError as error:
            raise ControlError(str(error)) from None
        doing = self._doing.get(request.do)
        if doing is None:
            raise ControlError(f"unknown request {request.do!r}; expected one of {', '.join(self._doing)}")
        try:
            return doing(request)
        finally:
            self.look()

    def look(self) -> None:
        """Make every endpoint act on what was changed."""
        for endpoint in self.endpoints.values():
            endpoint.poke()

    def _look_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self.look)

    def _device(self, request: Request) -> tuple[SimulatedDevice, float]:
        if request.device not in self._devices:
            raise ControlError(f"unknown device {request.device!r}; expected one of {', '.join(self._devices)}")
        return self._devices[request.device], self.endpoints[request.device].driver.now()

    def _fault(self, request: Request) -> FaultName:
        try:
            return FaultName(request.fault)
        except ValueError:
            raise ControlError(f"unknown fault {request.fault!r}; expected one of {', '.join(FaultName)}") from None

    def _status(self, request: Request) -> dict[str, Any]:
        """How many cards are where; never which ones."""
        piles = self.table.cards.snapshot()
        return {
            "cards": {spot: len(pile) for spot, pile in piles.items()},
            "devices": {
                name: {
                    "address": self.endpoints[name].address,
                    "power": device.firmware is not None,
                    "plugged": device.plugged,
                    "mode": device.mechanics.mode.name.lower(),
                    "faults": [str(fault) for fault in device.faults],
                }
                for name, device in self._devices.items()
            },
        }

    def _inject(self, request: Request) -> dict[str, Any]:
        device, now = self._device(request)
        fault = self._fault(request)
        device.inject(fault, now, after_cards=request.after_cards, for_s=request.for_s)
        return {"faults": [str(fault) for fault in device.faults]}

    def _mend(self, request: Request) -> dict[str, Any]:
        device, now = self._device(request)
        fault = self._fault(request)
        if fault is FaultName.DEAD and fault in device.faults:
            raise ControlError("a dead device stays dead")
        device.mend(fault, now)
        return {"faults": [str(fault) for fault in device.faults]}

    def _load(self, request: Request) -> dict[str, Any]:
        device, now = self._device(request)
        spots = [
            spot
            for spot in self.table.cards.spots(CardPlace.TABLE)
            if not request.deck or self.table.cards.pile(spot)[0].deck == request.deck
        ]
        if not spots:
            what = f"no {request.deck} deck is" if request.deck else "no deck is"
            raise ControlError(f"{what} on the table; `gather` brings cards back there")
        loaded = self.table.cards.count(spots[0])
        device.load(spots[0], now)
        return {"cards": loaded}

    def _take(self, request: Request) -> dict[str, Any]:
        device, now = self._device(request)
        target = Spot(CardPlace.HAND, request.seat) if request.seat else ON_THE_TABLE
        return {"cards": len(device.take(target, now))}

    def _gather(self, request: Request) -> dict[str, Any]:
        """All cards from hands, rack and floor come back to the table, each deck to its own pile."""
        cards, gathered = self.table.cards, 0
        loose = [*cards.spots(CardPlace.HAND), *cards.spots(CardPlace.RACK), ON_THE_TABLE]
        for spot in loose:
            for card in cards.pile(spot):
                if card.face_up:
                    cards.flip(card)
                cards.move_card(card, spot, Spot(CardPlace.TABLE, self.table.decks.index(card.deck)))
                gathered += 1
        return {"cards": gathered}

    def _press(self, request: Request) -> dict[str, Any]:
        device, now = self._device(request)
        names = {"green": ButtonName.GREEN, "red": ButtonName.RED}
        if request.button not in names:
            raise ControlError(f"unknown button {request.button!r}; expected one of {', '.join(names)}")
        device.press(names[request.button], now)
        return {}

    def _door(self, request: Request) -> dict[str, Any]:
        device, now = self._device(request)
        if not device.door(request.is_open, now):
            raise ControlError("the door is locked")
        return {}


@contextlib.asynccontextmanager
async def running(table: SimulatedTable, endpoints: dict[str, Endpoint], folder: Path) -> AsyncIterator[Hands]:
    """Connect the devices of a table to their endpoints, and serve the requests of `ask` in this folder."""
    hands = Hands(table, endpoints)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The client is gone or sends garbage; or it is silent when the simulation ends.
        with contextlib.suppress(OSError, asyncio.LimitOverrunError, ValueError, asyncio.CancelledError):
            line = await reader.readline()
            if line:
                writer.write(hands.carry_out(line))
                await writer.drain()
        writer.close()

    path = folder / SOCKET_NAME
    if _answers(path):
        raise FileExistsError(f"simulators are already running in {folder}; stop them first")
    async with contextlib.AsyncExitStack() as stack:
        for endpoint in endpoints.values():
            await endpoint.start()
            stack.push_async_callback(endpoint.close)
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, path, limit=LONGEST_REQUEST)
        stack.callback(path.unlink, missing_ok=True)
        stack.callback(server.close)
        yield hands


def _answers(path: Path) -> bool:
    """Whether a process serves this socket; one whose owner was killed does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def ask(folder: Path, **request: Any) -> dict[str, Any]:
    """Send one request to the simulators that run in this folder, and wait for the answer."""
    path = folder / SOCKET_NAME
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        try:
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = connection.makefile("rb").readline()
        except OSError as error:
            raise ControlError(
                f"no simulators are running in {folder} ({error.strerror or error}); start them: shoesim run"
            ) from None
    if not line:
        raise ControlError(f"the simulators in {folder} did not answer")
    answer: dict[str, Any] = json.loads(line)
    if not answer.pop("ok"):
        raise ControlError(answer["error"])
    return answer
