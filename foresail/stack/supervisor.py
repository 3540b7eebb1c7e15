"""Keeps every process of a stack running: nats-server, the simulated cluster and the services.

- **Start and watch.** A process that ends is started again after a pause that doubles up to half a
  minute (see `restarts`); servers at once, since everybody needs them.
- **Frozen.** Each process is asked for a sign of life once a second. One that was ready and is silent
  for too long (stopped, or with an event loop that hangs) is killed with SIGKILL, since a stopped
  process acts on nothing else, and is started again without a pause. What it, or the supervisor, waited for
  a processor does not count: other work on the machine makes processes slow, not frozen.
- **Give up.** A service that ends with exit code 2 was given bad input: its last line is the stack's
  own error. So is the last reason of a process that fails to start several times in a row.
- **Stop.** In order, smaller `stop_order` first; what does not stop in time is killed.

Children get a parent-death signal from the kernel, so a killed supervisor leaves none behind.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.errors import ForesailError, InputError
from bus.failure_detector import FailureDetector, LivenessReport
from bus.item_errors import ItemErrors
from bus.processor_time import ProcessorMeter, ReadThreads, read_threads
from foresail.output import print_error
from foresail.stack.restarts import MOST_FAILED_STARTS, Backoff, ProcessEnd, process_end
from foresail.stack.supervised_processes import SupervisedProcess
from projections.figures import duration
from schemas.envelope import rfc3339

ROUND_SECONDS = 1.0
"""Pause between two questions."""
ASK_SECONDS = 1.0
"""How long an answer may take."""

Listener = Callable[[str, str], None]
"""Called with a process' name and what happened to it."""


@dataclass
class _Child:
    """One kept process."""

    process: SupervisedProcess
    backoff: Backoff
    running: bool = False
    """Whether it was started and its end has not been noticed yet."""
    started: bool = False
    """Whether it was ever started, by the supervisor or before."""
    failed_starts: int = 0
    """In a row, up to now."""
    frozen: str = ""
    """Why it was killed for being frozen; empty when it was not."""
    last_end: str = ""
    """How and when it last ended; empty when it has not."""
    stopping: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Supervisor:
    """Keeps processes running until `stop` is called."""

    def __init__(
        self, clock: Clock, *, patience_seconds: float, read: ReadThreads = read_threads
    ) -> None:
        """Count a process as frozen after `patience_seconds` of silence (0: never); `read` says what waited for a
        processor.
        """
        self._read = read
        self._clock = clock
        self._patience_seconds = patience_seconds
        self._on_change: Listener = _ignore
        self._on_frozen: Listener = _ignore
        self._children: dict[str, _Child] = {}
        self._errors = ItemErrors("supervisor", report=print_error)
        self._failure: asyncio.Future[InputError] = asyncio.get_running_loop().create_future()

    @property
    def pids(self) -> Mapping[str, int]:
        """Process id by name; 0 while one is between two starts."""
        return {name: child.process.pid for name, child in self._children.items()}

    @property
    def last_ends(self) -> Mapping[str, str]:
        """How and when each process that ended last did, by name."""
        return {name: child.last_end for name, child in self._children.items() if child.last_end}

    def add(self, *processes: SupervisedProcess) -> None:
        """Take processes that `stop` will stop; `keep` keeps them running."""
        for process in processes:
            backoff = Backoff(process.first_pause_seconds)
            self._children[process.name] = _Child(process, backoff)

    def keep(self, on_change: Listener, on_frozen: Listener) -> None:
        """Keep everything running that was added; what does not run yet is started.

        `on_change` hears of starts and ends, `on_frozen` of a frozen process that was killed.
        """
        self._on_change, self._on_frozen = on_change, on_frozen
        for name, child in self._children.items():
            if child.tasks or child.stopping:
                continue
            child.running = child.started = child.process.pid != 0
            child.tasks.append(asyncio.create_task(self._keep(child), name=f"keep-{name}"))
            if self._patience_seconds:
                child.tasks.append(asyncio.create_task(self._watch(child), name=f"watch-{name}"))

    def kill(self, name: str, why: str) -> bool:
        """Kill one process with SIGKILL, and keep why; it is started again.

        False when it does not run, or is being stopped.
        """
        child = self._children[name]
        if child.stopping or not child.process.kill():
            return False
        child.frozen = why
        return True

    async def stop(self, last_order: int | None = None) -> None:
        """Stop everything, smaller `stop_order` first; only up to `last_order` where that is given."""
        orders = {child.process.stop_order for child in self._children.values()}
        for order in sorted(orders):
            if last_order is None or order <= last_order:
                children = self._children.values()
                group = [child for child in children if child.process.stop_order == order]
                await asyncio.gather(*(self._stop(child) for child in group))

    async def wait_failure(self) -> None:
        """Wait until a process is given up.

        Raises:
            InputError: always, with that process' own line.
        """
        raise await self._failure

    async def _stop(self, child: _Child) -> None:
        child.stopping = True
        await cancel_and_wait(*child.tasks)
        await child.process.stop()

    async def _keep(self, child: _Child) -> None:
        going_on = True
        while going_on:
            with self._errors.item("keep", child.process.name) as item:
                going_on = await self._keep_once(child)
            if item.failed:
                await self._clock.sleep(ROUND_SECONDS)

    async def _keep_once(self, child: _Child) -> bool:
        """Run a process to its end and wait until it may start again; False: it is given up."""
        end = await self._run_once(child)
        child.last_end = f"{end.text} at {rfc3339(self._clock.wall_ns() / 1e9)}"
        name = child.process.name
        if end.refused:
            self._give_up(name, child.process.last_words())
            return False
        if child.failed_starts >= MOST_FAILED_STARTS:
            self._give_up(name, end.start_error)
            return False
        pause = child.backoff.pause_seconds(end)
        self._on_change(name, f"ended with {end.text}; starting again in {duration(pause)}")
        await self._clock.sleep(pause)
        return True

    async def _run_once(self, child: _Child) -> ProcessEnd:
        """Start a process unless it runs, wait for its end, and return how it ended."""
        process = child.process
        if not child.running:
            try:
                await process.start()
            except (ForesailError, OSError) as error:
                child.failed_starts += 1
                return ProcessEnd(f"an error ({error})", start_error=str(error))
            child.failed_starts = 0
            what = "started again" if child.started else "started"
            child.running = child.started = True
            self._on_change(process.name, what)
        began = self._clock.monotonic()
        code = await process.wait()
        child.running, ran_seconds = False, self._clock.monotonic() - began
        frozen, child.frozen = child.frozen, ""
        return process_end(code, ran_seconds, frozen=frozen, own_program=process.own_program)

    def _give_up(self, name: str, why: str) -> None:
        """End the stack because of one process; the first reason counts."""
        if not self._failure.done():
            remedy = "correct the setting it names"
            self._failure.set_result(InputError(f"process {name}", why, remedy))

    async def _watch(self, child: _Child) -> None:
        """Kill a process that was ready once and is silent for too long."""
        process = child.process
        pid, detector = 0, FailureDetector(self._patience_seconds)
        meters: list[ProcessorMeter] = []
        while True:
            if process.pid != pid:
                pid, detector = process.pid, FailureDetector(self._patience_seconds)
                meters = [ProcessorMeter(one, self._read) for one in (pid, os.getpid())]
            began = self._clock.monotonic()
            await self._clock.sleep(ROUND_SECONDS)
            report = None
            with self._errors.item("watch", process.name):
                report = await ask(process) if pid else None
            if not pid or process.pid != pid:
                continue
            elapsed = self._clock.monotonic() - began
            delayed = max(meter.since_last().delayed_seconds for meter in meters)
            detector.observe(ROUND_SECONDS + ASK_SECONDS, elapsed, report, delayed)
            if detector.frozen:
                why = f"frozen: no sign of life for {duration(detector.seconds)}; killed"
                if self.kill(process.name, why):
                    self._on_frozen(process.name, why)
                pid = 0


def _ignore(_name: str, _what: str) -> None:
    """Hear nothing."""


async def ask(process: SupervisedProcess) -> LivenessReport | None:
    """Return a process' sign of life; None when none came in time."""
    try:
        async with asyncio.timeout(ASK_SECONDS):
            return await process.sign_of_life()
    except (OSError, TimeoutError):
        return None
