"""The other ends of the pty, each in a process of its own: `python -m tests.bench.peers KIND FD`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

import serial

from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import Command, DeviceRole, Done, Hello, Welcome, decode_from_host

WELCOME = Welcome(1, 1, DeviceRole.SHOE, "Dragonshoe", "least device", "1", "1", b"", [])


def echo(fd: int) -> None:
    """The floor: whatever comes goes back."""
    while data := os.read(fd, 4096):
        os.write(fd, data)


def device(fd: int) -> None:
    """The least device that keeps to the protocol: a link, a greeting, and Done to every command."""
    link = Link(opens=False, boot=1)
    while data := os.read(fd, 4096):
        now = time.monotonic()
        for arrival in link.receive(data, now):
            if isinstance(arrival, bytes):
                message = decode_from_host(arrival)
                if isinstance(message, Command):
                    link.send(Done(message.id).encode(), now)
                elif isinstance(message, Hello):
                    link.send(WELCOME.encode(), now)
        output = link.take_output()
        if output:
            os.write(fd, output)


class _OnDescriptor(serial.Serial):
    """pyserial on the master side of a pty, which has no path to open."""

    def __init__(self, fd: int, **settings: Any) -> None:
        super().__init__(port=None, **settings)
        self.fd = fd
        self.is_open = True
        self.pipe_abort_read_r, self.pipe_abort_read_w = os.pipe()
        self.pipe_abort_write_r, self.pipe_abort_write_w = os.pipe()


def modbus(fd: int) -> None:
    """pymodbus' own RTU server with one register."""
    from pymodbus.server import StartAsyncSerialServer
    from pymodbus.simulator import DataType, SimData, SimDevice

    serial.serial_for_url = lambda url, **settings: _OnDescriptor(fd)
    registers = SimDevice(1, [SimData(0, count=10, values=17, datatype=DataType.REGISTERS)])
    asyncio.run(StartAsyncSerialServer(registers, port="the descriptor"))


if __name__ == "__main__":
    {"echo": echo, "device": device, "modbus": modbus}[sys.argv[1]](int(sys.argv[2]))
