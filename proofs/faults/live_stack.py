"""A small, fast stack started as a user starts it (`foresail up`), whose processes can be broken one
by one.

Everything is found by process id among the stack's own descendants; the verdict never comes from
here but from the log, which is read while the stack runs and again after its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bus.login import ANONYMOUS, Login
from bus.logins import read_logins
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.port import StoredMessage
from proofs.faults.log_watch import LogWatch, read_log
from proofs.faults.waiting import wait_until
from schemas.agents import agent_names

REPOSITORY = Path(__file__).parents[2]
READY_SECONDS = 900.0
STOP_SECONDS = 900.0
GONE_SECONDS = 120.0
"""After kill -9 of `foresail up` nothing may be left for longer, on however slow a machine."""
WORDS_CHARACTERS = 400
SETTLED_SECONDS = 0.3
"""A watch that has seen its connection end is closed at once; before, it would wait for an answer."""
AGENTS = tuple(f"agent-{name}" for name in sorted(agent_names()))
SERVICES = (*AGENTS, "collector", "executor", "inference", "referee", "scoreboard", "exerciser")
"""Services whose work the log shows."""


class NotReady(Exception):
    """A stack did not get as far as its first decisions; says what it printed last."""


@dataclass
class LiveStack:
    """One `foresail up` in a folder of its own; `start`, break it, `stop` or `kill`."""

    folder: Path
    seed: int = 1
    interval_seconds: float = 0.5
    nodes: int = 20
    extra: Sequence[str] = ()
    """More flags of `foresail up`."""
    untouched: bool = False
    """Whether the untouched world runs beside it: a seventh more work, which few faults are about."""
    watch: LogWatch = field(init=False)
    _up: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _watching: asyncio.Task[None] | None = field(init=False, default=None)

    @property
    def pid(self) -> int:
        """Process id of `foresail up`."""
        assert self._up is not None
        return self._up.pid

    @property
    def returncode(self) -> int | None:
        """Exit code of `foresail up`; None while it runs."""
        return None if self._up is None else self._up.poll()

    @property
    def file(self) -> dict[str, Any]:
        """What the stack wrote about itself; empty before it did."""
        try:
            content: dict[str, Any] = json.loads(
                (self.folder / "state" / "stack.json").read_bytes()
            )
        except OSError:
            return {}
        return content

    @property
    def output(self) -> str:
        """What `foresail up` has printed."""
        with suppress(OSError):
            return (self.folder / "up.log").read_text(encoding="utf-8", errors="replace")
        return ""

    @property
    def last_words(self) -> str:
        """What `foresail up` and each of its processes printed last, a line each, for a failure."""
        ends = [f"up: {self.output[-WORDS_CHARACTERS:]!r}"]
        for log in sorted((self.folder / "state").glob("incarnations/*/logs/*.log")):
            text = log.read_text(encoding="utf-8", errors="replace")[-WORDS_CHARACTERS:]
            ends += [f"{log.stem}: {text!r}"] if text else []
        return "\n".join(ends)

    def login(self, identity: str) -> Login:
        """Return the login of one identity on the stack's own server."""
        folder = self.folder / "state" / "incarnations" / self.file["incarnation"]
        return read_logins(folder).get(identity, ANONYMOUS)

    def launch(self) -> None:
        """Start `foresail up` and return at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = ["--nodes", str(self.nodes), "--interval", f"{self.interval_seconds:g}s"]
        flags += ["--seed", str(self.seed), "--dashboard-port", "0", "--exercise"]
        flags += ["--untouched", "on" if self.untouched else "off", "--state"]
        own = {name: value for name, value in os.environ.items() if not _is_foresails(name)}
        with (self.folder / "up.log").open("wb") as log:
            self._up = subprocess.Popen(
                [sys.executable, "-m", "foresail", "up", *flags, "state", *self.extra],
                cwd=self.folder,
                env={**own, "PYTHONPATH": str(REPOSITORY)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    async def start(self, cycles: int = 2) -> None:
        """Start and wait until `cycles` cycles are decided with a proposal of every agent.

        Raises:
            NotReady: it ended, or took longer than three minutes.
        """
        self.launch()
        up = self._up
        assert up is not None
        known = await wait_until(
            lambda: self.file.get("pid") == self.pid or up.poll() is not None, READY_SECONDS
        )
        if not known or up.poll() is not None:
            await self.kill()
            raise NotReady(f"foresail up ended or hung\n{self.last_words}")
        file = self.file
        self.watch = LogWatch(
            file["nats_url"], file["cluster"], file["stream"], self.login("reader")
        )
        self._watching = asyncio.create_task(self.watch.run(), name="log-watch")
        if not await self.watch.wait_for_decisions(cycles, READY_SECONDS):
            await self.kill()
            raise NotReady(f"no decisions\n{self.last_words}")

    def processes(self) -> dict[str, psutil.Process]:
        """Return the stack's living processes by name."""
        processes: dict[str, psutil.Process] = {}
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self.pid).children(recursive=True):
                name = _name(process)
                if name:
                    processes[name] = process
        return dict(sorted(processes.items()))

    def signal(self, name: str, number: signal.Signals = signal.SIGKILL) -> bool:
        """Send a signal to one process of the stack; False when it does not run right now."""
        process = self.processes().get(name)
        if process is None:
            return False
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
            return True
        return False

    async def stop(self) -> int:
        """Stop it as Ctrl-C does, and return its exit code; what does not stop is killed."""
        up = self._up
        if up is None:
            return 0
        if up.poll() is None:
            up.send_signal(signal.SIGINT)
            await wait_until(lambda: up.poll() is not None, STOP_SECONDS)
        await self.kill()
        return up.returncode

    async def kill(self) -> list[str]:
        """Kill -9 `foresail up` if it runs; return what still runs five seconds later (and end it)."""
        up = self._up
        if up is not None and up.poll() is None:
            up.kill()
            up.wait()
        if up is None:
            return []
        await wait_until(lambda: not self._remaining_processes(), GONE_SECONDS)
        await asyncio.sleep(SETTLED_SECONDS)
        await self._forget_watch()
        left = self._remaining_processes()
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return [_name(process) or "process" for process in left]

    async def log_after(self) -> list[StoredMessage]:
        """Read the whole log from disk, after the stack has ended, through a server of our own."""
        file = self.file
        folder = self.folder / "state" / "incarnations" / file["incarnation"] / "nats"
        logins = read_logins(folder.parent)
        accounts = accounts_conf(file["cluster"], file["stream"], logins) if logins else ""
        server = NatsServer(folder, accounts=accounts)
        url = await server.start()
        try:
            return await read_log(url, file["cluster"], file["stream"], self.login("reader"))
        finally:
            await server.stop()

    async def _forget_watch(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None

    def _remaining_processes(self) -> list[psutil.Process]:
        """Return living processes that this `foresail up` started, whoever their parent is now."""
        processes = []
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                    continue
                ours = str(self.folder / "state") in " ".join(process.cmdline())
                if ours or process.environ().get("FORESAIL_PARENT") == str(self.pid):
                    processes.append(process)
        return processes


def _name(process: psutil.Process) -> str:
    """Return a process' name in the stack; empty for anything else."""
    try:
        command = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return ""
    if command and Path(command[0]).name == "nats-server":
        return "nats-server"
    if command[1:2] != ["-m"] or len(command) < 3:
        return ""
    module = command[2]
    if module == "services.agents" and len(command) > 3:
        return f"agent-{command[3]}"
    if module == "foresail.twin_server":
        return "twin"
    return module.removeprefix("services.") if module.startswith("services.") else ""


def _is_foresails(variable: str) -> bool:
    return variable.startswith("FORESAIL_")
