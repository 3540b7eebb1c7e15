"""What each sync setting of the log can lose: nats-server killed, and power cut, while a publisher counts acks.

`python benchmarks/sync_loss.py [--rounds 5] [--seed 1]` prints one row per `sync_interval`.

Kill: nats-server is killed with -9 at a random moment and started again on its folder. Power: the
server's folder is a file system of its own in an image file. At a random moment the server is
frozen and the image copied: what the kernel had not written to the image yet is what a machine
without power loses. A server started on the copy tells what is left. This needs root (loop
mounts); elsewhere the columns stay empty. A disk that lies about its own cache is not modelled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from benchmarks.machine import quiet
from bus.clock import SystemClock
from bus.errors import BusUnavailable, StreamMissing
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration

SETTINGS = ("always", "1s", "2m")
"""What Foresail uses with a kubeconfig, what it uses with the twin, and nats-server's own default."""
DECLARATION = StreamDeclaration.of("c", "i1")
WRITERS = 4
EVENT_BYTES = 2_000
PACE_SECONDS = 0.002
"""Pause of each writer between two events: a held load, not the most that is possible."""
LIVE_SECONDS = (1.5, 6.0)
IMAGE_BYTES = 256 * 1024**2


@dataclass
class Acks:
    """What the publisher was told is stored."""

    times: dict[int, float] = field(default_factory=dict)
    """Monotonic seconds of each ack, by position."""
    ids: dict[int, str] = field(default_factory=dict)


@dataclass
class Losses:
    """What one way of dying cost, round by round."""

    events: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    acked: int = 0
    broken: int = 0
    """Rounds after which what was left was not the beginning of what had been, in order."""


async def publish(bus: NatsBus, acks: Acks, writer: int, clock: SystemClock) -> None:
    """Publish numbered events on one subject until cancelled or until nobody answers."""
    number = 0
    while True:
        number += 1
        event_id = f"w{writer}-{number}"
        data = json.dumps({"n": event_id, "fill": "x" * EVENT_BYTES}).encode()
        try:
            (seq,) = await bus.publish(
                [
                    Message(
                        f"foresail.c.w{writer}", {"Nats-Msg-Id": event_id, "ce-id": event_id}, data
                    )
                ]
            )
        except BusUnavailable:
            return
        acks.times[seq], acks.ids[seq] = clock.monotonic(), event_id
        await clock.sleep(PACE_SECONDS)


@asynccontextmanager
async def frozen_after(server: NatsServer, seconds: float) -> AsyncIterator[tuple[Acks, float]]:
    """Publish to a fresh log for some seconds, then freeze the server; give acks and the moment.

    The block copies what it wants; afterwards the server is killed.
    """
    clock, acks = SystemClock(), Acks()
    await NatsBus.declare(await server.start(), DECLARATION)
    server.persist()  # as the stack does
    buses = [
        await NatsBus.connect(server.url, cluster="c", stream=DECLARATION.name)
        for _ in range(WRITERS)
    ]
    tasks = [
        asyncio.create_task(publish(bus, acks, index, clock)) for index, bus in enumerate(buses)
    ]
    await clock.sleep(seconds)
    os.kill(server.pid, signal.SIGSTOP)
    frozen = clock.monotonic()
    await clock.sleep(0.2)  # acks that were sent before the freeze still arrive
    try:
        yield acks, frozen
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        os.kill(server.pid, signal.SIGKILL)
        await server.wait()
        for bus in buses:
            await bus.close()


async def read_log_after(folder: Path) -> dict[int, str]:
    """Start a server on a folder and return what its log holds, id by position."""
    server = NatsServer(folder)
    await server.start()
    try:
        try:
            bus = await NatsBus.connect(server.url, cluster="c", stream=DECLARATION.name)
        except StreamMissing:
            return {}
        ids_by_seq = {
            message.seq: message.headers["ce-id"] async for message in bus.history(["foresail.c.>"])
        }
        await bus.close()
    finally:
        await server.stop()
    return ids_by_seq


def weigh(losses: Losses, acks: Acks, frozen: float, ids_by_seq: dict[int, str]) -> None:
    """Add one round: which acknowledged events are gone, and how old the oldest of them was."""
    lost = [seq for seq, event_id in acks.ids.items() if ids_by_seq.get(seq) != event_id]
    losses.acked += len(acks.ids)
    losses.events.append(len(lost))
    losses.seconds.append(max((frozen - acks.times[seq] for seq in lost), default=0.0))
    losses.broken += sorted(ids_by_seq) != list(range(1, len(ids_by_seq) + 1)) or any(
        seq < max(ids_by_seq, default=0) for seq in lost
    )


async def kill_round(folder: Path, setting: str, seconds: float, losses: Losses) -> None:
    """One life that ends with kill -9."""
    server = NatsServer(folder, sync_interval=setting)
    async with frozen_after(server, seconds) as (acks, frozen):
        pass
    weigh(losses, acks, frozen, await read_log_after(folder))


async def power_round(image: Path, setting: str, seconds: float, losses: Losses) -> None:
    """One life on a disk of its own that ends without power."""
    copy = image.with_suffix(".copy")
    make_disk(image)
    with mount(image) as disk:
        server = NatsServer(disk / "nats", sync_interval=setting)
        async with frozen_after(server, seconds) as (acks, frozen):
            shutil.copyfile(image, copy)
    with mount(copy) as disk:
        weigh(losses, acks, frozen, await read_log_after(disk / "nats"))
    copy.unlink()


def make_disk(image: Path) -> None:
    """Make an empty ext4 file system in a file."""
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)


@contextmanager
def mount(image: Path) -> Iterator[Path]:
    """Mount an image for the length of a block; its journal is replayed as after a power failure."""
    folder = image.with_suffix(".mounted")
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount() -> bool:
    """Say whether this machine lets us mount disks."""
    return os.geteuid() == 0 and shutil.which("mkfs.ext4") is not None


async def measure(rounds: int, seed: int) -> dict[str, tuple[Losses, Losses]]:
    """Measure every setting; (killed, without power) by setting."""
    random, losses_by_setting = Random(seed), {}
    for setting in SETTINGS:
        killed, unpowered = Losses(), Losses()
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                base, seconds = Path(folder), random.uniform(*LIVE_SECONDS)
                await kill_round(base / "nats", setting, seconds, killed)
                if can_mount():
                    await power_round(base / "disk", setting, seconds, unpowered)
        losses_by_setting[setting] = (killed, unpowered)
    return losses_by_setting


def print_table(losses_by_setting: dict[str, tuple[Losses, Losses]]) -> None:
    """Print one row per setting."""
    table = Table(title="acknowledged events that are gone afterwards")
    for column in (
        "sync_interval",
        "rounds",
        "acked",
        "killed: lost",
        "power: lost, median",
        "power: lost, most",
        "power: oldest lost, s",
        "holes",
    ):
        table.add_column(column, justify="right")
    for setting, (killed, unpowered) in losses_by_setting.items():
        events = sorted(unpowered.events)
        table.add_row(
            setting,
            str(len(killed.events)),
            str(killed.acked + unpowered.acked),
            str(sum(killed.events)),
            str(events[len(events) // 2]) if events else "",
            str(events[-1]) if events else "",
            f"{max(unpowered.seconds):.2f}" if events else "",
            str(killed.broken + unpowered.broken),
        )
    Console(width=120).print(table)


def main() -> int:
    """Measure and print; exit code 1 when a killed process lost something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="kills per setting (default: 5)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="random seed of the moments of the kills (default: 1)",
    )
    arguments = parser.parse_args()
    quiet()
    found = asyncio.run(measure(arguments.rounds, arguments.seed))
    print_table(found)
    return 1 if any(sum(killed.events) + killed.broken for killed, _ in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
