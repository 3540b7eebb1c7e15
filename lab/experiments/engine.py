"""Spreads trials over processes of this machine, or over machines by Ray where it is installed.

Results come in any order; each is a pure function of its trial, so neither engine, order nor restarts change one.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

from bus.errors import InputError
from lab.experiments.results import PlayedTrial
from lab.experiments.spec import Trial

EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "ray")


@dataclass(frozen=True, slots=True)
class Task:
    """One trial to be run."""

    trial: Trial
    fingerprint: str
    recording: str | None
    """File of its log; None: not kept."""

    @property
    def unfinished_recording(self) -> Path | None:
        """Where its log is written until the trial has ended."""
        if self.recording is None:
            return None
        whole = Path(self.recording)
        return whole.with_suffix(f".part{whole.suffix}")


AnyTask = TypeVar("AnyTask")
Played = TypeVar("Played")
RunTask = Callable[[Task], PlayedTrial]
"""A function of a module's own level, so that another process can import it."""
Stopped = Callable[[], bool]
"""Whether no further trial is to be begun."""


def run_local(
    run_task: Callable[[AnyTask], Played], tasks: Sequence[AnyTask], jobs: int, stopped: Stopped
) -> Generator[Played, None, None]:
    """Yield results as they come; in this process when one job is enough.

    `run_task` is a function of a module's own level, so that another process can import it.
    """
    if jobs <= 1 or len(tasks) <= 1:
        for task in tasks:
            if stopped():
                return
            yield run_task(task)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=context)
    try:
        yield from _in_turn(pool, run_task, iter(tasks), jobs, stopped)
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()  # a trial lasts minutes, and nobody would take its result
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _in_turn(
    pool: ProcessPoolExecutor,
    run_task: Callable[[AnyTask], Played],
    tasks: Iterator[AnyTask],
    jobs: int,
    stopped: Stopped,
) -> Iterator[Played]:
    with _children_without_interrupts():
        waiting = {pool.submit(run_task, task) for task in itertools.islice(tasks, jobs)}
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()
        if not stopped():
            more = itertools.islice(tasks, len(finished))
            with _children_without_interrupts():
                waiting |= {pool.submit(run_task, task) for task in more}


@contextmanager
def _children_without_interrupts() -> Iterator[None]:
    """Let no process that is started inside notice Ctrl-C, which reaches all processes of a terminal: the
    parent answers it, a moment later when it came in between, and ends the others.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_ray(
    run_task: Callable[[AnyTask], Played],
    tasks: Sequence[AnyTask],
    address: str | None,
    stopped: Stopped,
) -> Generator[Played, None, None]:
    """Yield results as they come from the workers of a Ray cluster; one trial a CPU.

    Args:
        run_task: imported by the workers, on which the same code has to be installed.
        tasks: what is run.
        address: of the cluster's head; None: a cluster of this machine alone.
        stopped: asked before another trial is handed out.

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """
    ray = connect_ray(address)
    try:
        remote = ray.remote(num_cpus=1, max_retries=2)(run_task)
        slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        left = iter(tasks)
        waiting = [remote.remote(task) for task in itertools.islice(left, slots)]
        while waiting:
            finished, waiting = ray.wait(waiting)
            for reference in finished:
                yield ray.get(reference)
            if not stopped():
                waiting += [remote.remote(task) for task in itertools.islice(left, len(finished))]
    finally:
        ray.shutdown()


def connect_ray(address: str | None) -> Any:
    """Return Ray, connected to the cluster whose head is at `address` (None: one of this machine alone).

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise InputError("--engine", "ray", "install it: pip install 'foresail[ray]'") from error
    try:
        ray.init(address=address or "local", log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(
            "--ray-address", address, f"no Ray cluster answers there ({error})"
        ) from error
    return ray
