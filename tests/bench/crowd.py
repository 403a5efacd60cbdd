"""`python -m tests.bench.crowd SOCKET SCREENS CLIENTS`: screens that listen and clients that ask, until it is ended."""

from __future__ import annotations

import asyncio
import sys

POLL_S = 1.0


async def listen(path: str) -> None:
    """A screen: it reads live events for ever."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(b"GET /api/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while await reader.read(65536):
        pass


async def poll(path: str, delay_s: float) -> None:
    """A client: it asks for the picture and the devices, again and again."""
    await asyncio.sleep(delay_s)
    reader, writer = await asyncio.open_unix_connection(path)
    while True:
        for name in (b"table", b"devices"):
            writer.write(b"GET /api/v1/%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % name)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
        await asyncio.sleep(POLL_S)


async def crowd(path: str, screens: int, clients: int) -> None:
    """All of them at once."""
    polls = [poll(path, number * POLL_S / clients) for number in range(clients)]
    working = asyncio.gather(*(listen(path) for _ in range(screens)), *polls)
    print("there", flush=True)
    await working


if __name__ == "__main__":
    asyncio.run(crowd(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
