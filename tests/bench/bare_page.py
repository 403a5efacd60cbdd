"""`python -m tests.bench.bare_page PORT`: the least page that posts a tap and shows its echo from a stream.

It is served by the same server as the screen's, without a table, a journal or a picture behind it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from controller.api.fair_queue import FairQueue
from controller.api.server import api_server, tcp_socket

PAGE = """<!doctype html><title>Bare page</title><h1 id="step-text">0</h1><button>Tap</button><script>
let taps = 0;
document.querySelector("button").onclick = () => fetch("/tap", {method: "POST", body: JSON.stringify({tap: ++taps})});
new EventSource("/stream").onmessage = (event) => {
  document.querySelector("h1").textContent = JSON.parse(event.data).tap;
};
</script>"""


class Echo:
    """Sends every tap to all streams."""

    def __init__(self) -> None:
        self.streams: set[asyncio.Queue[bytes]] = set()

    async def page(self, request: Request) -> Response:
        return HTMLResponse(PAGE)

    async def tap(self, request: Request) -> Response:
        body = await request.body()
        for stream in self.streams:
            stream.put_nowait(body)
        return Response(body, media_type="application/json")

    async def stream(self, request: Request) -> Response:
        async def messages() -> AsyncIterator[bytes]:
            mine: asyncio.Queue[bytes] = asyncio.Queue()
            self.streams.add(mine)
            while True:
                yield b"data: %s\n\n" % await mine.get()

        return StreamingResponse(messages(), media_type="text/event-stream")


async def main(port: int) -> None:
    """Serve until the process is ended."""
    echo = Echo()
    app = Starlette(
        routes=[
            Route("/", echo.page),
            Route("/tap", echo.tap, methods=["POST"]),
            Route("/stream", echo.stream),
        ]
    )
    sock = tcp_socket("127.0.0.1", port)
    server = api_server(app, FairQueue())
    serving = asyncio.create_task(server.serve([sock]))
    await server.listening.wait()
    print("there", flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
