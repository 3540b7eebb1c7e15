"""The twin as a process of the stack: started once, and again on the same port, tokens and journal."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bus.errors import InputError
from bus.hang_watch import hang_variables
from bus.health import PORT_VARIABLE
from bus.nats_server import die_with_parent, free_port
from foresail.settings import StackSettings
from foresail.stack.workload import ChosenWorkload

READY_SECONDS = 60.0
REPLAY_SECONDS = 900.0
"""How long a restarted twin may take: it re-runs its world from the beginning."""
STOP_SECONDS = 5.0
JOURNAL_FILE = "twin.journal"


class TwinProcess:
    """One twin; `start`, then `stop`; `wait` tells of its death, `restart` brings it back."""

    def __init__(
        self,
        settings: StackSettings,
        workload: ChosenWorkload,
        folder: Path,
        *,
        port: int = 0,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Keep kubeconfig files, tokens and the journal in `folder`, its log in `folder`/logs.

        `options` are further words of its command line, or other values for those given here; an
        empty value leaves one out.
        """
        self._settings = settings
        self._workload = workload
        self._folder = folder
        self._port = port
        self._options = dict(options or {})
        self.health_port = free_port()
        """Where it answers /healthz, /readyz and /metrics."""
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """The twin's process id; 0 before the start."""
        return 0 if self._process is None else self._process.pid

    async def start(self, ready_seconds: float = READY_SECONDS) -> dict[str, str]:
        """Start and wait until it serves; return what it said (see `twin.__main__`).

        Raises:
            InputError: it refuses what it was given.
        """
        log = self._folder / "logs" / "twin.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
                env={
                    **os.environ,
                    "FORESAIL_PARENT": str(os.getpid()),
                    PORT_VARIABLE: str(self.health_port),
                    **hang_variables(self._settings.run.frozen_seconds),
                },
            )
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), ready_seconds)
        except TimeoutError:
            line = b""
        if not line:
            await self.stop()
            raise InputError("twin", _last_line(log), "see its log in the state folder")
        ready: dict[str, str] = json.loads(line)
        self._port = int(ready["address"].rsplit(":", 1)[1])
        return ready

    async def restart(self) -> None:
        """Start again where it was; see `start`."""
        await self.start(REPLAY_SECONDS)

    async def wait(self) -> int:
        """Wait until it ends; return its exit code, negative for a signal."""
        assert self._process is not None, "not started"
        return await self._process.wait()

    def kill(self) -> bool:
        """Kill it with SIGKILL; False when it does not run."""
        process = self._process
        if process is None or process.returncode is not None:
            return False
        process.kill()
        return True

    async def stop(self) -> None:
        """Stop it and wait."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _command(self) -> tuple[str, ...]:
        run = self._settings.run
        options = {
            "--host": "127.0.0.1",
            "--port": str(self._port),
            "--seed": str(run.seed),
            "--speed": f"{self._workload.speed:g}",
            "--nodes": str(run.nodes),
            "--workload": self._workload.name_or_path,
            "--kubeconfig-dir": str(self._folder),
            "--journal": str(self._folder / JOURNAL_FILE),
            "--scenario": run.scenario or "",
            **self._options,
        }
        words = [word for option in options.items() if option[1] for word in option]
        return (sys.executable, "-m", "twin", *words)


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
