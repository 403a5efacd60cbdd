"""`shoed`: the daemon. In this version it keeps the devices connected and tells what they report.

It gives no command and acknowledges no event: without a journal it must not, since an event that is acknowledged
is gone from the device.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from pathlib import Path
from typing import Annotated

import click
import msgspec
import structlog

from controller.logs import set_up_logs
from controller.simulate import simulated_devices
from firmware_bridge.devices import Device, Shoe, Shuffler
from firmware_bridge.hotplug import Hotplug
from firmware_bridge.link import Lost
from firmware_bridge.messages import AnyEvent, describe_message
from firmware_bridge.session import Ready, Rejected
from firmware_bridge.transport import PortSettings, PortUnsuitable, parse_address

RUN_FOLDER = Path("build/run")


class PortConfig(msgspec.Struct, forbid_unknown_fields=True):
    """Where a device is."""

    port: str
    baud: Annotated[int, msgspec.Meta(ge=50)] = 115200


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """The devices of a table; at least one."""

    shuffler: PortConfig | None = None
    shoe: PortConfig | None = None


class ConfigError(Exception):
    """A configuration that cannot be used; the text names file and key."""


def read_config(path: Path) -> Config:
    """Read and check a configuration as a whole."""
    try:
        config = msgspec.toml.decode(path.read_bytes(), type=Config)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    if config.shuffler is None and config.shoe is None:
        raise ConfigError(f"{path}: no device; write [shuffler] or [shoe] with a port")
    for name, device in (("shuffler", config.shuffler), ("shoe", config.shoe)):
        if device:
            try:
                parse_address(device.port)
            except PortUnsuitable as error:
                raise ConfigError(f"{path}: {name}.port: {error}") from None
    return config


async def follow(device: Device, name: str) -> None:
    """Log what a device reports."""
    log = structlog.get_logger().bind(device=name)
    async with device:
        async for noticed in device.events():
            if isinstance(noticed, Ready | Rejected | Lost):
                continue  # the connection has logged these itself
            event: AnyEvent = noticed
            log.info("device event", number=event.number, report=describe_message(event))


async def serve(config: Config) -> None:
    """Follow the devices until the process is asked to end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(ending, stop.set)
    host_boot = secrets.randbelow(2**32 - 1) + 1
    hotplug = Hotplug()
    await hotplug.start()
    tasks = []
    for name, kind, wanted in (("shuffler", Shuffler, config.shuffler), ("shoe", Shoe, config.shoe)):
        if wanted:
            device = kind(wanted.port, host_boot=host_boot, settings=PortSettings(baud=wanted.baud), hotplug=hotplug)
            tasks.append(asyncio.create_task(follow(device, name), name=name))
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in [waiting, *tasks]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await hotplug.close()
    for result in results:
        if isinstance(result, Exception):
            raise result
    structlog.get_logger().info("stopped")


async def _simulate(folder: Path) -> None:
    async with simulated_devices(folder) as addresses:
        structlog.get_logger().info("simulating", **addresses)
        await serve(Config(PortConfig(addresses["shuffler"]), PortConfig(addresses["shoe"])))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), help="TOML file that says where the devices are."
)
@click.option("--simulate", is_flag=True, help="Run simulated devices, in build/run, and follow them.")
@click.version_option(package_name="dragonshoe")
def shoed(config_file: Path | None, simulate: bool) -> None:
    """Keep the shuffler and the shoe of a table connected, and tell what they report."""
    set_up_logs()
    if simulate == bool(config_file):
        raise click.UsageError("give either --config FILE or --simulate")
    try:
        if simulate:
            RUN_FOLDER.mkdir(parents=True, exist_ok=True)
            asyncio.run(_simulate(RUN_FOLDER))
        elif config_file:
            asyncio.run(serve(read_config(config_file)))
    except (ConfigError, OSError) as error:
        raise click.ClickException(str(error)) from None


def main() -> None:
    """The command."""
    shoed(prog_name="shoed")
