"""The one place where the controller loads the simulators: `shoed --simulate`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path


@contextlib.asynccontextmanager
async def simulated_devices(folder: Path, seed: int = 1) -> AsyncIterator[dict[str, str]]:
    """Run a simulated shuffler and shoe on ptys in this folder; gives their addresses by name."""
    from simulators.control import running
    from simulators.device import SimulatedTable
    from simulators.endpoints import Endpoint, PtyEndpoint

    table = SimulatedTable(seed, now=asyncio.get_running_loop().time())
    endpoints: dict[str, Endpoint] = {
        "shuffler": PtyEndpoint(table.shuffler, folder / "shuffler"),
        "shoe": PtyEndpoint(table.shoe, folder / "shoe"),
    }
    async with running(table, endpoints, folder):
        yield {name: endpoint.address for name, endpoint in endpoints.items()}
