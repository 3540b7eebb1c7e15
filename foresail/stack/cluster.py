"""The cluster a stack watches: the twin in a process of its own, or a real one by its kubeconfig."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError, Permanent
from foresail.derived import derived
from foresail.settings import StackSettings
from foresail.stack.workload import ChosenWorkload

READY_SECONDS = 60.0
STOP_SECONDS = 5.0


@dataclass
class Plant:
    """The cluster under control."""

    reader_kubeconfig: str
    writer_kubeconfig: str
    description: str
    mode: str
    speed: float
    supervisor_pid: int
    process: asyncio.subprocess.Process | None = None

    def fit(self, settings: StackSettings) -> StackSettings:
        """Return the settings with the cluster's mode and speed filled in."""
        run = settings.run.model_copy(update={"mode": self.mode, "speed": self.speed})
        return derived(StackSettings({**settings.groups, "run": run}, settings.origins))

    async def wait_ended(self) -> None:
        """Wait until the twin ends; never returns for a real cluster.

        Raises:
            Permanent: it ended although nobody asked it to; its world is gone.
        """
        if self.process is None:
            await asyncio.Event().wait()
            return
        code = await self.process.wait()
        raise Permanent(
            f"the twin ended with exit code {code}; its world is gone, start the stack again"
        )


async def start_plant(
    settings: StackSettings,
    workload: ChosenWorkload | None,
    folder: Path,
    cleanup: contextlib.AsyncExitStack,
) -> Plant:
    """Start the twin, or take the kubeconfig.

    Raises:
        InputError: the twin refuses what it was given.
    """
    run = settings.run
    if workload is None:
        path = str(run.kubeconfig)
        mode = run.mode or "shadow"
        return Plant(path, path, f"kubeconfig in {mode} mode", mode, 1.0, os.getpid())
    process = await _start_twin(settings, workload, folder)
    cleanup.push_async_callback(_stop, process)
    ready = await _ready(process, folder / "logs" / "twin.log")
    return Plant(
        reader_kubeconfig=ready["reader_kubeconfig"],
        writer_kubeconfig=ready["admin_kubeconfig"],
        description=ready["address"],
        mode=run.mode or "active",
        speed=workload.speed,
        supervisor_pid=os.getpid(),
        process=process,
    )


async def _start_twin(
    settings: StackSettings, workload: ChosenWorkload, folder: Path
) -> asyncio.subprocess.Process:
    run = settings.run
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "twin.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "twin",
            *(
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--seed",
                str(run.seed),
                "--speed",
                f"{workload.speed:g}",
            ),
            *(
                "--nodes",
                str(run.nodes),
                "--workload",
                workload.name_or_path,
                "--kubeconfig-dir",
                str(folder),
            ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "FORESAIL_PARENT": str(os.getpid())},
        )


async def _ready(process: asyncio.subprocess.Process, log: Path) -> dict[str, str]:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
    except TimeoutError:
        line = b""
    if not line:
        raise InputError("twin", _last_line(log), "see its log in the state folder")
    ready: dict[str, str] = json.loads(line)
    return ready


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
