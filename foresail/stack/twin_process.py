"""The twin as a process of the stack: started once, and again on the same port, tokens and journal."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from bus.child_process import ChildProcess
from bus.child_timeouts import START_SECONDS
from bus.errors import InputError, NeverReady
from bus.hang_watch import hang_variables
from bus.health import PORT_VARIABLE
from bus.ports import hold_port
from foresail.settings import StackSettings
from foresail.stack.workload import ChosenWorkload

REPLAY_SECONDS = 7_200.0
"""How long a restarted twin may be busy: it re-runs its world from the beginning."""
STOP_SECONDS = 20.0
JOURNAL_FILE = "twin.journal"


class TwinProcess:
    """One twin; `start`, then `stop`; `wait` returns when it dies, `restart` brings it back."""

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
        self._port = port or hold_port(self)
        self._options = dict(options or {})
        self.health_port = hold_port(self)
        """Where it answers /healthz, /readyz and /metrics."""
        self._child = ChildProcess()

    @property
    def pid(self) -> int:
        """The twin's process id; 0 while it does not run."""
        return self._child.pid

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self._folder / "logs" / "twin.log"

    async def start(self, busy_seconds: float = START_SECONDS) -> dict[str, str]:
        """Start and wait until it serves, `busy_seconds` at most; return what it prints (see `twin.__main__`).

        Raises:
            InputError: it refuses what it was given, or hangs.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        environment = {
            PORT_VARIABLE: str(self.health_port),
            **hang_variables(self._settings.run.frozen_seconds),
        }
        with self.log.open("ab") as log:
            await self._child.start(
                self._command(),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                environment=environment,
            )
        why = ""
        try:
            line = await self._child.wait_ready(self._child.stdout.readline(), busy_seconds)
        except NeverReady as error:
            line, why = b"", f"{error}; its log ends with: " if self._child.runs else ""
        if not line:
            await self.stop()
            raise InputError("twin", why + last_line(self.log), "see its log in the state folder")
        ready: dict[str, str] = json.loads(line)
        return ready

    async def restart(self) -> None:
        """Start again where it was; see `start`."""
        await self.start(REPLAY_SECONDS)

    async def wait(self) -> int:
        """Wait until it ends; return its exit code, negative for a signal."""
        return await self._child.wait()

    def kill(self) -> bool:
        """Kill it with SIGKILL; False when it does not run."""
        return self._child.kill()

    async def stop(self) -> None:
        """Stop it and wait."""
        await self._child.stop(STOP_SECONDS)

    def world_arguments(self) -> tuple[str, ...]:
        """Return the words of a command line that make this world, its journal included."""
        return _words(self._world_options())

    def _command(self) -> tuple[str, ...]:
        options = {
            "--host": "127.0.0.1",
            "--port": str(self._port),
            "--speed": str(self._workload.speed),
            "--kubeconfig-dir": str(self._folder),
            **self._world_options(),
            **self._options,
        }
        return (sys.executable, "-m", "foresail.twin_server", *_words(options))

    def _world_options(self) -> dict[str, str]:
        run = self._settings.run
        return {
            "--seed": str(run.seed),
            "--nodes": str(run.nodes),
            "--workload": self._workload.name_or_path,
            "--journal": str(self._folder / JOURNAL_FILE),
            "--scenario": run.scenario or "",
            "--provisioner": "" if run.provisioner == "none" else run.provisioner,
            "--machines": run.machines or "",
            "--weather": run.weather,
            "--start-time": "" if run.start_time is None else run.start_time.isoformat(),
        }


def _words(options: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for option in options.items() if option[1] for word in option)


def last_line(log: Path) -> str:
    """Return the last line of a process' log."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
