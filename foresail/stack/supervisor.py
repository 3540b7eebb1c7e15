"""Starts the stack's processes, brings back those that die, and stops them in order.

A process that dies is started again after a back-off that doubles up to half a minute; one
that ran for a minute starts afresh. A process that ends with exit code 2 was given bad input: its
last error line is the stack's own, and nothing is retried. One that ends with exit code 3 lost its
subjects to another process of its name: it is tried again only after half a minute, and each time
is told, since only an operator knows which of the two should live. A frozen process (see `frozen`) is
started again at once: it has been missing for long enough. Children get a parent-death signal from
the kernel, so a killed supervisor leaves none behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.nats_server import die_with_parent
from bus.process import ANOTHER_WRITER, BAD_INPUT
from foresail.stack.keeper import ending
from foresail.stack.processes import ProcessSpec
from projections.figures import duration
from schemas.envelope import rfc3339

LONGEST_BACKOFF_SECONDS = 30.0
SETTLED_SECONDS = 60.0
STOP_SECONDS = 8.0


@dataclass
class Child:
    """One supervised process."""

    spec: ProcessSpec
    pid: int = 0
    starts: int = 0
    stopping: bool = False
    frozen: str = ""
    """Why it was killed for being frozen; empty when it was not."""
    replaced: bool = False
    """Whether its newest start replaced a frozen one."""
    last_end: str = ""
    """How and when it last died; empty when it has not."""
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None


class Supervisor:
    """Keeps processes running until told to stop."""

    def __init__(
        self,
        logs: Path,
        clock: Clock,
        *,
        first_backoff_seconds: float,
        on_change: Callable[[str, str], None] | None = None,
    ) -> None:
        """Keep processes whose first restart waits `first_backoff_seconds`: longer than one cycle.

        So the cycle in which a process died closes without it, visibly, instead of racing its
        return. Write each process' output to `logs/<name>.log`; `on_change(process, what)` hears of
        starts and deaths.
        """
        self._logs = logs
        self._clock = clock
        self._first_backoff_seconds = first_backoff_seconds
        self._on_change = on_change or (lambda _process, _what: None)
        self._children: dict[str, Child] = {}
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Resolves to one error line when a process refuses its input for good."""
        logs.mkdir(parents=True, exist_ok=True)

    @property
    def pids(self) -> Mapping[str, int]:
        """Process id by name; 0 while one is between two starts."""
        return {name: child.pid for name, child in self._children.items()}

    @property
    def last_ends(self) -> Mapping[str, str]:
        """How and when each process that died last did, by name."""
        return {name: child.last_end for name, child in self._children.items() if child.last_end}

    @property
    def names(self) -> Sequence[str]:
        """Every process by name, in starting order."""
        return tuple(self._children)

    def kill(self, name: str, why: str) -> bool:
        """Kill one process with SIGKILL, and keep why; it is started again. False when it does not
        run, or is being stopped.
        """
        child = self._children[name]
        if child.process is None or child.process.returncode is not None or child.stopping:
            return False
        child.frozen = why
        child.process.kill()
        return True

    def tell(self, line: str) -> None:
        """Add a line to `logs/stack.log`: what happened to which process, and when."""
        with (self._logs / "stack.log").open("a", encoding="utf-8") as log:
            log.write(f"{rfc3339(self._clock.wall_ns() / 1e9)} {line}\n")

    def start(self, specs: Sequence[ProcessSpec]) -> None:
        """Start processes and keep them running."""
        for spec in specs:
            child = Child(spec)
            self._children[spec.name] = child
            child.task = asyncio.create_task(self._keep(child), name=f"keep-{spec.name}")

    async def stop(self) -> None:
        """Stop everything, smaller `stop_order` first; what does not stop in time is killed."""
        for order in sorted({child.spec.stop_order for child in self._children.values()}):
            await self.stop_order(order)

    async def stop_order(self, order: int) -> None:
        """Stop the processes of one order and wait for them."""
        group = [child for child in self._children.values() if child.spec.stop_order == order]
        await asyncio.gather(*(self._stop(child) for child in group))

    async def _stop(self, child: Child) -> None:
        child.stopping = True
        process = child.process
        if process is not None and process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        if child.task is not None:
            await cancel_and_wait(child.task)
        child.pid = 0

    async def _keep(self, child: Child) -> None:
        backoff = self._first_backoff_seconds
        while not child.stopping:
            began = self._clock.monotonic()
            code = await self._run_once(child)
            if child.stopping:
                return
            if code == BAD_INPUT:
                self._give_up(child)
                return
            settled = self._clock.monotonic() - began > SETTLED_SECONDS
            if settled:
                backoff = self._first_backoff_seconds
            hung = bool(child.frozen) or code == ExitCode.HUNG
            how = _how(code, child.frozen)
            if code == ANOTHER_WRITER:
                backoff = LONGEST_BACKOFF_SECONDS
            child.last_end = f"{how} at {rfc3339(self._clock.wall_ns() / 1e9)}"
            at_once = hung and (settled or not child.replaced)
            child.frozen, child.replaced = "", hung
            pause = 0.0 if at_once else backoff
            self._on_change(
                child.spec.name, f"ended with {how}; starting again in {duration(pause)}"
            )
            await self._clock.sleep(pause)
            if not at_once:
                backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)

    async def _run_once(self, child: Child) -> int:
        with (self._logs / f"{child.spec.name}.log").open("ab") as log:
            child.process = await asyncio.create_subprocess_exec(
                *child.spec.command,
                env={**os.environ, **child.spec.environment, "FORESAIL_PARENT": str(os.getpid())},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )
        child.pid = child.process.pid
        child.starts += 1
        self._on_change(child.spec.name, "started" if child.starts == 1 else "started again")
        code = await child.process.wait()
        child.pid = 0
        return code

    def _give_up(self, child: Child) -> None:
        lines = (
            (self._logs / f"{child.spec.name}.log")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
        self.give_up(child.spec.name, lines[-1] if lines else "it gave no reason")

    def give_up(self, name: str, why: str) -> None:
        """End the stack because of one process; the first reason counts."""
        if not self.failure.done():
            self.failure.set_result(f"{name}: {why}")

    async def wait_failure(self) -> None:
        """Wait until a process refuses its input.

        Raises:
            InputError: always, with that process' own line.
        """
        line = await self.failure
        name, _, text = line.partition(": ")
        raise InputError(f"process {name}", text, "correct the setting it names")


def _how(code: int, frozen: str) -> str:
    """Say how a process ended, and why where that is known."""
    reasons: dict[int, str] = {
        ANOTHER_WRITER: "another process of its name writes the log, stop one of the two",
        ExitCode.HUNG: "its event loop hung, its log shows where",
    }
    why = frozen or reasons.get(code, "")
    return f"{ending(code)}: {why}" if why else ending(code)
